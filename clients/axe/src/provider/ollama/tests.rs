use serde_json::json;

use super::{Chat, Wire as _};
use crate::provider::testing::{check, conversation, request};
use crate::provider::{Request, ResponseFormat};

#[test]
fn requests_are_written() {
    assert_eq!(
        Chat.body(&request(), false),
        json!({"model": "some-model", "messages": [{"role": "user", "content": "hi"}], "stream": false})
    );
    let schema = json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a"]}}, "required": ["path"]});
    assert_eq!(
        Chat.body(&conversation(), true),
        json!({
            "model": "some-model",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"function": {"name": "read_file", "arguments": {"path": "a.txt", "count": 1_000_000, "list": [1, {"x": null}]}}},
                    {"function": {"name": "list_directory", "arguments": {}}},
                ]},
                {"role": "tool", "tool_name": "read_file", "content": "1: x"},
                {"role": "tool", "tool_name": "list_directory", "content": "no JSON"},
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "more"},
            ],
            "stream": true,
            "options": {"temperature": 0.3, "num_predict": 100},
            "tools": [{"type": "function", "function": {"name": "read_file", "description": "reads", "parameters": schema}}],
        })
    );
    let format =
        |format| Chat.body(&Request { response_format: Some(format), ..request() }, false)["format"].take();
    assert_eq!(format(ResponseFormat::JsonObject), json!("json"));
    let schema = json!({"type": "object"});
    assert_eq!(format(ResponseFormat::JsonSchema { name: "n".to_owned(), schema: schema.clone() }), schema);
}

#[test]
fn replies_are_read_even_when_they_are_empty() {
    let body = json!({
        "model": "llama", "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4,
        "message": {"content": "", "thinking": "hm", "tool_calls": [
            {"function": {"name": "f", "arguments": {"n": 1_000_000}}},
            {"id": "call_1", "function": {"name": "g"}},
        ]},
    });
    let reply = Chat.reply(&request(), &body).unwrap();
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (3, 4));
    assert_eq!((reply.calls[0].name.as_str(), reply.calls[1].name.as_str()), ("f", "g"));
    assert_ne!(reply.calls[0].id, reply.calls[1].id);
    let again = Chat.reply(&request(), &body).unwrap();
    assert_ne!(reply.calls[0].id, again.calls[0].id);

    let empty = Chat.reply(&request(), &json!({"message": {"content": ""}, "done": true})).unwrap();
    assert_eq!((empty.text.as_str(), empty.stop_reason.as_str()), ("", "stop"));
    assert!(Chat.reply(&request(), &json!({})).is_err());
    assert_eq!(
        Chat.reply(&request(), &json!({"error": "no such model"})).unwrap_err().to_string(),
        "server: no such model"
    );
}

#[test]
fn lines_are_streamed() {
    let stream = concat!(
        r#"{"message":{"role":"assistant","content":"Hel"},"done":false}"#,
        "\n",
        r#"{"message":{"content":""},"done":false}"#,
        "\r\n\n",
        r#"{"message":{"content":"lo","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"g","arguments":{}}}]},"done":false}"#,
        "\n",
        r#"{"message":{"content":"!"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}"#,
        "\n",
    );
    let expected = [
        "text Hel",
        "text lo",
        "start ollama_# f {\"a\":1}",
        "end ollama_#",
        "start ollama_# g {}",
        "end ollama_#",
        "text !",
        "done stop 3/4",
    ];
    check(&Chat, stream, &expected);
    check(&Chat, stream.trim_end(), &expected);
    check(&Chat, "{\"message\":{\"content\":\"half\"},\"done\":false}\n", &["text half", "early"]);
    check(&Chat, "{\"error\":\"out of memory\"}\n", &["error server: out of memory"]);
    check(
        &Chat,
        "oops\n",
        &["error server: failed to parse streaming chunk: expected value at line 1 column 1"],
    );
}
