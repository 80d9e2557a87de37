//! `axe run` against a model behind HTTP, with the real runtime: what is printed, and how it ends.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::model::{Answer, Model};
use crate::support::{Home, Outcome, start, tree};

/// An agent of the provider `local`.
fn agent(home: &Home, name: &str, rest: &str) {
    home.write(
        &format!("config/axe/agents/{name}.toml"),
        &format!("name = \"{name}\"\nmodel = \"local/m\"\n{rest}"),
    );
}

/// A home with the agent `a`, and a model that says these things.
fn stage(rest: &str, answers: Vec<Answer>) -> (Home, Model) {
    let (home, model) = (Home::new(), Model::saying(answers));
    model.configure(&home);
    agent(&home, "a", rest);
    (home, model)
}

fn envelope(outcome: &Outcome) -> Value {
    assert!(outcome.stdout.ends_with('\n') && outcome.stdout.lines().count() == 1, "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn write_call(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "x" }))
}

const ALL_TOOLS: &str =
    "tools = [\"list_directory\", \"read_file\", \"write_file\", \"edit_file\", \"run_command\"]\n";

#[test]
fn text_is_printed_as_it_is() {
    let (home, model) = stage("system_prompt = \"S\"", vec![Answer::says("hi\u{fc}")]);
    home.axe(&["run", "a", "-p", "ask"]).said("hi\u{fc}");
    let request = &model.requests()[0];
    assert_eq!(
        request.body["messages"],
        json!([{"role": "system", "content": "S"}, {"role": "user", "content": "ask"}])
    );
    assert!(!request.head.to_lowercase().contains("authorization"), "{}", request.head);
}

#[test]
fn tools_work_in_the_workdir_and_their_results_go_back_in_order() {
    let first = Answer::calls(
        "let me see",
        &[
            ("read_file", json!({"path": "in.txt"})),
            ("run_command", json!({"command": "echo $((6*7)); exit 3"})),
            ("list_directory", json!({"path": "sub/.."})),
            ("read_file", json!({"path": "../secret"})),
        ],
    );
    let (home, model) = stage(ALL_TOOLS, vec![first, Answer::says("done")]);
    home.write("work/in.txt", "one\n");
    let outcome = home.axe(&["run", "a", "--json"]);
    let envelope = envelope(&outcome);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let mut expected = json!({
        "content": "done", "duration_ms": 0, "input_tokens": 14, "model": "m-1", "output_tokens": 6, "refused": false,
        "retry_attempts": 0, "stop_reason": "stop", "tool_calls": 4, "tool_call_details": [
            {"duration_ms": 0, "input": {"path": "in.txt"}, "is_error": false, "name": "read_file", "output": "1: one", "turn": 0},
            {"duration_ms": 0, "input": {"command": "echo $((6*7)); exit 3"}, "is_error": true, "name": "run_command", "output": "exit code 3\n42\n", "turn": 0},
            {"duration_ms": 0, "input": {"path": "sub/.."}, "is_error": false, "name": "list_directory", "output": "in.txt", "turn": 0},
            {"duration_ms": 0, "input": {"path": "../secret"}, "is_error": true, "name": "read_file", "output": "path escapes workdir: \"../secret\"", "turn": 0},
        ],
    });
    expected["duration_ms"] = envelope["duration_ms"].clone();
    for n in 0..4 {
        expected["tool_call_details"][n]["duration_ms"] =
            envelope["tool_call_details"][n]["duration_ms"].clone();
    }
    assert_eq!(envelope, expected);
    let messages = &model.requests()[1].body["messages"];
    assert_eq!(messages[1]["content"], "let me see");
    let results: Vec<_> = (2..6).map(|n| messages[n]["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(results, ["c0", "c1", "c2", "c3"]);
}

#[test]
fn members_of_the_envelope_stand_in_alphabetical_order() {
    let (home, _model) = stage(
        &format!("{ALL_TOOLS}[budget]\nmax_tokens = 99\n[artifacts]\nenabled = true"),
        vec![
            Answer::calls("", &[("write_file", json!({"path": "f", "content": "abc", "artifact": "true"}))]),
            Answer::says("I cannot help with that."),
        ],
    );
    let outcome = home.axe(&["run", "a", "--json"]);
    let text = envelope(&outcome);
    assert_eq!(text["artifacts"], json!([{"agent": "a", "path": "f", "size": 3}]));
    assert_eq!(
        (&text["refused"], &text["budget_exceeded"], &text["budget_used_tokens"]),
        (&json!(true), &json!(false), &json!(20))
    );
    let names: Vec<_> = outcome.stdout.match_indices(",\"").map(|(at, _)| at).collect();
    assert!(!names.is_empty() && outcome.stdout.starts_with("{\"artifacts\":[{\"agent\":"), "{outcome:?}");
    // A directory made for the run goes with it.
    assert_eq!(tree(&home.path("cache/axe/artifacts")), Vec::<String>::new());
}

#[test]
fn exit_codes_of_failures() {
    let error = |status: u16| {
        Answer::json(status, &json!({"error": {"message": "no sk-abcdefghijklmnopqrstuvwx", "type": "x"}}))
    };
    for (answer, code, start) in [
        (error(400), 1, "bad_request: no "),
        (error(404), 1, "bad_request: no "),
        (error(401), 3, "auth: no "),
        (error(403), 3, "auth: no "),
        (error(429), 3, "rate_limit: no "),
        (error(500), 3, "server: no "),
        (error(529), 3, "server: no "),
        (Answer::json(200, &json!("what")), 3, "server: "),
        (error(302).header("Location: http://127.0.0.1:1/"), 3, "server: "),
        (Answer::says("cut").cut_after(0), 3, "server: "),
    ] {
        let (home, _model) = stage("", vec![answer.clone()]);
        let outcome = home.axe(&["run", "a", "--json"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (code, ""), "{answer:?}: {outcome:?}");
        assert!(
            outcome.stderr.starts_with(start) && outcome.stderr.lines().count() == 1,
            "{answer:?}: {outcome:?}"
        );
        assert!(!outcome.stderr.contains("abcdefghijkl"), "{outcome:?}");
    }
}

#[test]
fn exit_codes_before_any_request() {
    let home = Home::new();
    for (name, model, rest, code, message) in [
        ("provider", "nobody/m", "", 1, "unsupported provider \"nobody\""),
        ("key", "openai/m", "", 2, "OPENAI_API_KEY"),
        ("region", "bedrock/m", "", 2, "AWS_REGION"),
        ("model", "m", "", 2, "expected provider/model-name"),
        (
            "mcp",
            "ollama/m",
            "[[mcp_servers]]\nname = \"s\"\ntransport = \"sse\"\nurl = \"http://127.0.0.1:1/\"\n[mcp_servers.headers]\nA = \"${GONE}\"",
            2,
            "GONE",
        ),
        (
            "down",
            "ollama/m",
            "[[mcp_servers]]\nname = \"s\"\ntransport = \"sse\"\nurl = \"http://127.0.0.1:1/\"",
            3,
            "MCP server \"s\" cannot be used",
        ),
        ("ollama", "ollama/m", "", 3, "server: "),
    ] {
        home.write(
            &format!("config/axe/agents/{name}.toml"),
            &format!("name = \"{name}\"\nmodel = \"{model}\"\n{rest}"),
        );
        let outcome =
            home.command(&["run", name]).env("AXE_OLLAMA_BASE_URL", "http://127.0.0.1:1").output().unwrap();
        let outcome = Outcome::from(outcome);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (code, ""), "{outcome:?}");
        assert!(outcome.stderr.contains(message) && outcome.stderr.lines().count() == 1, "{outcome:?}");
    }
}

#[test]
fn the_turn_limit_prints_the_last_text() {
    let (home, model) = stage(ALL_TOOLS, vec![Answer::calls("going on", &[write_call("f")])]);
    let outcome = home.axe(&["run", "a", "--max-turns", "3"]);
    outcome_is(&outcome, 1, "going on", "agent exceeded maximum conversation turns (3)\n");
    assert_eq!(model.requests().len(), 3);
    let outcome = home.axe(&["run", "a", "--json"]);
    assert_eq!((outcome.code, envelope(&outcome)["tool_calls"].clone()), (1, json!(50)));
    assert_eq!(outcome.stderr, "agent exceeded maximum conversation turns (50)\n");
}

#[track_caller]
fn outcome_is(outcome: &Outcome, code: i32, stdout: &str, stderr: &str) {
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()), (code, stdout, stderr));
}

#[test]
fn a_budget_ends_with_4_and_is_not_remembered() {
    let (home, model) = stage(
        &format!("{ALL_TOOLS}[memory]\nenabled = true"),
        vec![Answer::calls("part", &[write_call("f")])],
    );
    let outcome = home.axe(&["run", "a", "--max-tokens", "10"]);
    outcome_is(&outcome, 4, "part", "budget exceeded: used 10 of 10 tokens\n");
    assert_eq!(model.requests().len(), 1);
    assert!(!home.path("work/f").exists() && !home.path("data/axe/memory/a.md").exists());
    let outcome = home.axe(&["run", "a", "--max-tokens", "15", "--json"]);
    let text = envelope(&outcome);
    assert_eq!(
        (outcome.code, &text["budget_exceeded"], &text["budget_used_tokens"]),
        (4, &json!(true), &json!(20))
    );
}

#[test]
fn a_run_is_remembered_after_it_was_printed() {
    let (home, model) = stage("[memory]\nenabled = true", vec![Answer::says("first\n## result")]);
    home.axe(&["run", "a", "-p", "task one"]).said("first\n## result");
    home.axe(&["run", "a", "-p", "task two"]).said("first\n## result");
    let memory = std::fs::read_to_string(home.path("data/axe/memory/a.md")).unwrap();
    assert_eq!(memory.matches("**Task:** task ").count(), 2);
    let system = model.requests()[1].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("## Memory") && system.contains("**Task:** task one"), "{system}");
}

