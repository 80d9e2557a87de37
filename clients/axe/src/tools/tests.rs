use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::limits::COMMAND_OUTPUT_MAX_BYTES;
use super::*;
use crate::config::{BuiltIn, Environment};
use crate::runtime::testing::runtime;

/// All tools in a directory of their own, over a daemon of their own.
struct Bench {
    folder: tempfile::TempDir,
    tools: Toolbox,
}

impl Bench {
    fn new() -> Self {
        Self::with(None)
    }

    /// With an artifact directory beside the working directory.
    fn with(is_default_write: Option<bool>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("work")).expect("a workdir");
        std::fs::create_dir(folder.path().join("artifacts")).expect("an artifact directory");
        let artifacts = is_default_write.map(|is_default_write| {
            Arc::new(Artifacts::new(folder.path().join("artifacts"), "me".to_owned(), is_default_write))
        });
        let variables = [("PATH", "/usr/bin:/bin"), ("OPENAI_API_KEY", "sk-secret"), ("LANG", "C.UTF-8")];
        let surroundings = Surroundings {
            runtime: runtime(),
            workdir: folder.path().join("work"),
            artifacts,
            skill_directory: Some("/skills/mine".into()),
            environment: Environment::new("/", variables),
            allowed_hosts: Vec::new(),
            deadline: Instant::now() + Duration::from_secs(60),
        };
        Self { folder, tools: Toolbox::new(&BuiltIn::ALL, surroundings) }
    }

    fn workdir(&self) -> &Path {
        &self.tools.surroundings().workdir
    }

    fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).expect(path)
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.folder.path().join("work").join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, content).expect("a file");
    }

    async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        self.tools.call(tool, &arguments).await.expect("the runtime is there")
    }

    #[track_caller]
    fn assert_outcome(outcome: &Outcome, is_error: bool, content: &str) {
        assert_eq!((outcome.content.as_str(), outcome.is_error), (content, is_error));
    }

    async fn brings(&self, tool: &str, arguments: Value, content: &str) {
        Self::assert_outcome(&self.call(tool, arguments).await, false, content);
    }

    async fn fails(&self, tool: &str, arguments: Value, start: &str) {
        let outcome = self.call(tool, arguments.clone()).await;
        assert!(
            outcome.is_error && outcome.content.starts_with(start),
            "{tool} {arguments}: {outcome:?}, expected {start:?}"
        );
    }
}

#[tokio::test]
async fn list_directory() {
    let bench = Bench::new();
    bench.brings("list_directory", json!({"path": "."}), "").await;
    for path in ["b.txt", "a/x", "a.txt", "a-b/y"] {
        bench.put(path, "");
    }
    std::os::unix::fs::symlink("a", bench.workdir().join("link")).expect("a link");
    bench.brings("list_directory", json!({"path": "."}), "a/\na-b/\na.txt\nb.txt\nlink").await;
    bench.brings("list_directory", json!({"path": "a/../a/"}), "x").await;
    bench
        .fails("list_directory", json!({"path": "a.txt"}), "path \"a.txt\" is a file, not a directory")
        .await;
    bench.fails("list_directory", json!({"path": "gone"}), "").await;
    bench.fails("list_directory", json!({}), "path is required").await;
    bench.fails("list_directory", json!({"path": "/etc"}), "absolute paths are not allowed").await;
    bench.fails("list_directory", json!({"path": "a/../.."}), "path escapes workdir").await;
    bench
        .fails(
            "list_directory",
            json!({"path": ".", "artifact": "true"}),
            "artifact directory not configured for this agent",
        )
        .await;
    for name in 0..1100 {
        bench.put(&format!("many/{name:04}"), "");
    }
    let outcome = bench.call("list_directory", json!({"path": "many"})).await;
    assert_eq!((outcome.content.lines().count(), outcome.content.lines().last()), (1100, Some("1099")));
}

