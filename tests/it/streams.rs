//! Streaming execs, searches and listings, and what can be sent to a running exec.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::support::{Daemon, Wire, code};

fn stream(wire: &mut Wire, tool: &str, arguments: Value) -> Vec<Value> {
    let id = wire.start_with(tool, arguments, json!({"stream": true}));
    let messages = wire.until_response(&id);
    for (number, event) in messages[..messages.len() - 1].iter().enumerate() {
        assert_eq!(event["seq"], number, "{event}");
        assert_eq!(event["request_id"], id);
    }
    messages
}

fn joined(messages: &[Value], event: &str) -> Vec<u8> {
    let of_that_kind = messages.iter().filter(|message| message["event"] == event);
    of_that_kind.flat_map(|message| BASE64.decode(message["data"].as_str().unwrap()).unwrap()).collect()
}

#[test]
fn an_exec_streams_its_bytes_and_answers_without_them() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let script = "printf '\\377out'; printf err >&2; exit 3";
    let messages = stream(&mut wire, "exec", json!({"program": "/bin/sh", "args": ["-c", script]}));
    assert_eq!(messages[0]["event"], "started");
    assert!(messages[0]["pid"].as_u64().unwrap() > 1);
    assert_eq!(joined(&messages, "stdout"), b"\xffout");
    assert_eq!(joined(&messages, "stderr"), b"err");
    let output = &messages.last().unwrap()["output"];
    assert_eq!(
        *output,
        json!({"exit_code": 3, "stdout": "", "stderr": "", "captured_bytes": 7, "discarded_bytes": 0, "truncated": false})
    );
}

#[test]
fn a_stream_is_whole_past_every_cap() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let arguments =
        json!({"program": "/bin/sh", "args": ["-c", "head -c 5000000 /dev/zero"], "max_output_bytes": 10});
    let messages = stream(&mut wire, "exec", arguments);
    assert_eq!(joined(&messages, "stdout").len(), 5_000_000);
    assert_eq!(messages.last().unwrap()["output"]["captured_bytes"], 5_000_000);
}

#[test]
fn stdin_stays_open_for_writes_in_order_until_eof() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let arguments = json!({"program": "/bin/cat", "stdin": "first,", "stdin_open": true});
    let id = wire.start_with("exec", arguments, json!({"stream": true}));
    assert_eq!(wire.receive()["event"], "started");
    for number in 0..50 {
        wire.start("exec.write", json!({"request_id": id, "data": format!("{number},")}));
    }
    wire.start("exec.write", json!({"request_id": id, "base64": "/w==", "eof": true}));
    // The answers to the writes come in any order, also after the exec's.
    let mut messages = Vec::new();
    while messages.iter().filter(|message: &&Value| message.get("status").is_some()).count() < 52 {
        messages.push(wire.receive());
    }
    let wanted: String = (0..50).map(|number| format!("{number},")).collect();
    assert_eq!(joined(&messages, "stdout"), [b"first,", wanted.as_bytes(), b"\xff"].concat());
    let response = messages.iter().rfind(|message| message["request_id"] == id).unwrap();
    assert_eq!(response["output"]["exit_code"], 0);
    assert_eq!(code(&wire.call("exec.write", json!({"request_id": id, "data": "late"}))), "not_running");
}

#[test]
fn exec_write_is_refused_where_stdin_is_not_open() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let id = wire.start("exec", json!({"program": "/bin/sleep", "args": ["0.3"]}));
    assert_eq!(code(&wire.call("exec.write", json!({"request_id": id, "data": "x"}))), "not_running");
    assert_eq!(code(&wire.call("exec.write", json!({"request_id": "other", "data": "x"}))), "not_running");
    let both = json!({"request_id": id, "data": "x", "base64": "eA=="});
    assert_eq!(code(&wire.call("exec.write", both)), "invalid_request");
    assert_eq!(code(&wire.call("exec.write", json!({"request_id": id}))), "invalid_request");
    assert_eq!(wire.receive()["request_id"], id);
    let without_stream = json!({"program": "/bin/cat", "stdin_open": true});
    assert_eq!(code(&wire.call("exec", without_stream)), "invalid_request");
}

#[test]
fn too_much_for_an_open_stdin_is_refused() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let arguments = json!({"program": "/bin/sleep", "args": ["30"], "stdin_open": true});
    let id = wire.start_with("exec", arguments, json!({"stream": true}));
    assert_eq!(wire.receive()["event"], "started");
    let big = "x".repeat(3 << 20);
    wire.start("exec.write", json!({"request_id": id, "data": big}));
    assert_eq!(code(&wire.call("exec.write", json!({"request_id": id, "data": big}))), "overloaded");
}

