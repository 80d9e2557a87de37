//! The interfaces that people and programs read.

use serde_json::{Value, json};

use super::verbose::{self, After};
use super::{
    Artifact, BudgetUse, DryRun, Envelope, Event, EventLine, Exit, Failure, Mask, ToolCallDetail, Totals,
    detail_output,
};
use crate::config::{Directories, Environment, Lookup, Overrides, Place, Resolved};
use crate::prompt::{Asked, ContextFile, UserMessage};
use crate::provider::{self, Category, Usage};
use crate::secret::Secret;

fn value(envelope: &Envelope) -> Value {
    serde_json::from_str(&envelope.to_line().unwrap()).unwrap()
}

#[test]
fn the_envelope_has_its_members_always_and_the_others_only_when_they_say_something() {
    let plain = Envelope {
        content: "hi".into(),
        model: "m".into(),
        stop_reason: "end_turn".into(),
        ..Envelope::default()
    };
    let expected = json!({
        "content": "hi", "duration_ms": 0, "input_tokens": 0, "model": "m", "output_tokens": 0, "refused": false,
        "retry_attempts": 0, "stop_reason": "end_turn", "tool_call_details": [], "tool_calls": 0,
    });
    assert_eq!(value(&plain), expected);

    let full = Envelope {
        artifacts: vec![Artifact { agent: "a".into(), path: "p".into(), size: 3 }],
        cache_read_tokens: 1,
        cache_write_tokens: 2,
        cache_status: Some("hit".into()),
        cost: Some(0.5),
        tool_call_details: vec![ToolCallDetail {
            duration_ms: 4,
            input: json!({"n": 1_000_000, "list": [1, {"x": true}]}),
            is_error: true,
            name: "t".into(),
            output: "o".into(),
            turn: 0,
        }],
        tool_calls: 1,
        ..plain
    };
    let full = full.with_budget(Some(BudgetUse { max_tokens: 10, used_tokens: 10 })).with_totals(Totals {
        input_tokens: 5,
        output_tokens: 6,
        retry_attempts: 7,
    });
    let expected = json!({
        "artifacts": [{"agent": "a", "path": "p", "size": 3}],
        "budget_exceeded": true, "budget_max_tokens": 10, "budget_used_tokens": 10,
        "cache_read_tokens": 1, "cache_status": "hit", "cache_write_tokens": 2,
        "content": "hi", "cost": 0.5, "duration_ms": 0, "input_tokens": 0, "model": "m", "output_tokens": 0,
        "refused": false, "retry_attempts": 0, "stop_reason": "end_turn",
        "tool_call_details": [{
            "duration_ms": 4, "input": {"n": 1_000_000, "list": [1, {"x": true}]}, "is_error": true, "name": "t",
            "output": "o", "turn": 0,
        }],
        "tool_calls": 1, "total_input_tokens": 5, "total_output_tokens": 6, "total_retry_attempts": 7,
    });
    assert_eq!(value(&full), expected);

    let line = full.to_line().unwrap();
    let members: Vec<_> = expected.as_object().unwrap().keys().collect();
    let places: Vec<_> = members.iter().map(|name| line.find(&format!("\"{name}\":")).unwrap()).collect();
    assert!(members.is_sorted() && places.is_sorted() && !line.contains('\n'), "{line}");
}

#[test]
fn meeting_the_budget_exceeds_it() {
    let is_exceeded = |used_tokens| BudgetUse { max_tokens: 10, used_tokens }.is_exceeded();
    assert_eq!([9, 10, 11].map(is_exceeded), [false, true, true]);
}

#[test]
fn outputs_of_tools_are_cut_at_a_character() {
    assert_eq!(detail_output(&"x".repeat(1024)), "x".repeat(1024));
    assert_eq!(detail_output(&"x".repeat(1025)), format!("{}... (truncated)", "x".repeat(1024)));
    let odd = format!("x{}", "é".repeat(600));
    assert_eq!(detail_output(&odd), format!("x{}... (truncated)", "é".repeat(511)));
}

