use serde_json::{Value, json};

use super::{Responses, Wire as _};
use crate::provider::testing::{check, conversation, request};
use crate::provider::{Reply, Request, ResponseFormat};

#[test]
fn a_conversation_is_a_list_of_items() {
    assert_eq!(
        Responses.body(&request(), false),
        json!({"model": "some-model", "input": [{"role": "user", "content": "hi"}]})
    );
    let schema = json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a"]}}, "required": ["path"]});
    assert_eq!(
        Responses.body(&conversation(), true),
        json!({
            "model": "some-model",
            "input": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "go"},
                {"type": "function_call", "call_id": "id1", "name": "read_file", "arguments": r#"{"count":1000000,"list":[1,{"x":null}],"path":"a.txt"}"#},
                {"type": "function_call", "call_id": "id2", "name": "list_directory", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "id1", "output": "1: x"},
                {"type": "function_call_output", "call_id": "id2", "output": "no JSON"},
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "more"},
            ],
            "temperature": 0.3,
            "max_output_tokens": 100,
            "tools": [{"type": "function", "name": "read_file", "description": "reads", "parameters": schema, "strict": false}],
            "stream": true,
        })
    );
    let format = |format| {
        Responses.body(&Request { response_format: Some(format), ..request() }, false)["text"].take()
    };
    assert_eq!(format(ResponseFormat::JsonObject), json!({"format": {"type": "json_object"}}));
    assert_eq!(
        format(ResponseFormat::JsonSchema { name: "n".to_owned(), schema: json!({}) }),
        json!({"format": {"type": "json_schema", "name": "n", "strict": true, "schema": {}}})
    );
}

fn reply(body: &Value) -> Result<Reply, String> {
    Responses.reply(&request(), body).map_err(|error| error.to_string())
}

#[test]
fn replies_are_read() {
    let reply_ = reply(&json!({
        "status": "completed", "model": "gpt-x", "error": null,
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1x", "name": "f", "arguments": "{\"n\":1}"},
            {"type": "function_call", "id": "fc_2", "name": "g", "arguments": ""},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 2}},
    }))
    .unwrap();
    assert_eq!((reply_.text.as_str(), reply_.stop_reason.as_str()), ("ab", "completed"));
    assert_eq!((reply_.calls[0].id.as_str(), reply_.calls[1].id.as_str()), ("call_1x", "fc_2"));
    assert_eq!(
        (reply_.usage.input_tokens, reply_.usage.output_tokens, reply_.usage.cache_read_tokens),
        (3, 4, 2)
    );

    let refused = json!({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]});
    assert!(reply(&refused).unwrap().is_refusal);
    assert_eq!(reply(&json!({"output": []})), Err("server: response contains no output".to_owned()));
    let broken =
        json!({"output": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{"}]});
    assert_eq!(reply(&broken), Err("server: the arguments of the call of f are no JSON object".to_owned()));
    let failed = json!({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "m"}});
    assert_eq!(reply(&failed), Err("rate_limit: m".to_owned()));
}

#[track_caller]
fn stream(events: &[Value], expected: &[&str]) {
    let text: String = events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect();
    check(&Responses, &text, expected);
}

fn done(kind: &str) -> Value {
    json!({"type": kind, "response": {"usage": {"input_tokens": 3, "output_tokens": 4}}})
}

#[test]
fn text_is_streamed_under_either_name() {
    stream(
        &[
            json!({"type": "response.created"}),
            json!({"type": "response.output_text.delta", "delta": "a"}),
            json!({"type": "response.content_part.delta", "delta": "b"}),
            json!({"type": "response.content_part.delta", "delta": {"type": "text", "text": "c"}}),
            json!({"type": "response.output_text.done", "text": "abc"}),
            done("response.completed"),
        ],
        &["text a", "text b", "text c", "done completed 3/4"],
    );
    stream(
        &[json!({"type": "response.refusal.delta", "delta": "no"}), done("response.incomplete")],
        &["text no", "done incomplete 3/4 refusal"],
    );
}

#[test]
fn calls_are_known_by_the_id_that_their_output_needs() {
    let added = json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": ""}});
    let one = json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": "{\"a\""});
    let two = json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "changed", "delta": ":1}"});
    let finished = json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"}});
    let expected = ["start c1 f", "delta c1 {\"a\"", "delta c1 :1}", "end c1", "done completed 3/4"];
    stream(
        &[added.clone(), one.clone(), two.clone(), finished.clone(), done("response.completed")],
        &expected,
    );
    stream(&[added.clone(), one, two, done("response.completed")], &expected);
    let expected = ["start c1 f", "delta c1 {\"a\":1}", "end c1", "done completed 3/4"];
    stream(&[added, finished.clone(), done("response.completed")], &expected);
    stream(&[finished, done("response.completed")], &expected);
}

#[test]
fn failures_are_told() {
    for (event, expected) in [
        (
            json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "m"}}}),
            "error server: m",
        ),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "m"}}}),
            "error rate_limit: m",
        ),
        (json!({"type": "error", "code": "invalid_prompt", "message": "m"}), "error bad_request: m"),
        (
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m"}}),
            "error bad_request: m",
        ),
    ] {
        stream(&[json!({"type": "response.output_text.delta", "delta": "a"}), event], &["text a", expected]);
    }
    stream(&[json!({"type": "response.output_text.delta", "delta": "a"})], &["text a", "early"]);
}