#[test]
fn context_files_are_read_through_the_runtime() {
    let (home, model) = stage("files = [\"**/*.md\", \"src/*.rs\"]", vec![Answer::says("ok")]);
    home.write("work/a/b/x.md", "X");
    home.write("work/src/y.rs", "Y");
    home.write("work/src/z.txt", "Z");
    home.axe(&["run", "a"]).said("ok");
    let expected =
        "\n\n---\n\n## Context Files\n\n### a/b/x.md\n```md\nX\n```\n\n### src/y.rs\n```rs\nY\n```";
    assert_eq!(model.requests()[0].body["messages"][0]["content"], expected);
}

#[test]
fn streams_are_written_as_they_come_when_there_are_no_tools() {
    let words = ["one ", "two ", "three"];
    let (home, _model) =
        stage("stream = true", vec![Answer::streams(&words).slowly(Duration::from_millis(150))]);
    let started = Instant::now();
    let mut child = start(&mut home.command(&["run", "a"]));
    let mut first = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert_eq!(
        (&first, started.elapsed() < Duration::from_millis(700)),
        (b"one ", true),
        "{:?}",
        started.elapsed()
    );
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    outcome_is(&outcome, 0, "two three", "");
    // In JSON nothing comes before the end, and the model is the one that was asked for.
    let (home, _model) = stage("", vec![Answer::streams(&words)]);
    let text = envelope(&home.axe(&["run", "a", "--stream", "--json"]));
    assert_eq!(
        (&text["content"], &text["model"], &text["input_tokens"]),
        (&json!("one two three"), &json!("m"), &json!(7))
    );
}

