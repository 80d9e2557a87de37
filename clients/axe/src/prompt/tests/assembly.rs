//! The bytes of system prompts.

use crate::prompt::{ContextFile, SystemPrompt};

fn file(path: &str, text: &str) -> ContextFile {
    ContextFile { path: path.into(), text: text.into() }
}

#[test]
fn each_part_has_its_bytes() {
    let files =
        [file("src/a.rs", "fn a() {}\n"), file("Makefile", "all:"), file("a.tar.gz", ""), file(".env", "x")];
    let context = "\n\n---\n\n## Context Files\n\n### src/a.rs\n```rs\nfn a() {}\n\n```\n\n\
                   ### Makefile\n```\nall:\n```\n\n### a.tar.gz\n```gz\n\n```\n\n### .env\n```env\nx\n```";
    for (prompt, expected) in [
        (SystemPrompt::default(), String::new()),
        (SystemPrompt { system_prompt: "s\n", ..Default::default() }, "s\n".into()),
        (SystemPrompt { skill: Some("k"), ..Default::default() }, "\n\n---\n\n## Skill\n\nk".into()),
        (SystemPrompt { skill: Some(""), ..Default::default() }, String::new()),
        (SystemPrompt { files: &files, ..Default::default() }, context.into()),
        (SystemPrompt { memory: "m\n\n", ..Default::default() }, "\n\n---\n\n## Memory\n\nm\n\n".into()),
        (
            SystemPrompt { system_prompt: "s", skill: Some("k"), files: &files, memory: "m" },
            format!("s\n\n---\n\n## Skill\n\nk{context}\n\n---\n\n## Memory\n\nm"),
        ),
    ] {
        assert_eq!(prompt.assemble(), expected);
    }
}

#[test]
fn a_fence_grows_only_when_the_file_would_close_it() {
    for (text, fence) in [
        ("`inline` and ```not at the start", "```"),
        ("``", "```"),
        ("a\n```\nb", "````"),
        ("  ```rs\nb\n````", "`````"),
    ] {
        let prompt = SystemPrompt { files: &[file("x.md", text)], ..Default::default() }.assemble();
        let expected = format!("\n\n---\n\n## Context Files\n\n### x.md\n{fence}md\n{text}\n{fence}");
        assert_eq!(prompt, expected);
    }
}