#[tokio::test]
async fn read_file() {
    let bench = Bench::new();
    bench.put("f", "one\ntwo\nthree");
    bench.put("ends", "one\ntwo\n");
    bench.put("empty", "");
    bench.put("binary", "a\0b");
    bench.put("latin", b"caf\xe9\n");
    for (path, offset, limit, expected) in [
        ("f", "", "", "1: one\n2: two\n3: three"),
        ("ends", "", "", "1: one\n2: two"),
        ("empty", "", "", ""),
        ("f", "2", "", "2: two\n3: three"),
        ("f", "2", "1", "2: two"),
        ("f", "3", "9", "3: three"),
        ("latin", "", "", "1: caf\u{fffd}"),
    ] {
        bench.brings("read_file", json!({"path": path, "offset": offset, "limit": limit}), expected).await;
    }
    // A model that sends numbers means the same.
    bench.brings("read_file", json!({"path": "f", "offset": 2, "limit": 1.0}), "2: two").await;
    for (path, offset, limit, expected) in [
        ("f", "4", "", "offset 4 exceeds file length of 3 lines"),
        ("ends", "3", "", "offset 3 exceeds file length of 2 lines"),
        ("f", "0", "", "offset must be >= 1"),
        ("f", "1", "-1", "limit must be >= 1"),
        ("f", "x", "", "invalid offset \"x\""),
        ("f", "", "1.5", "invalid limit \"1.5\""),
        ("binary", "", "", "binary file detected"),
        ("gone", "", "", "path \"gone\""),
        (".", "", "", "path \".\""),
        ("../x", "", "", "path escapes workdir"),
    ] {
        bench.fails("read_file", json!({"path": path, "offset": offset, "limit": limit}), expected).await;
    }
}

#[tokio::test]
async fn read_file_pages_through_large_files_and_bounds_its_result() {
    let bench = Bench::new();
    let text: String = (1..=200_000).map(|n| format!("line {n}\n")).collect();
    bench.put("large", &text);
    bench
        .brings(
            "read_file",
            json!({"path": "large", "offset": "199999"}),
            "199999: line 199999\n200000: line 200000",
        )
        .await;
    let outcome = bench.call("read_file", json!({"path": "large"})).await;
    assert_eq!(outcome.content.lines().last(), Some("2000: line 2000"));
    bench.put("wide", "ä".repeat(2_000_000));
    let outcome = bench.call("read_file", json!({"path": "wide"})).await;
    assert!(outcome.content.ends_with("\n... [output truncated, exceeded 1MB; use offset and limit]"));
    assert!(outcome.content.len() < 1_100_000 && !outcome.is_error);
}

#[tokio::test]
async fn write_file() {
    let bench = Bench::new();
    bench
        .brings("write_file", json!({"path": "new/deep/f", "content": "hä"}), "wrote 3 bytes to new/deep/f")
        .await;
    bench
        .brings(
            "write_file",
            json!({"path": "./new/deep/f", "content": "again"}),
            "wrote 5 bytes to ./new/deep/f",
        )
        .await;
    assert_eq!(bench.file("work/new/deep/f"), "again");
    bench.brings("write_file", json!({"path": "empty"}), "wrote 0 bytes to empty").await;
    bench.brings("write_file", json!({"path": "nul", "content": "a\u{0}b"}), "wrote 3 bytes to nul").await;
    assert_eq!(bench.file("work/nul"), "a\0b");
    // A link at the end is not written through, nor is one on the way that leads outside.
    let outside = bench.folder.path().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    std::fs::write(outside.join("f"), "theirs").expect("a file");
    std::os::unix::fs::symlink(outside.join("f"), bench.workdir().join("link")).expect("a link");
    std::os::unix::fs::symlink(&outside, bench.workdir().join("folder")).expect("a link");
    bench.fails("write_file", json!({"path": "link", "content": "mine"}), "").await;
    bench.fails("write_file", json!({"path": "folder/new/f", "content": "mine"}), "").await;
    assert_eq!(bench.file("outside/f"), "theirs");
    assert!(!outside.join("new").exists());
    bench.fails("write_file", json!({"path": "../f", "content": ""}), "path escapes workdir").await;
    bench.fails("write_file", json!({"path": "x", "content": "a".repeat(1_100_000)}), "content ").await;
}

#[tokio::test]
async fn edit_file() {
    let bench = Bench::new();
    bench.put("f", "one two\r\none\n");
    bench
        .brings(
            "edit_file",
            json!({"path": "f", "old_string": "two", "new_string": "2"}),
            "replaced 1 occurrence(s) in f",
        )
        .await;
    bench
        .fails(
            "edit_file",
            json!({"path": "f", "old_string": "one", "new_string": "1"}),
            "old_string found 2 times; ",
        )
        .await;
    assert_eq!(bench.file("work/f"), "one 2\r\none\n");
    for yes in [json!("true"), json!("1"), json!(true)] {
        bench.put("f", "one two\r\none\n");
        bench
            .brings(
                "edit_file",
                json!({"path": "f", "old_string": "one", "new_string": "1", "replace_all": yes}),
                "replaced 2 occurrence(s) in f",
            )
            .await;
    }
    assert_eq!(bench.file("work/f"), "1 two\r\n1\n");
    // Nothing to put there is a deletion.
    bench
        .brings("edit_file", json!({"path": "f", "old_string": " two"}), "replaced 1 occurrence(s) in f")
        .await;
    assert_eq!(bench.file("work/f"), "1\r\n1\n");
    // Occurrences that overlap are one.
    bench.put("f", "aaa");
    bench
        .brings(
            "edit_file",
            json!({"path": "f", "old_string": "aa", "new_string": "b"}),
            "replaced 1 occurrence(s) in f",
        )
        .await;
    assert_eq!(bench.file("work/f"), "ba");
    for (arguments, expected) in [
        (json!({"path": "f", "old_string": "x", "new_string": ""}), "old_string not found in file"),
        (json!({"path": "f", "old_string": "x", "replace_all": "true"}), "old_string not found in file"),
        (json!({"path": "f", "old_string": "", "new_string": "x"}), "old_string is required"),
        (json!({"path": "f", "new_string": "x"}), "old_string is required"),
        (
            json!({"path": "f", "old_string": "b", "replace_all": "maybe"}),
            "invalid replace_all value \"maybe\"",
        ),
        (json!({"old_string": "b"}), "path is required"),
        (json!({"path": ".", "old_string": "b"}), "path \".\""),
        (json!({"path": "gone", "old_string": "b"}), "path \"gone\""),
    ] {
        bench.fails("edit_file", arguments, expected).await;
    }
}

