//! Plugins on stdin and stdout: what is listed, called and passed through.

use serde_json::{Value, json};

use crate::support::plugin::{Manifests, call, refused, text};
use crate::support::{Daemon, Wire, code, wait_until};

/// A daemon with one scripted server as plugin `p`.
fn daemon(mode: &str) -> (Manifests, Daemon) {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("p", mode);
    let daemon = Daemon::start_with(&["--plugin", &manifest, "--plugin-env", "p:KEY=value"], &[]);
    (manifests, daemon)
}

fn names(list: &Value) -> Vec<&str> {
    list["tools"].as_array().unwrap().iter().map(|tool| tool["tool_name"].as_str().unwrap()).collect()
}

/// What the server left in its working directory.
fn left(daemon: &Daemon, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(daemon.root().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn tools_are_listed_in_the_order_of_registration_and_as_the_manifests_allow() {
    let manifests = Manifests::new();
    let second = manifests.allowing("z", "pages", json!(["slow", "echo", "missing"]));
    let first = manifests.stdio("a", "plain");
    let daemon = Daemon::start_with(&["--plugin", &second, "--plugin", &first], &[]);
    let mut wire = daemon.connect();
    let list = wire.output("plugins.list", json!({}));
    assert_eq!(names(&list)[..3], ["echo", "slow", "echo"]);
    let echo = json!({
        "plugin_id": "z", "tool_name": "echo", "description": "Says it again.",
        "input_schema": {"type": "object"}, "output_schema": {"type": "object", "x": u64::MAX},
    });
    assert_eq!(list["tools"][0], echo);
    assert_eq!(
        list["tools"][1],
        json!({"plugin_id": "z", "tool_name": "slow", "input_schema": {"type": "object"}})
    );
    assert!(!names(&list).contains(&"not a name"));
    assert!(daemon.log().contains("\\\"not a name\\\"") || daemon.log().contains("\"not a name\""));
}

#[test]
fn a_program_gets_its_environment_the_root_and_nothing_else() {
    let (_manifests, daemon) = daemon("plain");
    let mut wire = daemon.connect();
    let mut env: Value =
        serde_json::from_str(text(&wire.call("plugins.call", call("p", "env", json!({}))))).unwrap();
    // The interpreter sets this one itself.
    env.as_object_mut().unwrap().remove("LC_CTYPE");
    assert_eq!(env, json!({"KEY": "value"}));
    let cwd = wire.call("plugins.call", call("p", "cwd", json!({})));
    assert_eq!(text(&cwd), daemon.root().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn what_is_called_is_checked_before_anything_is_started() {
    let manifests = Manifests::new();
    let manifest = manifests.allowing("p", "plain", json!(["echo", "missing"]));
    let daemon = Daemon::start_with(&["--plugin", &manifest], &[]);
    let mut wire = daemon.connect();
    let mut ask = |arguments: Value| wire.call("plugins.call", arguments);
    refused(&ask(call("9", "echo", json!({}))), "invalid_request");
    refused(&ask(call("p", "a b", json!({}))), "invalid_request");
    let mut late = call("p", "echo", json!({}));
    late["timeout_ms"] = json!(300_001);
    refused(&ask(late), "invalid_request");
    assert!(refused(&ask(call("q", "echo", json!({}))), "unknown_plugin").contains("\"q\""));
    assert!(refused(&ask(call("p", "slow", json!({}))), "unknown_plugin_tool").contains("does not allow"));
    assert!(manifests.started("p").is_empty());
    assert!(refused(&ask(call("p", "missing", json!({}))), "unknown_plugin_tool").contains("not advertise"));
    assert_eq!(manifests.started("p").len(), 1);
}

#[test]
fn content_and_numbers_are_passed_through() {
    let (_manifests, daemon) = daemon("plain");
    let mut wire = daemon.connect();
    let given = json!({"max": u64::MAX, "min": i64::MIN, "half": 0.5, "deep": [{"a": null}], "é": "ü"});
    let output = wire.output("plugins.call", call("p", "echo", given.clone()));
    assert_eq!((&output["structured_content"], &output["is_error"]), (&given, &json!(false)));
    let output = wire.output("plugins.call", call("p", "blocks", json!({})));
    let block = json!({"type": "hologram", "n": u64::MAX, "m": i64::MIN, "f": 36893488147419103232.0, "_meta": {"a": [null]}});
    assert_eq!(output, json!({"content": [block], "is_error": false}));
    let output = wire.output("plugins.call", call("p", "structured", json!({})));
    assert_eq!(output, json!({"content": [], "structured_content": {"n": 1}, "is_error": false}));
    let output = wire.output("plugins.call", call("p", "error", json!({})));
    assert_eq!(output["is_error"], true);
    for (tool, reason) in
        [("refuse", "error -32000: not today"), ("empty", "neither content nor"), ("ask", "wants to ask")]
    {
        let response = wire.call("plugins.call", call("p", tool, json!({})));
        assert!(refused(&response, "plugin_failed").contains(reason), "{response}");
    }
    refused(&wire.call("plugins.call", call("p", "big", json!({"bytes": 5_000_000}))), "response_too_large");
    assert_eq!(
        text(&wire.call("plugins.call", call("p", "big", json!({"bytes": 1_000_000})))).len(),
        1_000_000
    );
}

#[test]
fn calls_share_a_session_and_a_slow_one_holds_no_other_up() {
    let (manifests, daemon) = daemon("plain");
    let mut wire = daemon.connect();
    let slow = wire.start("plugins.call", call("p", "slow", json!({"seconds": 1.0})));
    let quick: Vec<String> =
        (0..20).map(|number| wire.start("plugins.call", call("p", "echo", json!({"n": number})))).collect();
    let answers: Vec<Value> = (0..21).map(|_| wire.receive()).collect();
    assert_eq!(answers[20]["request_id"], slow);
    for (number, id) in quick.iter().enumerate() {
        let answer = answers.iter().find(|answer| answer["request_id"] == *id).unwrap();
        assert_eq!(text(answer), format!("{{\"n\": {number}}}"));
    }
    assert_eq!(manifests.started("p").len(), 1);
    assert_eq!(left(&daemon, "listed").len(), 1);
}

#[test]
fn a_list_is_kept_until_the_server_says_that_it_changed() {
    for mode in ["plain", "modern"] {
        let (_manifests, daemon) = daemon(mode);
        let mut wire = daemon.connect();
        let grown = |wire: &mut Wire| names(&wire.output("plugins.list", json!({}))).contains(&"grown");
        assert!(!grown(&mut wire), "{mode}");
        wire.output("plugins.call", call("p", "echo", json!({})));
        let before = left(&daemon, "listed").len();
        wire.output("plugins.call", call("p", "echo", json!({})));
        assert_eq!(left(&daemon, "listed").len(), before, "{mode}");
        wire.output("plugins.call", call("p", "grow", json!({})));
        assert!(grown(&mut wire), "{mode}");
    }
}

#[test]
fn a_server_without_initialize_is_spoken_to_in_its_own_way() {
    let (_manifests, daemon) = daemon("modern");
    let mut wire = daemon.connect();
    let params: Value =
        serde_json::from_str(text(&wire.call("plugins.call", call("p", "args", json!({"a": 1}))))).unwrap();
    assert_eq!(params["arguments"], json!({"a": 1}));
    assert_eq!(params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "axlr");
    assert_eq!(params["_meta"].get("progressToken"), None);
}

#[test]
fn an_older_server_gets_no_more_than_it_knows() {
    let (_manifests, daemon) = daemon("old");
    let mut wire = daemon.connect();
    let params: Value =
        serde_json::from_str(text(&wire.call("plugins.call", call("p", "args", json!({}))))).unwrap();
    assert_eq!(params, json!({"name": "args", "arguments": {}}));
    let hello: Value = serde_json::from_str(&left(&daemon, "initialized")[0]).unwrap();
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    assert_eq!(hello["capabilities"], json!({}));
}

#[test]
fn progress_is_asked_for_and_told_only_when_the_request_streams() {
    let (_manifests, daemon) = daemon("plain");
    let mut wire = daemon.connect();
    assert_eq!(text(&wire.call("plugins.call", call("p", "progress", json!({})))), "no token");
    let id =
        wire.start_with("plugins.call", call("p", "progress", json!({"steps": 20})), json!({"stream": true}));
    let messages = wire.until_response(&id);
    assert_eq!(text(&messages[20]), "token");
    for (number, event) in messages[..20].iter().enumerate() {
        let wanted = json!({
            "protocol_version": 1, "request_id": id, "event": "progress", "seq": number,
            "progress": number as f64, "total": 3.0, "message": "step",
        });
        assert_eq!(*event, wanted);
    }
}

#[test]
fn a_call_that_is_given_up_is_taken_back_at_the_server() {
    for mode in ["plain", "modern"] {
        let (_manifests, daemon) = daemon(mode);
        let mut wire = daemon.connect();
        wire.output("plugins.call", call("p", "echo", json!({})));
        let mut late = call("p", "never", json!({}));
        late["timeout_ms"] = json!(1_500);
        let response = wire.call("plugins.call", late);
        assert!(refused(&response, "timeout").contains("1500 ms; effects of the call may remain"));
        assert_eq!(response["status"], "timed_out");

        let id = wire.start("plugins.call", call("p", "never", json!({})));
        wait_until("the server has the call", || left(&daemon, "called").len() == 2);
        wire.start("request.cancel", json!({"request_id": id}));
        let responses = [wire.receive(), wire.receive()];
        let response = responses.iter().find(|response| response["request_id"] == id).unwrap();
        assert!(refused(response, "cancelled").contains("effects of it may remain"));
        assert_eq!(response["status"], "cancelled");

        // A connection that ends takes its calls with it.
        let mut leaving = daemon.connect();
        leaving.start("plugins.call", call("p", "never", json!({})));
        wait_until("the server has the call", || left(&daemon, "called").len() == 3);
        drop(leaving);
        wait_until("the server heard of each", || left(&daemon, "cancelled").len() == 3);
        assert_eq!(left(&daemon, "cancelled"), left(&daemon, "called"), "{mode}");
        assert_eq!(code(&wire.call("plugins.call", call("p", "echo", json!({})))), "completed");
    }
}

#[test]
fn a_server_that_answers_twice_is_taken_at_its_first_word() {
    let (_manifests, daemon) = daemon("plain");
    let mut wire = daemon.connect();
    for _ in 0..5 {
        assert_eq!(text(&wire.call("plugins.call", call("p", "twice", json!({})))), "first");
    }
}

#[test]
fn requests_of_the_server_are_answered() {
    let (_manifests, daemon) = daemon("asks");
    let mut wire = daemon.connect();
    wire.output("plugins.call", call("p", "echo", json!({})));
    wait_until("it has its answers", || left(&daemon, "answers").len() == 3);
    let answers: Vec<Value> =
        left(&daemon, "answers").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!("two"), &json!(-32601)));
    assert_eq!(answers[2]["error"]["code"], -32601);
}

#[test]
fn a_server_that_can_not_be_listed_fails_the_whole_list_by_name() {
    for (mode, reason) in [
        ("cursor", "repeats the cursor \"again\""),
        ("endless", "more than 1000 pages"),
        ("broken-list", "not understood"),
        ("exit", "exited with status 5"),
        ("exit-in-handshake", "exited with status 7; the last of its stderr:\nno licence"),
        ("other-version", "\"1999-01-01\""),
        ("refuses-all", "asked for the later revision"),
        ("noise", "more than 65536 bytes on its stdout"),
        ("long-line", "message of more than 16777216 bytes"),
    ] {
        let manifests = Manifests::new();
        let good = manifests.stdio("good", "plain");
        let bad = manifests.stdio("bad", mode);
        let daemon = Daemon::start_with(&["--plugin", &good, "--plugin", &bad], &[]);
        let mut wire = daemon.connect();
        let response = wire.call("plugins.list", json!({}));
        let message = refused(&response, "plugin_unavailable");
        assert!(message.contains("plugin \"bad\"") && message.contains(reason), "{mode}: {message}");
        assert_eq!(response["status"], "failed");
        assert_eq!(code(&wire.call("plugins.call", call("good", "echo", json!({})))), "completed");
    }
}

#[test]
fn what_is_no_message_is_passed_over() {
    let (_manifests, daemon) = daemon("garbage");
    let mut wire = daemon.connect();
    assert_eq!(code(&wire.call("plugins.call", call("p", "echo", json!({})))), "completed");
    wait_until("it is in the log", || daemon.log().contains("is no message"));
}

#[test]
fn an_answer_behind_too_much_noise_comes_too_late() {
    let (_manifests, daemon) = daemon("plain");
    let response = daemon.connect().call("plugins.call", call("p", "babble", json!({})));
    let message = refused(&response, "plugin_failed");
    assert!(message.contains("more than 65536 bytes on its stdout"), "{message}");
}

#[test]
fn a_server_without_tools_has_none() {
    let (_manifests, daemon) = daemon("no-tools");
    let mut wire = daemon.connect();
    assert_eq!(wire.output("plugins.list", json!({})), json!({"tools": []}));
    refused(&wire.call("plugins.call", call("p", "echo", json!({}))), "unknown_plugin_tool");
}

#[test]
fn a_flood_of_notifications_costs_no_memory() {
    let (_manifests, daemon) = daemon("flood");
    let mut wire = daemon.connect();
    wire.output("plugins.call", call("p", "echo", json!({})));
    let before = daemon.peak();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(2);
    while std::time::Instant::now() < end {
        wire.output("plugins.call", call("p", "echo", json!({})));
    }
    assert!(daemon.peak() < before + 8 * 1024, "{} KiB, then {}", before, daemon.peak());
}

#[test]
fn people_see_tools_in_a_table_and_the_text_of_an_answer() {
    let (_manifests, daemon) = daemon("plain");
    let socket = daemon.socket();
    let axlr = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_axlr"));
        command.args(words).arg("--socket").arg(&socket).current_dir(daemon.root());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = axlr(&["call", "plugins.list"]);
    assert!(list.starts_with("p  echo        Says it again.\n"), "{list}");
    let call = ["call", "plugins.call", "plugin_id=p", "tool_name=cwd", "arguments={}"];
    assert_eq!(axlr(&call), format!("{}\n", daemon.root().canonicalize().unwrap().display()));
    let call = ["call", "plugins.call", "plugin_id=p", "tool_name=error", "arguments={}"];
    assert_eq!(axlr(&call), "the tool reports an error:\nit went wrong\n");
}