#[test]
fn events_are_flat_lines_with_a_type() {
    let line = |event| {
        let line = EventLine { agent: "a", depth: 1, event }.to_line().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let input = json!({"path": "x"});
    for (event, expected) in [
        (Event::Start { model: "p/m" }, json!({"type": "start", "model": "p/m"})),
        (Event::TurnStart { turn: 0, messages: 1 }, json!({"type": "turn_start", "turn": 0, "messages": 1})),
        (Event::Text { turn: 0, text: "t" }, json!({"type": "text", "turn": 0, "text": "t"})),
        (
            Event::ToolCall { turn: 0, id: "i", name: "read_file", input: &input },
            json!({"type": "tool_call", "turn": 0, "id": "i", "name": "read_file", "input": {"path": "x"}}),
        ),
        (
            Event::Error { message: "m", category: Some("auth"), status: None, exit_code: 3 },
            json!({"type": "error", "message": "m", "category": "auth", "exit_code": 3}),
        ),
        (
            Event::Result { result: &Envelope::default(), exit_code: 0 },
            json!({"type": "result", "result": value(&Envelope::default()), "exit_code": 0}),
        ),
    ] {
        let mut expected = expected;
        expected["agent"] = "a".into();
        expected["depth"] = 1.into();
        assert_eq!(line(event), expected);
    }
}

#[test]
fn exit_codes_follow_categories() {
    for (category, code) in [
        (Category::BadRequest, 1),
        (Category::Auth, 3),
        (Category::RateLimit, 3),
        (Category::Overloaded, 3),
        (Category::Timeout, 3),
        (Category::Server, 3),
    ] {
        let error = provider::Error { category, message: "a\nb".into(), status: None, retry_after: None };
        let failure = Failure::from(error);
        assert_eq!((failure.exit.code(), failure.message), (code, format!("{category}: a b")));
    }
    let codes = [Exit::Success, Exit::Runtime, Exit::Config, Exit::Provider, Exit::Budget, Exit::Interrupted];
    assert_eq!(codes.map(Exit::code), [0, 1, 2, 3, 4, 130]);
}

#[test]
fn lines_hold_nothing_that_a_terminal_obeys() {
    for (line, expected) in [
        ("Ünï\tcödé \u{202f}x", "Ünï\tcödé \u{202f}x"),
        ("a\nauth: b\r\u{1b}[31m\u{7}\u{9b}", "a\\nauth: b\\r\\u{1b}[31m\\u{7}\\u{9b}"),
    ] {
        assert_eq!(super::printable(line), expected);
    }
}

#[test]
fn keys_are_masked_wherever_they_stand() {
    let mask = Mask::new(["secret-key", "secret-key-longer", "x", ""].map(Secret::new));
    for (text, expected) in [
        ("x secret-key, secret-key-longer!", "x ***, ***!"),
        ("Incorrect API key provided: sk-proj-abc123XYZ789.", "Incorrect API key provided: sk-***"),
        ("sk-abcd********wxyz", "***"),
        ("task-0123456789abcdef disk-image", "task-0123456789abcdef disk-image"),
        ("sk-short", "sk-short"),
        ("Authorization: Bearer abcdefghijklmnop done", "Authorization: Bearer *** done"),
        ("nothing here", "nothing here"),
    ] {
        assert_eq!(mask.apply(text), expected);
    }
    assert!(!format!("{mask:?}").contains("secret-key"));
}

/// An agent of a test, resolved in an empty home.
fn resolved(agent: &str) -> (tempfile::TempDir, Resolved) {
    let home = tempfile::tempdir().unwrap();
    let agents = home.path().join("axe/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("a.toml"), format!("name = \"a\"\nmodel = \"p/m\"\n{agent}")).unwrap();
    let environment = Environment::new(home.path(), [("HOME", home.path().to_str().unwrap())]);
    let directories = Directories::of(&environment).unwrap();
    let lookup = Lookup::new(None, &environment, &directories);
    let place = Place::new(environment).unwrap();
    let resolved = Resolved::load("a", &lookup, &Overrides::default(), &place).unwrap();
    (home, resolved)
}

fn dry_run(resolved: &Resolved, files: &[ContextFile], user: &UserMessage, memory: &str) -> String {
    let workdir = resolved.workdir.display().to_string();
    let text = DryRun { resolved, system_prompt: "SYSTEM", files, user, memory }.to_string();
    text.replace(&workdir, "WORKDIR")
}

#[test]
fn a_dry_run_of_little_has_its_bytes() {
    let (_home, resolved) = resolved("");
    let user = UserMessage { text: "the default".into(), asked: Asked::Default };
    let expected = "\
=== Dry Run ===

Model:    p/m
Workdir:  WORKDIR
Timeout:  120s
Params:   temperature=0, max_tokens=0
Budget:   0 tokens (0 = unlimited)
Stream:   no

--- System Prompt ---
SYSTEM

--- Skill ---
(none)

--- Files (0) ---
(none)

--- User Message ---
(default)

--- Tools ---
(none)

--- MCP Servers ---
(none)

--- Sub-Agents ---
(none)
";
    assert_eq!(dry_run(&resolved, &[], &user, ""), expected);
}