#[tokio::test]
async fn run_command() {
    let bench = Bench::new();
    let workdir = bench.workdir().to_str().expect("text").to_owned();
    bench.brings("run_command", json!({"command": "echo a; echo b >&2; echo c"}), "a\nb\nc\n").await;
    bench.brings("run_command", json!({"command": "pwd; cat"}), &format!("{workdir}\n")).await;
    bench.fails("run_command", json!({"command": "echo x; exit 7"}), "exit code 7\nx\n").await;
    bench.fails("run_command", json!({"command": "kill -9 $$"}), "killed by signal KILL").await;
    bench.fails("run_command", json!({"command": ""}), "command is required").await;
    bench
        .fails("run_command", json!({"command": "cat /etc/passwd"}), "command rejected: absolute path")
        .await;
    bench.fails("run_command", json!({"command": "if"}), "exit code 2\n").await;
    let outcome = bench.call("run_command", json!({"command": "env | sort"})).await;
    assert_eq!(
        outcome.content,
        format!(
            "AXE_SKILL_DIR=/skills/mine\nHOME={workdir}\nLANG=C.UTF-8\nPATH=/usr/bin:/bin\nPWD={workdir}\nTMPDIR={workdir}\n"
        )
    );
    assert_eq!(outcome.summary, "\"env | sort\" (exit 0)");
}

#[tokio::test]
async fn a_commands_output_is_cut_and_the_command_goes_on() {
    let bench = Bench::new();
    let command = "head -c 3000000 zeros | tr '\\0' x; echo > done";
    bench.put("zeros", vec![0; 3_000_000]);
    let outcome = bench.call("run_command", json!({"command": command})).await;
    let mark = "\n... [output truncated, exceeded 100KB]";
    assert_eq!(outcome.content, "x".repeat(COMMAND_OUTPUT_MAX_BYTES) + mark);
    assert!(bench.workdir().join("done").exists());
    // A character that the cut would break is left out.
    bench.put("text", format!("x{}", "é".repeat(60_000)));
    let outcome = bench.call("run_command", json!({"command": "cat text"})).await;
    assert_eq!(outcome.content, format!("x{}{mark}", "é".repeat((COMMAND_OUTPUT_MAX_BYTES - 1) / 2)));
}

#[tokio::test]
async fn a_command_that_runs_away_dies_with_all_that_it_started() {
    let bench = Bench::new();
    let command = "setsid sh -c 'echo $$ > pid; sleep 300' & echo started; sleep 300";
    let start = std::time::Instant::now();
    let outcome = bench.call("run_command", json!({"command": command, "timeout": "1"})).await;
    Bench::assert_outcome(&outcome, true, "command timed out after 1 s and was killed\nstarted\n");
    assert!(start.elapsed() < Duration::from_secs(5));
    let pid = bench.file("work/pid");
    let gone = async {
        while Path::new("/proc").join(pid.trim()).exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(2), gone).await.expect("it is killed");
}

