use serde_json::{Value, json};

use super::{Cap, Chat, Wire as _, category};
use crate::provider::testing::{check, conversation, events, request};
use crate::provider::{Category, Reply, Request, ResponseFormat, Usage};

const CHAT: Chat = Chat { cap: Cap::MaxTokens };

#[test]
fn the_least_request_says_the_least() {
    let expected = json!({"model": "some-model", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(CHAT.body(&request(), false), expected);
    let zeros = Request { temperature: Some(0.0), max_tokens: Some(0), ..request() };
    assert_eq!(CHAT.body(&zeros, false), expected);
}

#[test]
fn a_conversation_is_told_with_its_calls() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a"]}}, "required": ["path"]});
    assert_eq!(
        CHAT.body(&conversation(), true),
        json!({
            "model": "some-model",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "id1", "type": "function", "function": {
                        "name": "read_file", "arguments": r#"{"count":1000000,"list":[1,{"x":null}],"path":"a.txt"}"#,
                    }},
                    {"id": "id2", "type": "function", "function": {"name": "list_directory", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "id1", "content": "1: x"},
                {"role": "tool", "tool_call_id": "id2", "content": "no JSON"},
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "more"},
            ],
            "temperature": 0.3,
            "max_tokens": 100,
            "tools": [{"type": "function", "function": {"name": "read_file", "description": "reads", "parameters": schema}}],
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn the_cap_has_two_names_and_the_format_two_shapes() {
    let capped = Request { max_tokens: Some(7), ..request() };
    let body = Chat { cap: Cap::MaxCompletionTokens }.body(&capped, false);
    assert_eq!((&body["max_completion_tokens"], body.get("max_tokens")), (&json!(7), None));

    let format = |format| {
        CHAT.body(&Request { response_format: Some(format), ..request() }, false)["response_format"].take()
    };
    assert_eq!(format(ResponseFormat::JsonObject), json!({"type": "json_object"}));
    assert_eq!(
        format(ResponseFormat::JsonSchema { name: "n".to_owned(), schema: json!({"type": "object"}) }),
        json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": {"type": "object"}}})
    );
}

fn reply(body: &Value) -> Result<Reply, String> {
    CHAT.reply(&request(), body).map_err(|error| error.to_string())
}

#[test]
fn replies_are_read() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}, "cost": 0.5});
    let body = json!({
        "model": "some-model-2",
        "choices": [{"message": {"content": "hello", "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "f", "arguments": r#"{"n": 1000000}"#}},
            {"function": {"name": "g", "arguments": null}},
            {"id": "y", "function": {"name": "h", "arguments": {"whole": true}}},
            {"id": "z", "function": {"name": "i", "arguments": "{\"cut"}},
        ]}, "finish_reason": "tool_calls"}, {"message": {"content": "other"}}],
        "usage": usage,
    });
    let reply = reply(&body).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop_reason.as_str()), ("hello", "tool_calls"));
    assert_eq!(reply.model.as_deref(), Some("some-model-2"));
    assert_eq!(
        reply.usage,
        Usage {
            input_tokens: 5,
            output_tokens: 7,
            cache_read_tokens: 3,
            cache_write_tokens: 0,
            cost: Some(0.5)
        }
    );
    let calls: Vec<_> =
        reply.calls.iter().map(|call| (call.name.as_str(), format!("{:?}", call.arguments))).collect();
    assert_eq!(calls[0], ("f", r#"Object({"n": Number(1000000)})"#.to_owned()));
    assert_eq!(calls[1], ("g", "Object({})".to_owned()));
    assert_eq!(calls[2], ("h", r#"Object({"whole": Bool(true)})"#.to_owned()));
    assert_eq!(calls[3], ("i", r#"Malformed("{\"cut")"#.to_owned()));
    assert!(reply.calls[1].id.starts_with("call_"));
}

#[test]
fn odd_replies_are_read_as_well() {
    for (message, expected) in [
        (json!({"content": null}), ("", false)),
        (json!({}), ("", false)),
        (json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), ("ab", false)),
        (json!({"content": null, "refusal": "no"}), ("no", true)),
        (json!({"content": "x", "tool_calls": null}), ("x", false)),
    ] {
        let reply = reply(&json!({"choices": [{"message": message, "finish_reason": "stop"}]})).unwrap();
        assert_eq!((reply.text.as_str(), reply.is_refusal), expected, "{message}");
    }
    assert!(
        reply(&json!({"choices": [{"message": {}, "finish_reason": "content_filter"}]})).unwrap().is_refusal
    );
    assert_eq!(reply(&json!({"choices": []})), Err("server: response contains no choices".to_owned()));
    assert_eq!(reply(&json!({})), Err("server: response contains no choices".to_owned()));
    assert_eq!(
        reply(&json!({"error": {"message": "slow down", "code": 429}})),
        Err("rate_limit: slow down".to_owned())
    );
}

/// Frames chunks as a server would.
fn sse(chunks: &[&str]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5}}"#;
const DONE: &str = "[DONE]";

/// Chunks to events.
#[track_caller]
fn chunks(chunks: &[&str], expected: &[&str]) {
    check(&CHAT, &sse(chunks), expected);
}

#[test]
fn text_is_streamed() {
    let role = delta(r#"{"role":"assistant","content":""}"#);
    let (one, two) = (delta(r#"{"content":"Hel"}"#), delta(r#"{"content":"lo é"}"#));
    let nothing = delta(r#"{"content":null}"#);
    let end = finish("stop");
    let expected = ["text Hel", "text lo é", "done stop 11/5"];
    chunks(&[&role, &one, &nothing, &two, &end, USAGE, DONE], &expected);
    // `[DONE]` is not waited for once the usage is there.
    chunks(&[&role, &one, &two, &end, USAGE], &expected);
    chunks(&[&one, &two, &end, DONE], &["text Hel", "text lo é", "done stop 0/0"]);
    chunks(&[DONE], &["done  0/0"]);
    // Azure begins with a chunk that holds neither choices nor usage.
    chunks(
        &[r#"{"choices":[],"prompt_filter_results":[]}"#, &one, &end, DONE],
        &["text Hel", "done stop 0/0"],
    );
}

fn tool(entry: &str) -> String {
    delta(&format!(r#"{{"tool_calls":[{entry}]}}"#))
}

#[test]
fn calls_are_streamed() {
    let start = tool(r#"{"index":0,"id":"c0","type":"function","function":{"name":"read","arguments":""}}"#);
    let (one, two) = (
        tool(r#"{"index":0,"function":{"arguments":"{\"pa"}}"#),
        tool(r#"{"index":0,"function":{"arguments":"th\":1}"}}"#),
    );
    let other = tool(r#"{"index":1,"id":"c1","function":{"name":"list","arguments":""}}"#);
    let others = tool(r#"{"index":1,"function":{"arguments":"{}"}}"#);
    chunks(
        &[&start, &one, &two, &other, &others, &finish("tool_calls"), USAGE, DONE],
        &[
            "start c0 read",
            "delta c0 {\"pa",
            "delta c0 th\":1}",
            "start c1 list",
            "delta c1 {}",
            "end c0",
            "end c1",
            "done tool_calls 11/5",
        ],
    );
    // Ends come in the order of the indexes, whatever the order of the starts.
    chunks(
        &[&other, &start, &finish("tool_calls"), DONE],
        &["start c1 list", "start c0 read", "end c0", "end c1", "done tool_calls 0/0"],
    );
}

#[test]
fn row_a_the_first_fragment_may_hold_the_whole_arguments() {
    let whole = tool(r#"{"index":0,"id":"c0","function":{"name":"read","arguments":"{\"a\":1}"}}"#);
    chunks(
        &[&whole, &finish("tool_calls"), DONE],
        &["start c0 read", "delta c0 {\"a\":1}", "end c0", "done tool_calls 0/0"],
    );
}

#[test]
fn row_b_one_delta_may_hold_two_calls() {
    let two = tool(
        r#"{"index":0,"id":"c0","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"c1","function":{"name":"g","arguments":"{}"}}"#,
    );
    chunks(
        &[&two, &finish("tool_calls"), DONE],
        &[
            "start c0 f",
            "delta c0 {}",
            "start c1 g",
            "delta c1 {}",
            "end c0",
            "end c1",
            "done tool_calls 0/0",
        ],
    );
}

#[test]
fn row_c_content_and_calls_may_come_together() {
    let both = delta(
        r#"{"content":"see","tool_calls":[{"index":0,"id":"c0","function":{"name":"f","arguments":"{}"}}]}"#,
    );
    chunks(
        &[&both, &finish("tool_calls"), DONE],
        &["text see", "start c0 f", "delta c0 {}", "end c0", "done tool_calls 0/0"],
    );
}

#[test]
fn row_d_the_reason_may_come_with_the_last_delta() {
    let all = r#"{"choices":[{"index":0,"delta":{"content":"x","tool_calls":[{"index":0,"id":"c0","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    chunks(&[all, DONE], &["text x", "start c0 f", "delta c0 {}", "end c0", "done tool_calls 0/0"]);
}

#[test]
fn row_e_any_end_ends_the_calls() {
    let start = tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":"{}"}}"#);
    let ended = ["start c0 f", "delta c0 {}", "end c0"];
    let with = |done| [ended.as_slice(), &[done]].concat();
    chunks(&[&start, &finish("stop"), DONE], &with("done stop 0/0"));
    chunks(&[&start, &finish("length"), DONE], &with("done length 0/0"));
    chunks(&[&start, DONE], &with("done  0/0"));
    chunks(&[&start, &finish("stop")], &with("done stop 0/0"));
}

#[test]
fn row_f_usage_is_taken_wherever_it_is() {
    let last = r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":2}}}"#;
    chunks(&[last, DONE], &["text x", "done stop 3/4 cache 2/0"]);
    // Reports of progress are superseded, and `null` says nothing.
    let early = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":0}}"#;
    let none = r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":null}"#;
    chunks(&[early, none, &finish("stop"), USAGE, DONE], &["text x", "done stop 11/5"]);
}

#[test]
fn row_g_errors_in_the_stream_have_their_category() {
    for (chunk, expected) in [
        (r#"{"error":{"message":"m","type":"rate_limit_error"}}"#, "error rate_limit: m"),
        (r#"{"error":{"message":"m","code":429}}"#, "error rate_limit: m"),
        (r#"{"error":{"message":"m","code":"401"}}"#, "error auth: m"),
        (
            r#"{"error":{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            "error auth: m",
        ),
        (r#"{"error":{"message":"m","type":"invalid_request_error","code":null}}"#, "error bad_request: m"),
        (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, "error overloaded: m"),
        (r#"{"error":{"message":"m","type":"server_error"}}"#, "error server: m"),
        (r#"{"error":"m"}"#, "error server: m"),
        (r#"{"error":{}}"#, "error server: the server reports an error"),
        (r#"{"object":"error","message":"m","code":400}"#, "error bad_request: m"),
        (r#"{"error":{"message":"m"},"choices":[]}"#, "error server: m"),
    ] {
        chunks(&[&delta(r#"{"content":"so far"}"#), chunk, DONE], &["text so far", expected]);
    }
}

#[test]
fn row_g_the_framing_may_name_the_error() {
    check(&CHAT, "event: error\ndata: {\"message\":\"m\",\"code\":503}\n\n", &["error server: m"]);
}

#[test]
fn row_h_a_call_waits_for_its_name() {
    let id = tool(r#"{"index":0,"id":"c0","type":"function"}"#);
    let null = tool(r#"{"index":0,"id":"c0","function":null}"#);
    let early = tool(r#"{"index":0,"function":{"arguments":"{\"a\""}}"#);
    let name = tool(r#"{"index":0,"function":{"name":"f","arguments":":1}"}}"#);
    chunks(
        &[&id, &null, &early, &name, &finish("tool_calls"), DONE],
        &["start c0 f", "delta c0 {\"a\":1}", "end c0", "done tool_calls 0/0"],
    );
    chunks(&[&id, &finish("stop"), DONE], &["done stop 0/0"]);
}

#[test]
fn row_i_an_end_without_a_reason_is_an_error() {
    chunks(&[&delta(r#"{"content":"half"}"#)], &["text half", "early"]);
    let start = tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":"{\"a\":"}}"#);
    chunks(&[&start], &["start c0 f", "delta c0 {\"a\":", "early"]);
    chunks(&[], &["early"]);
    check(
        &CHAT,
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}",
        &["error server: failed to parse streaming chunk: EOF while parsing an object at line 1 column 36"],
    );
}

#[test]
fn row_j_null_arguments_are_none() {
    let null = tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":null}}"#);
    chunks(&[&null, &finish("tool_calls"), DONE], &["start c0 f", "end c0", "done tool_calls 0/0"]);
}

#[test]
fn row_k_a_repeated_id_goes_on_with_its_call() {
    let one = tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":"{\"a\""}}"#);
    let two = tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":":1}"}}"#);
    let expected = ["start c0 f", "delta c0 {\"a\"", "delta c0 :1}", "end c0", "done tool_calls 0/0"];
    chunks(&[&one, &two, &finish("tool_calls"), DONE], &expected);
    // And so does a new id that comes without a name.
    let two = tool(r#"{"index":0,"id":"other","function":{"arguments":":1}"}}"#);
    chunks(&[&one, &two, &finish("tool_calls"), DONE], &expected);
}

#[test]
fn row_l_without_an_index_the_id_tells_or_the_order() {
    let (f, g) = (
        tool(r#"{"id":"c0","function":{"name":"f","arguments":""}}"#),
        tool(r#"{"id":"c1","function":{"name":"g","arguments":""}}"#),
    );
    let (of_f, of_g) = (
        tool(r#"{"id":"c0","function":{"arguments":"{\"f\":1}"}}"#),
        tool(r#"{"id":"c1","function":{"arguments":"{\"g\":1}"}}"#),
    );
    chunks(
        &[&f, &g, &of_f, &of_g, &finish("tool_calls"), DONE],
        &[
            "start c0 f",
            "start c1 g",
            "delta c0 {\"f\":1}",
            "delta c1 {\"g\":1}",
            "end c0",
            "end c1",
            "done tool_calls 0/0",
        ],
    );
    let rest = tool(r#"{"function":{"arguments":"{}"}}"#);
    chunks(
        &[&f, &rest, &g, &rest, &finish("tool_calls"), DONE],
        &[
            "start c0 f",
            "delta c0 {}",
            "start c1 g",
            "delta c1 {}",
            "end c0",
            "end c1",
            "done tool_calls 0/0",
        ],
    );
    let both = tool(r#"{"function":{"arguments":"{}"}},{"function":{"arguments":"[]"}}"#);
    chunks(
        &[&f, &g, &both, &finish("tool_calls"), DONE],
        &[
            "start c0 f",
            "start c1 g",
            "delta c0 {}",
            "delta c1 []",
            "end c0",
            "end c1",
            "done tool_calls 0/0",
        ],
    );
    // Neither index nor id: every name is a call.
    let nameless =
        tool(r#"{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}"#);
    chunks(
        &[&nameless, &finish("tool_calls"), DONE],
        &[
            "start call_# f",
            "delta call_# {}",
            "start call_# g",
            "delta call_# {}",
            "end call_#",
            "end call_#",
            "done tool_calls 0/0",
        ],
    );
    // And every call may have the same index.
    let (f, g) = (
        tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":"{}"}}"#),
        tool(r#"{"index":0,"id":"c1","function":{"name":"g","arguments":"{}"}}"#),
    );
    chunks(
        &[&f, &g, &finish("stop"), DONE],
        &["start c0 f", "delta c0 {}", "start c1 g", "delta c1 {}", "end c0", "end c1", "done stop 0/0"],
    );
}

#[test]
fn row_m_framing_is_taken_as_it_comes() {
    let (text, end) = (delta(r#"{"content":"x"}"#), finish("stop"));
    let stream = format!(": keep-alive\n\ndata:{text}\r\n\r\n: keep-alive\r\ndata:{end}\n\ndata:[DONE]\n\n");
    check(&CHAT, &stream, &["text x", "done stop 0/0"]);
    check(&CHAT, &format!("data: {text}\n\ndata: {end}\n\ndata: [DONE]"), &["text x", "done stop 0/0"]);
    check(
        &CHAT,
        "data: not json\n\n",
        &["error server: failed to parse streaming chunk: expected ident at line 1 column 2"],
    );
}

#[test]
fn refusals_are_told_by_their_members() {
    chunks(
        &[&delta(r#"{"refusal":"I won't"}"#), &finish("stop"), DONE],
        &["text I won't", "done stop 0/0 refusal"],
    );
    chunks(&[&finish("content_filter"), DONE], &["done content_filter 0/0 refusal"]);
}

#[test]
fn text_may_come_in_parts() {
    let parts = delta(
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}"#,
    );
    chunks(&[&parts, &finish("stop"), DONE], &["text a", "done stop 0/0"]);
}

#[test]
fn other_choices_are_nobodys() {
    let other = r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}"#;
    chunks(&[other, &delta(r#"{"content":"yes"}"#), &finish("stop"), DONE], &["text yes", "done stop 0/0"]);
}

#[test]
fn arguments_of_any_length_arrive() {
    let long = "x".repeat(300_000);
    let whole = tool(&format!(r#"{{"index":0,"id":"c0","function":{{"name":"f","arguments":"{long}"}}}}"#));
    let stream = sse(&[&whole, &finish("tool_calls"), DONE]);
    let words = events(&CHAT, stream.as_bytes().chunks(1400));
    assert_eq!(words[1], format!("delta c0 {long}"));
}

#[test]
fn a_status_in_an_error_counts_more_than_its_words() {
    assert_eq!(category(&json!({"status": 503, "type": "rate_limit_error"})), Category::Server);
    assert_eq!(category(&json!({"code": 7, "type": "rate_limit_error"})), Category::RateLimit);
    assert_eq!(category(&json!({"code": 529})), Category::Overloaded);
    assert_eq!(category(&json!("text")), Category::Server);
}

proptest::proptest! {
    #[test]
    fn any_split_of_a_stream_gives_the_same_events(cuts in proptest::collection::vec(proptest::arbitrary::any::<proptest::sample::Index>(), 0..9)) {
        let start = tool(r#"{"index":0,"id":"c0","function":{"name":"f","arguments":"{\"é\":"}}"#);
        let rest = tool(r#"{"index":0,"function":{"arguments":"\"ü\"}"}}"#);
        let stream = sse(&[&delta(r#"{"content":"héllo €"}"#), &start, &rest, &finish("tool_calls"), USAGE, DONE]);
        let bytes = stream.replace("\n\n", "\r\n\r\n").into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        proptest::prop_assert_eq!(
            events(&CHAT, cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]])),
            ["text héllo €", "start c0 f", "delta c0 {\"é\":", "delta c0 \"ü\"}", "end c0", "done tool_calls 11/5"]
        );
    }
}