#[test]
fn a_dry_run_of_everything_has_its_bytes() {
    let agent = r#"
skill = "~/s.md"
stream = true
timeout = 9
tools = ["read_file", "run_command"]
sub_agents = ["b", "c"]
[sub_agents_config]
timeout = 60
[memory]
enabled = true
[params]
temperature = 0.3
max_tokens = 4096
response_format = "json_object"
[budget]
max_tokens = 7
[[mcp_servers]]
name = "h"
transport = "sse"
url = "https://user:pw@h.example/sse?key=1"
[[mcp_servers]]
name = "s"
transport = "stdio"
command = "serve"
args = ["-v"]
"#;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("s.md"), "SKILL").unwrap();
    let agent = agent.replace('~', home.path().to_str().unwrap());
    let (_home, resolved) = resolved(&agent);
    let files = ["a.md", "src/b.rs"].map(|path| ContextFile { path: path.into(), text: String::new() });
    let user = UserMessage { text: "ASKED\n".into(), asked: Asked::Stdin };
    let expected = "\
=== Dry Run ===

Model:    p/m
Workdir:  WORKDIR
Timeout:  9s
Params:   temperature=0.3, max_tokens=4096, response_format=json_object
Budget:   7 tokens (0 = unlimited)
Stream:   yes

--- System Prompt ---
SYSTEM

--- Skill ---
SKILL

--- Files (2) ---
a.md
src/b.rs

--- User Message ---
ASKED


--- Memory ---
(none)

--- Tools ---
read_file, run_command

--- MCP Servers ---
h: https://h.example/sse (sse)
s: serve -v (stdio)

--- Sub-Agents ---
b, c
Max Depth: 3
Parallel:  yes
Timeout:   60s
";
    assert_eq!(dry_run(&resolved, &files, &user, ""), expected);
    let with_memory = dry_run(&resolved, &files, &user, "## 2026\n");
    assert!(with_memory.contains("\n--- Memory ---\n## 2026\n\n\n--- Tools ---\n"), "{with_memory}");
}

#[test]
fn diagnostics_have_their_labels() {
    let (home, resolved) = resolved("[params]\ntemperature = 1\n");
    let user = UserMessage { text: "x".into(), asked: Asked::FlagAndStdin };
    let expected = [
        "Model:    p/m".to_owned(),
        format!("Workdir:  {}", home.path().display()),
        "Skill:    (none)".to_owned(),
        "Files:    2 file(s)".to_owned(),
        "Prompt:   flag+stdin".to_owned(),
        "Timeout:  120s".to_owned(),
        "Params:   temperature=1, max_tokens=0".to_owned(),
    ];
    assert_eq!(verbose::before(&resolved, 2, &user), expected);
    let path = std::path::Path::new("/m.md");
    assert_eq!(verbose::memory(Some(2), path), "Memory:   2 entries loaded from /m.md");
    assert_eq!(verbose::memory(None, path), "Memory:   0 entries (no memory file)");
}

#[test]
fn turns_and_totals_have_their_words() {
    for (line, expected) in [
        (verbose::sending(1, 2, 3), "[turn 1] Sending request (2 messages, 3 tool calls pending)"),
        (verbose::streaming(1, 2), "[turn 1] Streaming request (2 messages)"),
        (verbose::received(1, "stop", 0), "[turn 1] Received response: stop (0 tool calls)"),
        (verbose::stream_complete(1, "stop", 0), "[turn 1] Stream complete: stop (0 tool calls)"),
        (
            verbose::tool("read_file", "path \"x\" (3 lines)", false),
            "[tool] read_file: path \"x\" (3 lines) (success)",
        ),
        (verbose::retrying(1, 3, "server", 500), "[retry] Attempt 1/3 after server, waiting 500ms"),
        (
            verbose::calling_sub_agent("b", 1, "do\nit"),
            "[sub-agent] Calling \"b\" (depth 1) with task: do it",
        ),
        (verbose::preview(&"é".repeat(41)), &format!("{}...", "é".repeat(40))),
    ] {
        assert_eq!(line, expected);
    }
    let usage = Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() };
    let cached = Usage { cache_read_tokens: 3, ..usage };
    let budget = Some(BudgetUse { max_tokens: 9, used_tokens: 4 });
    for (usage, has_tools, budget, tokens, cache) in [
        (&usage, false, None, "Tokens:   1 input, 2 output", None),
        (&usage, true, None, "Tokens:   1 input, 2 output (cumulative)", None),
        (&usage, true, budget, "Tokens:   1 input, 2 output (cumulative, budget: 4/9)", None),
        (&cached, false, None, "Tokens:   1 input, 2 output", Some("Cache:    3 read, 0 written")),
    ] {
        let after = After { duration_ms: 5, usage, has_tools, budget, stop_reason: "stop" };
        let mut expected = vec!["Duration: 5ms", tokens];
        expected.extend(cache);
        expected.push("Stop:     stop");
        assert_eq!(after.lines(), expected);
    }
}
