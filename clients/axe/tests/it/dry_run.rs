//! `axe run --dry-run`: where the agent comes from, what it is asked, and what it must not do.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Home, start, tree};

/// The text of the section with that heading.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, after) = text.split_once(&format!("--- {heading} ---\n")).unwrap();
    after.split_once("\n\n--- ").map_or(after, |(section, _)| section)
}

#[test]
fn everything_is_put_together_and_nothing_is_made() {
    let home = Home::new();
    home.write("config/axe/skills/s/SKILL.md", "SKILL");
    home.write("data/axe/memory/a.md", "## 2026-01-01T00:00:00Z\nONE\n\n## 2026-01-02T00:00:00Z\nTWO\n");
    home.agent(
        "a",
        "system_prompt = \"SYSTEM\"\nskill = \"s\"\n[memory]\nenabled = true\nlast_n = 1\n[artifacts]\nenabled = true\n",
    );
    let outcome = home.axe(&["run", "a", "--dry-run", "--json", "-p", "ASK", "--timeout", "7"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let text = home.anonymous(&outcome.stdout);
    assert!(
        text.starts_with("=== Dry Run ===\n\nModel:    ollama/m\nWorkdir:  HOME/work\nTimeout:  7s\n"),
        "{text}"
    );
    assert_eq!(
        section(&text, "System Prompt"),
        "SYSTEM\n\n---\n\n## Skill\n\nSKILL\n\n---\n\n## Memory\n\n## 2026-01-02T00:00:00Z\nTWO\n"
    );
    assert_eq!(section(&text, "Memory"), "## 2026-01-02T00:00:00Z\nTWO\n");
    assert_eq!(section(&text, "User Message"), "ASK");
    assert_eq!(tree(&home.path("cache")), Vec::<String>::new());
}

#[test]
fn diagnostics_go_to_stderr() {
    let home = Home::new();
    home.agent("a", "[memory]\nenabled = true\n");
    let outcome = home.axe_reading(&["run", "a", "--dry-run", "-v"], "piped\n");
    assert_eq!(
        home.anonymous(&outcome.stderr),
        "Model:    ollama/m\nWorkdir:  HOME/work\nSkill:    (none)\nFiles:    0 file(s)\nPrompt:   stdin\n\
         Timeout:  120s\nParams:   temperature=0, max_tokens=0\nMemory:   0 entries (no memory file)\n"
    );
    assert_eq!(section(&outcome.stdout, "User Message"), "piped\n");
}

#[test]
fn stdin_is_used_as_the_contract_says() {
    let home = Home::new();
    home.agent("a", "");
    for (words, stdin, expected) in [
        (&[][..], Some(" piped \n"), " piped \n"),
        (&[], Some(" \n"), "(default)"),
        (&[], None, "(default)"),
        (&["-p", "  "], None, "(default)"),
        (&["-p", "ask"], Some("piped"), "ask"),
        (&["-p", "ask", "--with-stdin"], Some("piped"), "ask\n\npiped"),
    ] {
        let words = [&["run", "a", "--dry-run"], words].concat();
        let outcome = match stdin {
            Some(stdin) => home.axe_reading(&words, stdin),
            None => home.axe(&words),
        };
        assert_eq!((outcome.code, section(&outcome.stdout, "User Message")), (0, expected));
    }
}

#[test]
fn an_open_pipe_is_not_waited_for_when_the_prompt_is_there() {
    let home = Home::new();
    home.agent("a", "");
    let mut child = start(home.command(&["run", "a", "--dry-run", "-p", "hi"]).stdin(Stdio::piped()));
    let held = child.stdin.take();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    drop(held);
}

#[test]
fn an_open_pipe_is_waited_for_no_longer_than_the_run_may_take() {
    let home = Home::new();
    home.agent("a", "");
    let started = Instant::now();
    let mut child = start(home.command(&["run", "a", "--dry-run", "--timeout", "1"]).stdin(Stdio::piped()));
    let held = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "stdin did not end within 1 s: close it, redirect it from /dev/null, or give the message with -p\n"
    );
    drop(held);
}

#[test]
fn config_faults_exit_with_2_on_one_line() {
    let home = Home::new();
    home.agent("broken", "x = [\n");
    home.agent("skill", "skill = \"gone\"\n");
    home.agent("workdir", "workdir = \"gone\"\n");
    home.agent("glob", "files = [\"[\"]\n");
    home.agent("hosts", "allowed_hosts = [\"*.x.example\"]\n");
    for (agent, message) in [
        ("gone", "failed to load agent: agent config not found: gone"),
        ("broken", "failed to load agent: failed to parse agent config \"broken\": line "),
        ("skill", "failed to load agent: skill not found: "),
        ("workdir", "failed to load agent: workdir "),
        ("glob", "invalid files pattern \"[\": a [ is not closed"),
        (
            "hosts",
            "failed to load agent: allowed_hosts[0] \"*.x.example\" can never match: there are no wildcards",
        ),
    ] {
        let outcome = home.axe(&["run", agent, "--dry-run"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{outcome:?}");
        assert!(outcome.stderr.starts_with(message) && outcome.stderr.lines().count() == 1, "{outcome:?}");
    }
    home.write("config/axe/config.toml", "[providers.openai]\napi_key = 5\n");
    let outcome = home.axe(&["run", "skill", "--dry-run"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.stderr.ends_with("providers.openai.api_key must be a string, not integer\n"),
        "{outcome:?}"
    );
}

#[test]
fn what_a_real_run_would_stumble_over_is_told_on_stderr() {
    let home = Home::new();
    home.write(
        "config/axe/agents/a.toml",
        "name = \"b\"\nmodel = \"openai/m\"\nsub_agents = [\"gone\"]\ntimout = 3\n\
         [[mcp_servers]]\nname = \"m\"\ntransport = \"sse\"\nurl = \"http://h.example\"\nheaders = { K = \"${UNSET}\" }\n",
    );
    let outcome = home.axe(&["run", "a", "--dry-run"]);
    assert_eq!(outcome.code, 0);
    let expected = [
        "a.toml:4: unknown key \"timout\" is ignored; did you mean \"timeout\"?",
        "a.toml: its name is \"b\" but it is found as \"a\", after its file",
        "no API key for provider \"openai\": set OPENAI_API_KEY, or api_key in [providers.openai] of config.toml",
        "MCP server \"m\": environment variable \"UNSET\" is not set or empty",
        "sub-agent \"gone\": agent config not found: gone",
    ];
    assert_eq!(outcome.stderr.lines().count(), expected.len(), "{outcome:?}");
    for (line, expected) in outcome.stderr.lines().zip(expected) {
        assert!(line.starts_with("Warning: ") && line.ends_with(expected), "{line}");
    }
}

#[test]
fn keys_are_nowhere() {
    let home = Home::new();
    home.write("config/axe/config.toml", "[providers.openai]\napi_key = \"filekey-123\"\nbse_url = \"x\"\n");
    home.agent("a", "[[mcp_servers]]\nname = \"m\"\ntransport = \"sse\"\nurl = \"http://u:urlkey-123@h.example/?k=urlkey-123\"\n");
    let mut command = home.command(&["run", "a", "--dry-run", "-v", "--model", "openai/m"]);
    let outcome: crate::support::Outcome =
        command.env("OPENAI_API_KEY", "envkey-123").output().unwrap().into();
    assert_eq!(outcome.code, 0);
    assert!(outcome.stderr.contains("did you mean \"providers.openai.base_url\"?"), "{outcome:?}");
    for key in ["filekey-123", "urlkey-123", "envkey-123"] {
        assert!(!outcome.stdout.contains(key) && !outcome.stderr.contains(key), "{outcome:?}");
    }
    // A key in the place of a path is masked too.
    std::fs::remove_file(home.path("config/axe/config.toml")).unwrap();
    let mut command = home.command(&["run", "a", "--skill", "/envkey-123"]);
    let outcome: crate::support::Outcome =
        command.env("OPENAI_API_KEY", "envkey-123").output().unwrap().into();
    outcome.failed(2, "failed to load agent: skill not found: /***");
}