#[test]
fn a_stream_that_breaks_off_is_an_error_behind_its_text() {
    let (home, _model) = stage("", vec![Answer::streams(&["one ", "two"]).cut_after(2)]);
    let outcome = home.axe(&["run", "a", "--stream"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (3, "one two"));
    assert!(outcome.stderr.starts_with("server: "), "{outcome:?}");
}

#[test]
fn a_streamed_call_is_assembled_run_and_its_text_comes_once() {
    let call = |arguments: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write_file", "arguments": arguments}}]}}]});
    let rest = |arguments: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}});
    let large = "y".repeat(100_000);
    let chunks =
        [call(""), rest("{\"path\":\"f\","), rest(&format!("\"content\":\"{large}\"}}")), end.clone()];
    let (home, _model) = stage(ALL_TOOLS, vec![Answer::stream(&chunks), Answer::streams(&["do", "ne"])]);
    home.axe(&["run", "a", "--stream"]).said("done");
    assert_eq!(std::fs::read_to_string(home.path("work/f")).unwrap(), large);
    // One that was cut short is never run.
    let chunks = [call("{\"path\":\"g\",\"cont"), end];
    let (home, model) = stage(ALL_TOOLS, vec![Answer::stream(&chunks), Answer::streams(&["sorry"])]);
    home.axe(&["run", "a", "--stream"]).said("sorry");
    assert!(!home.path("work/g").exists());
    let messages = &model.requests()[1].body["messages"];
    assert!(messages.to_string().contains("are not a JSON object"), "{messages}");
}