#[tokio::test]
async fn artifacts() {
    let bench = Bench::with(Some(false));
    bench.brings("write_file", json!({"path": "f", "content": "w"}), "wrote 1 bytes to f").await;
    bench
        .brings(
            "write_file",
            json!({"path": "f", "content": "ab", "artifact": "TRUE"}),
            "wrote 2 bytes to f (artifact)",
        )
        .await;
    bench
        .brings(
            "write_file",
            json!({"path": "g", "content": "a", "artifact": true}),
            "wrote 1 bytes to g (artifact)",
        )
        .await;
    bench
        .brings(
            "write_file",
            json!({"path": "./f", "content": "abc", "artifact": "true"}),
            "wrote 3 bytes to ./f (artifact)",
        )
        .await;
    bench.brings("read_file", json!({"path": "f", "artifact": "true"}), "1: abc").await;
    bench.brings("read_file", json!({"path": "f", "artifact": "no"}), "1: w").await;
    bench.brings("list_directory", json!({"path": ".", "artifact": "true"}), "f\ng").await;
    bench
        .fails("read_file", json!({"path": "../f", "artifact": "true"}), "path escapes artifact directory")
        .await;
    let artifacts = bench.tools.surroundings().artifacts.clone().expect("there are some");
    let written: Vec<_> =
        artifacts.written().into_iter().map(|file| (file.path, file.agent, file.size)).collect();
    assert_eq!(written, [("f".to_owned(), "me".to_owned(), 3), ("g".to_owned(), "me".to_owned(), 1)]);
    let directory = artifacts.directory().to_str().expect("text").to_owned();
    bench
        .brings(
            "run_command",
            json!({"command": "echo $AXE_ARTIFACT_DIR; cat $AXE_ARTIFACT_DIR/g"}),
            &format!("{directory}\na"),
        )
        .await;

    let bench = Bench::with(Some(true));
    bench.brings("write_file", json!({"path": "f", "content": "a"}), "wrote 1 bytes to f (artifact)").await;
    bench
        .brings(
            "write_file",
            json!({"path": "g", "content": "a", "artifact": ""}),
            "wrote 1 bytes to g (artifact)",
        )
        .await;
    bench
        .brings("write_file", json!({"path": "f", "content": "w", "artifact": "false"}), "wrote 1 bytes to f")
        .await;
    bench.brings("read_file", json!({"path": "f"}), "1: w").await;
}

#[tokio::test]
async fn only_enabled_tools_are_there() {
    let bench = Bench::new();
    let tools = Toolbox::new(&[BuiltIn::WebSearch], bench.tools.surroundings().clone());
    let outcome = tools.call("read_file", &Map::new()).await.expect("no runtime is needed");
    Bench::assert_outcome(&outcome, true, "unknown tool \"read_file\"");
    assert_eq!(tools.specs().iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["web_search"]);
    let outcome = tools.call("web_search", &Map::from_iter([("query".to_owned(), json!("x"))])).await;
    assert!(outcome.expect("no runtime is needed").content.contains("TAVILY_API_KEY"));
    bench
        .fails("url_fetch", json!({"url": "http://127.0.0.1/"}), "address 127.0.0.1 is a private/reserved IP")
        .await;
    bench.fails("url_fetch", json!({}), "url is required").await;
}

#[test]
fn schemas() {
    let all: Vec<_> = BuiltIn::ALL.into_iter().map(schema::spec).collect();
    let parameters = |name: &str| {
        let spec = all.iter().find(|spec| spec.name == name).expect(name);
        let properties = spec.input_schema["properties"].as_object().expect("an object");
        assert!(properties.values().all(|property| property["type"] == "string"));
        let names: std::collections::BTreeSet<_> = properties.keys().map(String::as_str).collect();
        (names.into_iter().collect::<Vec<_>>().join(" "), spec.input_schema["required"].to_string())
    };
    for (name, names, required) in [
        ("list_directory", "artifact path", r#"["path"]"#),
        ("read_file", "artifact limit offset path", r#"["path"]"#),
        ("write_file", "artifact content path", r#"["path"]"#),
        ("edit_file", "new_string old_string path replace_all", r#"["path","old_string","new_string"]"#),
        ("run_command", "command timeout", r#"["command"]"#),
        ("url_fetch", "url", r#"["url"]"#),
        ("web_search", "query", r#"["query"]"#),
    ] {
        assert_eq!(parameters(name), (names.to_owned(), required.to_owned()), "{name}");
    }
}

#[test]
fn calls_on_one_file_share_a_lane() {
    let bench = Bench::with(Some(true));
    let lane =
        |tool: &str, arguments: Value| bench.tools.lane(tool, arguments.as_object().expect("an object"));
    let edited = lane("edit_file", json!({"path": "a/../f"}));
    assert!(edited.is_some());
    assert_eq!(edited, lane("read_file", json!({"path": "f"})));
    assert_eq!(edited, lane("write_file", json!({"path": "./f", "artifact": "no"})));
    // Written among the artifacts by default.
    assert_ne!(edited, lane("write_file", json!({"path": "f"})));
    assert_ne!(edited, lane("edit_file", json!({"path": "g"})));
    for (tool, arguments) in [
        ("run_command", json!({"command": "x"})),
        ("edit_file", json!({})),
        ("read_file", json!({"path": "/x"})),
    ] {
        assert_eq!(lane(tool, arguments), None);
    }
}
