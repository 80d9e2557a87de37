use serde_json::{Value, json};

use super::{Messages, Wire as _};
use crate::provider::testing::{check, conversation, request};
use crate::provider::{Arguments, Message, Reply, Request, ToolCall, Usage};

#[test]
fn the_least_request_has_a_cap() {
    let expected =
        json!({"model": "some-model", "max_tokens": 4096, "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(Messages.body(&request(), false), expected);
    let zeros = Request { temperature: Some(0.0), max_tokens: Some(0), ..request() };
    assert_eq!(Messages.body(&zeros, false), expected);
}

#[test]
fn a_conversation_is_told_in_blocks() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a"]}}, "required": ["path"]});
    assert_eq!(
        Messages.body(&conversation(), true),
        json!({
            "model": "some-model",
            "max_tokens": 100,
            "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "id1", "name": "read_file", "input": {"path": "a.txt", "count": 1_000_000, "list": [1, {"x": null}]}},
                    {"type": "tool_use", "id": "id2", "name": "list_directory", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "id1", "content": "1: x", "is_error": false},
                    {"type": "tool_result", "tool_use_id": "id2", "content": "no JSON", "is_error": true},
                ]},
                {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
                {"role": "user", "content": "more"},
            ],
            "temperature": 0.3,
            "tools": [{"name": "read_file", "description": "reads", "input_schema": schema}],
            "stream": true,
        })
    );
}

#[test]
fn what_the_api_refuses_is_not_sent() {
    let empty = Message::Assistant { text: " \n".to_owned(), calls: Vec::new() };
    let body = Messages.body(&Request { messages: vec![empty], ..request() }, false);
    assert_eq!(body["messages"], json!([]));
    let call = ToolCall { id: "x".to_owned(), name: "f".to_owned(), arguments: Arguments::from_text("") };
    let silent = Message::Assistant { text: "\n".to_owned(), calls: vec![call] };
    let body = Messages.body(&Request { messages: vec![silent], ..request() }, false);
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"type": "tool_use", "id": "x", "name": "f", "input": {}}])
    );
}

fn reply(request: &Request, body: &Value) -> Result<Reply, String> {
    Messages.reply(request, body).map_err(|error| error.to_string())
}

#[test]
fn replies_are_read() {
    let body = json!({
        "type": "message", "model": "claude-x",
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "a"},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"n": 1_000_000}},
            {"type": "text", "text": "b"},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50},
    });
    let expected = Reply {
        text: "ab".to_owned(),
        calls: vec![ToolCall {
            id: "t1".to_owned(),
            name: "f".to_owned(),
            arguments: Arguments::from_text(r#"{"n":1000000}"#),
        }],
        stop_reason: "tool_use".to_owned(),
        model: Some("claude-x".to_owned()),
        usage: Usage {
            input_tokens: 3,
            output_tokens: 4,
            cache_read_tokens: 100,
            cache_write_tokens: 50,
            cost: None,
        },
        is_refusal: false,
    };
    assert_eq!(reply(&request(), &body), Ok(expected));
}

#[test]
fn an_empty_reply_is_legal_after_tools_only() {
    let empty = json!({"content": [], "stop_reason": "end_turn", "usage": {}});
    assert_eq!(reply(&request(), &empty), Err("server: response contains no content".to_owned()));
    let after = Request { messages: vec![Message::ToolResults(Vec::new())], ..request() };
    assert_eq!(reply(&after, &empty).unwrap().text, "");
    assert!(reply(&after, &json!({"content": [], "stop_reason": "refusal"})).unwrap().is_refusal);
}

/// Frames events as the server does.
fn sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"usage": {"input_tokens": 25, "output_tokens": 1, "cache_read_input_tokens": 9, "cache_creation_input_tokens": 8}}})
}

fn block(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn finish(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 15}})
}

fn end() -> Value {
    json!({"type": "message_stop"})
}

fn text(text: &str) -> Value {
    json!({"type": "text_delta", "text": text})
}

fn input(input: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": input})
}

#[track_caller]
fn stream(events: &[Value], expected: &[&str]) {
    check(&Messages, &sse(events), expected);
}

#[test]
fn text_and_calls_are_streamed() {
    let empty = json!({"type": "text", "text": ""});
    let tool = json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}});
    stream(
        &[
            start(),
            json!({"type": "ping"}),
            block(0, &empty),
            delta(0, &text("Hel")),
            delta(0, &text("")),
            delta(0, &text("lo")),
            stop(0),
            block(1, &tool),
            delta(1, &input("")),
            delta(1, &input("{\"a\"")),
            delta(1, &input(":1}")),
            stop(1),
            finish("tool_use"),
            end(),
        ],
        &[
            "text Hel",
            "text lo",
            "start t1 f",
            "delta t1 {\"a\"",
            "delta t1 :1}",
            "end t1",
            "done tool_use 25/15 cache 9/8",
        ],
    );
    stream(&[start(), finish("end_turn"), end()], &["done end_turn 25/15 cache 9/8"]);
    stream(&[start(), finish("refusal"), end()], &["done refusal 25/15 cache 9/8 refusal"]);
}

#[test]
fn what_is_not_known_is_skipped() {
    let thinking = json!({"type": "thinking", "thinking": ""});
    stream(
        &[
            start(),
            block(0, &thinking),
            delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
            stop(0),
            delta(7, &text("to nobody")),
            stop(7),
            json!({"type": "of_tomorrow"}),
            finish("end_turn"),
        ],
        &["done end_turn 25/15 cache 9/8"],
    );
}

#[test]
fn counters_of_the_last_event_win() {
    let last = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 30, "output_tokens": 2, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 0}});
    stream(&[start(), last], &["done end_turn 30/2 cache 1/0"]);
    let early =
        json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 7}});
    stream(&[start(), early, end()], &["done  25/7 cache 9/8"]);
}

#[test]
fn arguments_may_come_whole_and_calls_unstopped() {
    let whole = json!({"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}});
    stream(
        &[start(), block(0, &whole), stop(0), finish("tool_use")],
        &["start t1 f", "delta t1 {\"a\":1}", "end t1", "done tool_use 25/15 cache 9/8"],
    );
    stream(
        &[start(), block(0, &whole), delta(0, &input("{\"b\":2}")), finish("max_tokens")],
        &["start t1 f", "delta t1 {\"b\":2}", "end t1", "done max_tokens 25/15 cache 9/8"],
    );
}

#[test]
fn errors_have_their_categories() {
    for (kind, expected) in [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limit"),
        ("api_error", "server"),
        ("authentication_error", "auth"),
        ("permission_error", "auth"),
        ("invalid_request_error", "bad_request"),
        ("not_found_error", "bad_request"),
        ("request_too_large", "bad_request"),
        ("of_tomorrow", "server"),
    ] {
        let error = json!({"type": "error", "error": {"type": kind, "message": "m"}});
        stream(&[start(), error.clone(), end()], &[&format!("error {expected}: m")]);
        assert_eq!(reply(&request(), &error), Err(format!("{expected}: m")));
    }
    check(
        &Messages,
        "data: {oops\n\n",
        &["error server: failed to parse streaming chunk: key must be a string at line 1 column 2"],
    );
}

#[test]
fn a_stream_that_breaks_off_is_no_reply() {
    stream(&[start(), block(0, &json!({"type": "text"})), delta(0, &text("half"))], &["text half", "early"]);
    // The type may be in the framing alone.
    check(&Messages, "event: message_stop\ndata: {}\n\n", &["done  0/0"]);
    check(&Messages, "event: ping\n\ndata: [DONE]\n\n", &["done  0/0"]);
}