#[test]
fn a_signal_reaches_the_process_group() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let id = wire.start_with(
        "exec",
        json!({"program": "/bin/sh", "args": ["-c", script]}),
        json!({"stream": true}),
    );
    while wire.receive()["event"] != "stdout" {}
    wire.start("exec.signal", json!({"request_id": id, "signal": "INT"}));
    let messages = wire.until_response(&id);
    assert_eq!(joined(&messages, "stdout"), b"caught\n");
    assert_eq!(messages.last().unwrap()["output"]["exit_code"], 5);
    assert_eq!(code(&wire.call("exec.signal", json!({"request_id": id, "signal": "INT"}))), "not_running");
    assert_eq!(
        code(&wire.call("exec.signal", json!({"request_id": id, "signal": "SEGV"}))),
        "invalid_request"
    );
}

#[test]
fn the_end_of_input_ends_an_open_stdin() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let id =
        wire.start_with("exec", json!({"program": "/bin/cat", "stdin_open": true}), json!({"stream": true}));
    assert_eq!(wire.receive()["event"], "started");
    wire.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(wire.until_response(&id).last().unwrap()["output"]["exit_code"], 0);
}

#[test]
fn a_streamed_page_is_the_page() {
    let daemon = Daemon::start();
    for number in 0..300 {
        std::fs::write(daemon.root().join(format!("f{number:03}")), "needle\nhay\nneedle\n").unwrap();
    }
    let mut wire = daemon.connect();
    for (tool, items, event, arguments) in [
        ("search", "matches", "matches", json!({"pattern": "needle", "offset": 7, "max_results": 90})),
        ("list", "entries", "entries", json!({"offset": 3, "max_entries": 120})),
    ] {
        let mut plain = wire.output(tool, arguments.clone());
        let messages = stream(&mut wire, tool, arguments);
        let streamed: Vec<&Value> = messages
            .iter()
            .filter(|message| message["event"] == event)
            .flat_map(|message| message[items].as_array().unwrap())
            .collect();
        assert_eq!(json!(streamed), plain[items]);
        plain[items] = json!([]);
        assert_eq!(messages.last().unwrap()["output"], plain);
    }
}

#[test]
fn the_end_of_input_ends_the_stdin_of_an_exec_that_waits_in_line() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let script = "until [ -e gate ]; do sleep 0.05; done";
    for _ in 0..128 {
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", script]}));
    }
    let id =
        wire.start_with("exec", json!({"program": "/bin/cat", "stdin_open": true}), json!({"stream": true}));
    assert_eq!(wire.output("server.stats", json!({}))["queued"], 1);
    wire.stream.shutdown(std::net::Shutdown::Write).unwrap();
    std::fs::write(daemon.root().join("gate"), "").unwrap();
    assert_eq!(wire.until_response(&id).last().unwrap()["output"]["exit_code"], 0);
}

#[test]
fn an_exec_that_is_cancelled_too_late_has_sent_all_its_output() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    for round in 0..200 {
        let exec = json!({"program": "/bin/echo", "args": ["hi"]});
        let id = wire.start_with("exec", exec, json!({"stream": true}));
        let mut messages = vec![wire.receive()];
        for _ in 0..round % 10 {
            wire.start("server.ping", json!({}));
        }
        let cancel = wire.start("request.cancel", json!({"request_id": id}));
        let is_response =
            |message: &Value, id: &str| message["request_id"] == *id && message.get("status").is_some();
        while ![&id, &cancel].iter().all(|id| messages.iter().any(|message| is_response(message, id))) {
            messages.push(wire.receive());
        }
        let response = messages.iter().find(|message| is_response(message, &id)).unwrap();
        if response["status"] == "completed" {
            assert_eq!(joined(&messages, "stdout"), b"hi\n", "round {round}");
            assert_eq!(response["output"]["captured_bytes"], 3);
        }
    }
}

#[test]
fn a_cancelled_write_is_answered_and_what_was_not_begun_is_not_written() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let script = "until [ -e gate ]; do sleep 0.05; done; tr -d '\\n' | sed 's/aa*/a/g'";
    let exec = json!({"program": "/bin/sh", "args": ["-c", script], "stdin_open": true});
    let id = wire.start_with("exec", exec, json!({"stream": true}));
    assert_eq!(wire.receive()["event"], "started");
    // More than a pipe takes, so the others wait behind it.
    let begun = wire.start("exec.write", json!({"request_id": id, "data": "a".repeat(200_000)}));
    let given_up = wire.start("exec.write", json!({"request_id": id, "data": "b"}));
    let last = wire.start("exec.write", json!({"request_id": id, "data": "c", "eof": true}));
    wire.start("request.cancel", json!({"request_id": given_up}));
    let answers = [wire.receive(), wire.receive()];
    let cancelled = answers.iter().find(|answer| answer["request_id"] == given_up).unwrap();
    assert_eq!(code(cancelled), "cancelled");
    std::fs::write(daemon.root().join("gate"), "").unwrap();
    let mut messages = Vec::new();
    let mut open = vec![&id, &begun, &last];
    while !open.is_empty() {
        let message = wire.receive();
        if message.get("status").is_some() {
            assert_eq!(message["status"], "completed", "{message}");
            open.retain(|id| message["request_id"] != **id);
        }
        messages.push(message);
    }
    assert_eq!(joined(&messages, "stdout"), b"ac");
}
