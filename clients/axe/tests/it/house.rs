//! The rooms of the crate and who may know whom. `src/lib.rs` tells the plan; this test holds it.

use std::path::{Path, PathBuf};

/// A room, the rooms of ours it may import, and the foreign crates (of those that are watched) it may use.
const ROOMS: &[(&str, &[&str], &[&str])] = &[
    ("text", &[], &[]),
    ("limits", &[], &[]),
    ("secret", &[], &[]),
    ("prompt", &["limits", "provider"], &[]),
    ("config", &["limits", "net", "prompt", "provider", "secret", "text"], &[]),
    ("memory", &["config", "limits", "provider", "text"], &["tokio"]),
    ("output", &["config", "limits", "prompt", "provider", "secret", "text"], &[]),
    ("prepare", &["config", "memory", "output", "prompt", "provider"], &[]),
    ("net", &["secret", "text"], &["reqwest", "rustls", "tokio"]),
    ("retry", &["config", "provider"], &["tokio"]),
    ("record", &["output", "provider"], &[]),
    ("runtime", &["prepare", "prompt", "provider"], &["axlr_client", "tokio"]),
    ("tools", &["config", "net", "provider", "runtime"], &["axlr_client", "tokio"]),
    ("mcp", &["config", "net", "provider", "secret", "tools"], &["reqwest", "rmcp", "tokio"]),
    (
        "agent",
        &[
            "config", "mcp", "memory", "output", "prepare", "prompt", "provider", "record", "retry",
            "runtime", "text", "tools",
        ],
        &["tokio"],
    ),
];

/// Foreign crates that belong to some rooms only.
const WATCHED: &[&str] = &["axlr_client", "clap", "clap_complete", "reqwest", "rmcp", "rustls", "tokio"];

#[test]
fn rooms_keep_to_their_neighbours() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (room, own, foreign) in ROOMS {
        let single = source.join(format!("{room}.rs"));
        let files = if single.is_file() { vec![single] } else { files(&source.join(room)) };
        assert!(!files.is_empty(), "no room {room}");
        for file in files.iter().filter(|file| !file.to_str().unwrap().contains("tests")) {
            for (number, line) in std::fs::read_to_string(file).unwrap().lines().enumerate() {
                let place = format!("{}:{}: {line}", file.display(), number + 1);
                for name in names_after(line, "crate::") {
                    assert!(name == *room || own.contains(&name), "{place}\n{room} must not know {name}");
                }
                for name in WATCHED.iter().filter(|name| line.contains(&format!("{name}::"))) {
                    assert!(foreign.contains(name), "{place}\n{room} must not use {name}");
                }
            }
        }
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let main = include_str!("main.rs");
    for path in files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(name == "main" || main.contains(&format!("mod {name};")), "{name} is not in main.rs");
    }
}

fn names_after<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(prefix).map(move |(at, _)| {
        let rest = &line[at + prefix.len()..];
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    })
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
