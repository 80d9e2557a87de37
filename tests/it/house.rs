//! The rooms of the library and who may know whom. `src/lib.rs` tells the plan; this test holds it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A room: its files, the rooms of ours and the foreign crates (of those that are watched) that it may import.
struct Room {
    files: &'static [&'static str],
    may: &'static [&'static str],
    why: &'static str,
}

/// Base modules that every room may use: they import nothing of ours themselves.
const BASE: &[&str] = &["cancel", "capacity", "readiness"];

/// Foreign crates that belong to some rooms only. `tokio::net` and `tokio::process` count by themselves.
const WATCHED: &[&str] = &[
    "ractor",
    "rmcp",
    "axum",
    "cap_std",
    "rustix",
    "libc",
    "grep_searcher",
    "grep_regex",
    "grep_matcher",
    "ignore",
    "clap",
    "tokio::net",
    "tokio::process",
    "axlr_client",
];

const ROOMS: &[Room] = &[
    Room { files: &["src/dialect"], may: &[], why: "two pattern languages: string in, verdict out" },
    Room {
        files: &["src/workspace"],
        may: &["cap_std", "rustix"],
        why: "authority over one directory, without async",
    },
    Room {
        files: &["src/process"],
        may: &["rustix", "libc", "tokio::net"],
        why: "children; never hears of workspaces; of tokio::net only the pipes",
    },
    Room {
        files: &["src/tools"],
        may: &["dialect", "workspace", "process", "grep_searcher", "grep_regex", "grep_matcher", "ignore"],
        why: "what a tool means; no actors, no sockets",
    },
    Room { files: &["src/plugins"], may: &["tools", "process", "rmcp"], why: "one MCP session; no actors" },
    Room { files: &["src/error.rs"], may: &["tools"], why: "the only translator of errors" },
    Room {
        files: &["src/actors"],
        may: &["dialect", "workspace", "process", "tools", "plugins", "error", "ractor"],
        why: "order, ownership, failure; no bytes",
    },
    Room {
        files: &["src/runtime.rs", "src/runtime"],
        may: &["actors", "tools", "plugins", "workspace", "process", "error", "ractor"],
        why: "the only door to the actors",
    },
    Room {
        files: &["src/listen"],
        may: &["runtime", "tokio::net", "axum", "rmcp", "rustix"],
        why: "bytes to calls; rustix for the socket itself: whose it is and who connects",
    },
    Room {
        files: &["src/bin"],
        may: &["axlr::runtime", "axlr::listen", "axlr_client", "clap", "rustix"],
        why: "flags, command line, composition; rustix for the log's descriptor",
    },
    Room { files: &["protocol/src"], may: &[], why: "the contract: no files, no async, nothing of ours" },
    Room {
        files: &["clients/rust/src"],
        may: &["tokio::net", "rustix"],
        why: "the other side of the socket",
    },
];

#[test]
fn every_room_imports_only_what_it_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut broken = Vec::new();
    for room in ROOMS {
        for file in room.files.iter().flat_map(|files| rust_files(&root.join(files))) {
            broken.extend(check_file(root, &file, room));
        }
    }
    assert!(broken.is_empty(), "imports against the plan of the house:\n{}", broken.join("\n"));
}

#[test]
fn every_file_of_the_library_stands_in_a_room() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known: BTreeSet<PathBuf> =
        ROOMS.iter().flat_map(|room| room.files).flat_map(|files| rust_files(&root.join(files))).collect();
    let base = |path: &Path| {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        path.parent() == Some(&root.join("src")) && (name == "lib" || BASE.contains(&name))
    };
    let homeless: Vec<PathBuf> = rust_files(&root.join("src"))
        .into_iter()
        .filter(|path| !known.contains(path) && !base(path))
        .collect();
    assert!(homeless.is_empty(), "files that no room of the plan holds: {homeless:?}");
}

#[test]
fn every_module_of_this_binary_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(
            module == "main" || main.contains(&format!("mod {module};")),
            "{name} is not listed in main.rs"
        );
    }
}

fn rust_files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flat_map(|entry| rust_files(&entry.unwrap().path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}

fn check_file(root: &Path, file: &Path, room: &Room) -> Vec<String> {
    // A test may reach further: it builds what the room is handed in life.
    if file.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs"))) {
        return Vec::new();
    }
    let text = std::fs::read_to_string(file).unwrap();
    let shown = file.strip_prefix(root).unwrap().display().to_string();
    let own: Vec<&str> =
        room.files.iter().map(|files| files.trim_start_matches("src/").trim_end_matches(".rs")).collect();
    let mut broken = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for name in imports(line, shown.starts_with("src/")) {
            let allowed = own.contains(&name.as_str())
                || BASE.contains(&name.as_str())
                || room.may.contains(&name.as_str());
            if !allowed {
                broken.push(format!("{shown}:{}: {name} ({})", number + 1, room.why));
            }
        }
    }
    broken
}

/// The rooms and watched crates that a line of code names by path. `crate::` means our library only in its own files.
fn imports(line: &str, is_library: bool) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let mut names = Vec::new();
    for (prefix, is_ours) in [("crate::", true), ("axlr::", false)] {
        if is_ours && !is_library {
            continue;
        }
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
                continue;
            }
            let rest = &code[at + prefix.len()..];
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if is_ours
                && ROOMS.iter().any(|room| {
                    room.files
                        .iter()
                        .any(|files| files.trim_start_matches("src/").trim_end_matches(".rs") == name)
                })
            {
                names.push(name);
            } else if !is_ours && !BASE.contains(&name.as_str()) && !name.is_empty() {
                names.push(format!("axlr::{name}"));
            }
        }
    }
    for watched in WATCHED {
        for (at, _) in code.match_indices(&format!("{watched}::")) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                names.push((*watched).to_owned());
            }
        }
    }
    names
}