#[test]
fn events_tell_a_run_line_by_line() {
    let (home, _model) =
        stage(ALL_TOOLS, vec![Answer::calls("look", &[write_call("f")]), Answer::says("done")]);
    let outcome = home.axe(&["run", "a", "--events"]);
    let lines: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        types,
        [
            "start",
            "turn_start",
            "text",
            "turn_end",
            "tool_call",
            "tool_result",
            "turn_start",
            "text",
            "turn_end",
            "result"
        ]
    );
    assert_eq!(lines[4]["input"], json!({"path": "f", "content": "x"}));
    assert_eq!((&lines[9]["result"]["content"], &lines[9]["exit_code"]), (&json!("done"), &json!(0)));
    assert!(lines.iter().all(|line| line["agent"] == "a" && line["depth"] == 0));

    let (home, _model) = stage("", vec![Answer::json(401, &json!({"error": {"message": "no"}}))]);
    let outcome = home.axe(&["run", "a", "--events"]);
    let last: Value = serde_json::from_str(outcome.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(
        (outcome.code, &last["type"], &last["category"], &last["status"]),
        (3, &json!("error"), &json!("auth"), &json!(401))
    );
}

#[test]
fn retries_wait_as_long_as_the_provider_asks() {
    let busy = Answer::json(429, &json!({"error": {"message": "slow down"}})).header("Retry-After: 1");
    let (home, model) =
        stage("[retry]\nmax_retries = 2\ninitial_delay_ms = 1", vec![busy, Answer::says("ok")]);
    let started = Instant::now();
    let outcome = home.axe(&["run", "a", "--json", "-v"]);
    assert_eq!(
        (outcome.code, envelope(&outcome)["retry_attempts"].clone(), model.requests().len()),
        (0, json!(1), 2)
    );
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert!(
        outcome.stderr.contains("[retry] Attempt 1/2 after rate_limit, waiting 1000ms\n"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn diagnostics_tell_turns_tools_and_sums() {
    let (home, _model) = stage(ALL_TOOLS, vec![Answer::calls("", &[write_call("f")]), Answer::says("done")]);
    let outcome = home.axe(&["run", "a", "-v"]);
    let lines: Vec<_> = outcome.stderr.lines().skip_while(|line| !line.starts_with('[')).collect();
    let expected = [
        "[turn 1] Sending request (1 messages, 0 tool calls pending)",
        "[turn 1] Received response: tool_calls (1 tool calls)",
        "[tool] write_file: path \"f\" (1 bytes) (success)",
        "[turn 2] Sending request (3 messages, 1 tool calls pending)",
        "[turn 2] Received response: stop (0 tool calls)",
    ];
    assert_eq!(lines[..5], expected);
    assert_eq!(lines[6..], ["Tokens:   14 input, 6 output (cumulative)", "Stop:     stop"]);
}

#[test]
fn what_a_model_calls_cannot_write_lines_of_diagnostics() {
    let (home, _model) = stage(
        ALL_TOOLS,
        vec![Answer::calls("", &[("x\nauth: fake\u{1b}[2J", json!({}))]), Answer::says("ok")],
    );
    let outcome = home.axe(&["run", "a", "-v"]);
    assert_eq!(outcome.code, 0);
    assert!(
        outcome.stderr.contains("\n[tool] x\\nauth: fake\\u{1b}[2J: unknown tool (error)\n"),
        "{outcome:?}"
    );
}

#[test]
fn sub_agents_count_in_the_totals_and_retry_as_their_file_says() {
    let home = Home::new();
    let model = Model::start(|_, body| {
        let messages = body["messages"].to_string();
        match body["model"].as_str().unwrap() {
            "parent" if messages.contains("\"tool\"") => Answer::says("done"),
            "parent" => Answer::calls(
                "",
                &[
                    ("call_agent", json!({"agent": "child", "task": "t"})),
                    ("call_agent", json!({"agent": "child", "task": "u"})),
                ],
            ),
            _ => Answer::says("I did"),
        }
    });
    model.configure(&home);
    home.write(
        "config/axe/agents/p.toml",
        "name = \"p\"\nmodel = \"local/parent\"\nsub_agents = [\"child\"]",
    );
    home.write("config/axe/agents/child.toml", "name = \"child\"\nmodel = \"local/child\"");
    let outcome = home.axe(&["run", "p", "--json", "-v"]);
    let text = envelope(&outcome);
    let numbers = [
        "input_tokens",
        "output_tokens",
        "total_input_tokens",
        "total_output_tokens",
        "total_retry_attempts",
    ];
    assert_eq!(numbers.map(|name| text[name].as_u64().unwrap()), [14, 6, 28, 12, 0]);
    assert!(
        outcome.stderr.contains("[sub-agent] Calling \"child\" (depth 1) with task: t\n"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("(5 chars returned)\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("[child] [turn 1] Sending request (1 messages, 0 tool calls pending)\n"));
}

#[test]
fn recorded_runs_are_played_without_a_key_or_a_network() {
    let home = Home::new();
    let model = Model::saying(vec![
        Answer::calls("", &[write_call("f")]),
        Answer::says("done with sk-very-secret-key-1"),
    ]);
    home.write("config/axe/agents/a.toml", &format!("name = \"a\"\nmodel = \"openai/gpt\"\n{ALL_TOOLS}"));
    let tape = home.path("tape");
    let tape = tape.to_str().unwrap();
    let recorded = home
        .command(&["run", "a", "-p", "go", "--record", tape])
        .env("OPENAI_API_KEY", "sk-very-secret-key-1")
        .env("AXE_OPENAI_BASE_URL", model.url())
        .output()
        .unwrap();
    assert_eq!(Outcome::from(recorded).stdout, "done with sk-very-secret-key-1");
    assert!(model.requests()[0].head.contains("sk-very-secret-key-1"));
    let text = std::fs::read_to_string(home.path("tape/a-0001.jsonl")).unwrap();
    assert!(!text.contains("very-secret"), "{text}");
    std::fs::remove_file(home.path("work/f")).unwrap();
    home.axe(&["run", "a", "-p", "go", "--replay", tape]).said("done with ***");
    assert_eq!((model.requests().len(), home.path("work/f").exists()), (2, true));
    let outcome = home.axe(&["run", "a", "-p", "other", "--replay", tape]);
    assert_eq!(
        (outcome.code, outcome.stderr.contains("holds no (further) recording of agent \"a\"")),
        (1, true),
        "{outcome:?}"
    );
}

#[test]
fn artifact_directories_that_were_asked_for_stay() {
    let call =
        Answer::calls("", &[("write_file", json!({"path": "f", "content": "abc", "artifact": "true"}))]);
    let (home, _model) = stage(ALL_TOOLS, vec![call.clone(), Answer::says("ok"), call, Answer::says("ok")]);
    home.axe(&["run", "a", "--artifact-dir", "out/put"]).said("ok");
    assert_eq!(std::fs::read_to_string(home.path("work/out/put/f")).unwrap(), "abc");
    agent(&home, "a", &format!("{ALL_TOOLS}[artifacts]\nenabled = true"));
    let outcome = home.axe(&["run", "a", "--keep-artifacts"]);
    let kept = outcome.stderr.strip_prefix("artifacts preserved: ").unwrap().trim_end();
    assert_eq!(
        (outcome.code, std::fs::read_to_string(std::path::Path::new(kept).join("f")).unwrap()),
        (0, "abc".to_owned())
    );
}

#[test]
fn a_runtime_that_does_not_listen_fails_the_run_only_when_a_tool_needs_it() {
    let (home, _model) = stage(ALL_TOOLS, vec![Answer::says("no tool")]);
    let gone = home.path("gone.sock");
    let gone = gone.to_str().unwrap();
    home.axe(&["run", "a", "--socket", gone]).said("no tool");
    let (home, _model) = stage(ALL_TOOLS, vec![Answer::calls("", &[write_call("f")])]);
    let outcome = Outcome::from(home.command(&["run", "a"]).env("AXLR_SOCKET", gone).output().unwrap());
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    assert!(outcome.stderr.starts_with("no axlrd to run tools: "), "{outcome:?}");
}

#[test]
fn a_runtime_that_never_answers_is_not_waited_for_without_end() {
    let (home, model) = stage("files = [\"*.md\"]", vec![Answer::says("no")]);
    let socket = home.path("silent.sock");
    let _silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let outcome = home.axe(&["run", "a", "--timeout", "1", "--socket", socket.to_str().unwrap()]);
    outcome.failed(1, "axlrd did not answer within 1 s, which the files of the agent need");
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn a_timeout_beyond_all_clocks_is_no_limit() {
    let (home, _model) = stage("timeout = 9223372036854775807", vec![Answer::says("ok")]);
    home.axe(&["run", "a"]).said("ok");
}

#[test]
fn an_artifact_directory_that_cannot_be_made_is_no_fault_of_a_file() {
    let (home, model) = stage("", vec![Answer::says("no")]);
    home.write("work/file", "");
    let outcome = home.axe(&["run", "a", "--artifact-dir", "file/below"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{outcome:?}");
    assert!(outcome.stderr.starts_with("can't make artifact directory "), "{outcome:?}");
    assert_eq!(model.requests().len(), 0);
}

#[test]
fn a_runtime_that_listens_is_used() {
    let (home, _model) = stage(
        ALL_TOOLS,
        vec![Answer::calls("", &[("run_command", json!({"command": "echo $PPID"}))]), Answer::says("ok")],
    );
    let socket = home.path("run/axlr.sock");
    let axlrd = std::path::Path::new(env!("CARGO_BIN_EXE_axe")).with_file_name("axlrd");
    let mut daemon = Command::new(axlrd).arg("--socket").arg(&socket).stderr(Stdio::null()).spawn().unwrap();
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let outcome = home.axe(&["run", "a", "--json", "--socket", socket.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert_eq!(daemon.try_wait().unwrap(), None);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn the_deadline_ends_slow_models_and_runaway_commands() {
    let slow = Answer::says("late").slowly(Duration::from_secs(20));
    let runaway =
        Answer::calls("", &[("run_command", json!({"command": "echo $$ > pid; sleep 60 & sleep 60"}))]);
    for answer in [slow, runaway] {
        let (home, _model) = stage(ALL_TOOLS, vec![answer]);
        let started = Instant::now();
        let outcome = home.axe(&["run", "a", "--timeout", "1"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (3, ""), "{outcome:?}");
        assert!(outcome.stderr.starts_with("timeout: "), "{outcome:?}");
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
        if let Ok(pid) = std::fs::read_to_string(home.path("work/pid")) {
            assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
        }
    }
}

#[test]
fn ctrl_c_ends_a_run_cleanly() {
    let runaway = Answer::calls("", &[("run_command", json!({"command": "echo $$ > pid; sleep 60"}))]);
    let (home, _model) = stage(&format!("{ALL_TOOLS}[artifacts]\nenabled = true"), vec![runaway]);
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let _ = std::fs::remove_file(home.path("work/pid"));
        let child = start(&mut home.command(&["run", "a"]));
        let pid = loop {
            match std::fs::read_to_string(home.path("work/pid")) {
                Ok(pid) if pid.ends_with('\n') => break pid,
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let outcome = Outcome::from(child.wait_with_output().unwrap());
        assert_eq!(
            (outcome.code, outcome.stdout.as_str(), outcome.stderr.lines().count()),
            (code, "", 1),
            "{outcome:?}"
        );
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists());
        assert_eq!(tree(&home.path("cache/axe/artifacts")), Vec::<String>::new());
    }
}

#[test]
fn a_reader_that_leaves_ends_the_run_with_1() {
    let (home, _model) = stage("", vec![Answer::says("text").slowly(Duration::from_millis(300))]);
    let mut child = start(&mut home.command(&["run", "a"]));
    drop(child.stdout.take());
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(
        (outcome.code, outcome.stderr.starts_with("can't write to stdout: ")),
        (1, true),
        "{outcome:?}"
    );
}

#[test]
fn gc_asks_the_model_and_trims() {
    let (home, model) =
        stage("[memory]\nenabled = true\nlast_n = 1", vec![Answer::says("## Patterns Found\nx")]);
    home.write("data/axe/memory/a.md", "## 2026-01-01T00:00:00Z\nONE\n\n## 2026-01-02T00:00:00Z\nTWO\n\n");
    let outcome = home.axe(&["gc", "a"]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        outcome.stdout.contains("--- Analysis ---\n## Patterns Found\nx")
            && outcome.stdout.contains("Trimmed: 1 entries removed, 1 entries kept."),
        "{outcome:?}"
    );
    assert!(model.requests()[0].body["messages"][1]["content"].as_str().unwrap().contains("ONE"));
    let left = std::fs::read_to_string(home.path("data/axe/memory/a.md")).unwrap();
    assert!(left.contains("TWO") && !left.contains("ONE"), "{left}");
}
