use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message as Frame};
use aws_smithy_types::str_bytes::StrBytes;
use serde_json::{Value, json};

use super::converse::Converse;
use super::{Bedrock, connect, is_good, sign_request};
use crate::net::testing::{Script, Server, Step, answer, stream};
use crate::provider::testing::{conversation, events, request};
use crate::provider::wire::Wire as _;
use crate::provider::{Category, Message, Provider as _, Request, Settings, ToolResult, drain};

const MODEL: &str = "anthropic.claude-3-5-sonnet-20241022-v2:0";
const ARN: &str = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn credentials(expiry: Option<SystemTime>) -> Credentials {
    Credentials::new("AKIDEXAMPLE", SECRET, Some("session-token".to_owned()), expiry, "test")
}

/// Bedrock with credentials at hand.
async fn bedrock(base_url: Option<String>) -> Bedrock {
    let region = Some("us-east-1".to_owned());
    let settings = Settings { provider: "bedrock".to_owned(), base_url, key: None, region };
    let bedrock = connect(&settings).await.unwrap();
    bedrock.credentials.state.lock().await.current = Some(credentials(None));
    bedrock
}

#[tokio::test]
async fn signatures_are_those_of_botocore() {
    let bedrock = bedrock(None).await;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_735_787_045);
    for (model, path, signature) in [
        (
            MODEL,
            "anthropic.claude-3-5-sonnet-20241022-v2%3A0",
            "2b950fab0ab3cbc08e701aa928bcae8c303a6d92a6fe1582025e38c3cbc70388",
        ),
        (
            ARN,
            "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.x",
            "3e120b82202adefca636971da0ed3cefa90773dcbb6945071e7ec511d77a33ed",
        ),
    ] {
        let url = bedrock.url(model, "converse").unwrap();
        let expected = format!("https://bedrock-runtime.us-east-1.amazonaws.com/model/{path}/converse");
        assert_eq!(url.as_str(), expected);
        let headers =
            sign_request(&url, br#"{"messages":[]}"#, credentials(None), "us-east-1", time).unwrap();
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20250102/us-east-1/bedrock/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature={signature}"
        );
        assert_eq!(headers["authorization"], expected.as_str());
        assert_eq!(headers["x-amz-security-token"], "session-token");
        assert!(headers.values().all(|value| value.is_sensitive()));
    }
}

#[tokio::test]
async fn regions_have_their_hosts() {
    for (region, host) in [
        ("eu-central-1", "bedrock-runtime.eu-central-1.amazonaws.com"),
        ("cn-north-1", "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
    ] {
        let region = Some(region.to_owned());
        let settings = Settings { provider: "bedrock".to_owned(), region, ..Settings::default() };
        assert_eq!(connect(&settings).await.unwrap().base.host_str(), Some(host));
    }
}

#[test]
fn a_conversation_is_told_in_blocks_of_alternating_roles() {
    let expected = json!({"messages": [{"role": "user", "content": [{"text": "hi"}]}]});
    assert_eq!(Converse.body(&request(), false), expected);
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "enum": ["a"]}},
        "required": ["path"],
    });
    assert_eq!(
        Converse.body(&conversation(), true),
        json!({
            "messages": [
                {"role": "user", "content": [{"text": "go"}]},
                {"role": "assistant", "content": [
                    {"toolUse": {
                        "toolUseId": "id1", "name": "read_file",
                        "input": {"path": "a.txt", "count": 1_000_000, "list": [1, {"x": null}]},
                    }},
                    {"toolUse": {"toolUseId": "id2", "name": "list_directory", "input": {}}},
                ]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "id1", "content": [{"text": "1: x"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "id2", "content": [{"text": "no JSON"}], "status": "error"}},
                ]},
                {"role": "assistant", "content": [{"text": "done"}]},
                {"role": "user", "content": [{"text": "more"}]},
            ],
            "system": [{"text": "be brief"}],
            "inferenceConfig": {"temperature": 0.3, "maxTokens": 100},
            "toolConfig": {"tools": [{"toolSpec": {
                "name": "read_file", "description": "reads", "inputSchema": {"json": schema},
            }}]},
        })
    );
}

#[test]
fn empty_blocks_are_not_sent() {
    let result =
        ToolResult { call_id: "x".to_owned(), name: "f".to_owned(), content: String::new(), is_error: false };
    let messages = vec![
        Message::User("a".to_owned()),
        Message::Assistant { text: " ".to_owned(), calls: Vec::new() },
        Message::User("b".to_owned()),
        Message::ToolResults(vec![result]),
    ];
    let body = Converse.body(&Request { messages, ..request() }, false);
    let result =
        json!({"toolResult": {"toolUseId": "x", "content": [{"text": "(no output)"}], "status": "success"}});
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": [{"text": "a"}, {"text": "b"}, result]}])
    );
}

#[test]
fn replies_are_read() {
    let body = json!({
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {}}, {"text": "a"},
            {"toolUse": {"toolUseId": "t1", "name": "f", "input": {"n": 1_000_000}}}, {"text": "b"},
        ]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 2, "cacheWriteInputTokens": 1},
    });
    let reply = Converse.reply(&request(), &body).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop_reason.as_str(), reply.model), ("ab", "tool_use", None));
    assert_eq!((reply.calls[0].id.as_str(), reply.calls[0].name.as_str()), ("t1", "f"));
    let usage = reply.usage;
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens),
        (3, 4, 2, 1)
    );
    let empty = Converse.reply(&request(), &json!({"stopReason": "guardrail_intervened"})).unwrap();
    assert_eq!((empty.text.as_str(), empty.is_refusal), ("", true));
}

fn frame(headers: &[(&'static str, &str)], payload: &str) -> Vec<u8> {
    let headers = headers
        .iter()
        .map(|(name, value)| Header::new(*name, HeaderValue::String(StrBytes::from((*value).to_owned()))));
    let mut bytes = Vec::new();
    let frame = Frame::new_from_parts(headers.collect(), payload.as_bytes().to_vec());
    write_message_to(&frame, &mut bytes).unwrap();
    bytes
}

fn event(kind: &str, payload: &Value) -> Vec<u8> {
    frame(&[(":message-type", "event"), (":event-type", kind)], &payload.to_string())
}

fn text(text: &str) -> Vec<u8> {
    event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"text": text}}))
}

fn stop(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({"stopReason": reason}))
}

fn counters() -> Vec<u8> {
    event("metadata", &json!({"usage": {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 2}}))
}

#[track_caller]
fn check(frames: &[Vec<u8>], expected: &[&str]) {
    let bytes = frames.concat();
    assert_eq!(events(&Converse, [bytes.as_slice()]), expected, "whole");
    assert_eq!(events(&Converse, bytes.chunks(1)), expected, "byte by byte");
    assert_eq!(events(&Converse, bytes.chunks(7)), expected, "by sevens");
}

#[test]
fn frames_are_streamed() {
    let start = json!({"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "t1", "name": "f"}}});
    let delta = |input: &str| {
        event("contentBlockDelta", &json!({"contentBlockIndex": 1, "delta": {"toolUse": {"input": input}}}))
    };
    let end = |index: u64| event("contentBlockStop", &json!({"contentBlockIndex": index}));
    let begin = event("messageStart", &json!({"role": "assistant"}));
    let expected = [
        "text Hé",
        "text llo",
        "start t1 f",
        "delta t1 {\"a\"",
        "delta t1 :1}",
        "end t1",
        "done tool_use 3/4 cache 2/0",
    ];
    let thought =
        event("contentBlockDelta", &json!({"contentBlockIndex": 0, "delta": {"reasoningContent": {}}}));
    let until_end = [
        begin,
        thought,
        text("Hé"),
        text("llo"),
        end(0),
        event("contentBlockStart", &start),
        delta("{\"a\""),
        delta(":1}"),
    ];
    check(&[until_end.as_slice(), &[end(1), stop("tool_use"), counters()]].concat(), &expected);
    // A call that was not stopped is ended all the same.
    check(&[until_end.as_slice(), &[stop("tool_use"), counters()]].concat(), &expected);
    check(&[text("x"), stop("end_turn")], &["text x", "done end_turn 0/0"]);
    check(&[stop("guardrail_intervened"), counters()], &["done guardrail_intervened 3/4 cache 2/0 refusal"]);
}

#[test]
fn frames_that_fail_are_errors() {
    let exception = |name: &str| {
        frame(&[(":message-type", "exception"), (":exception-type", name)], r#"{"message":"m"}"#)
    };
    for (frames, expected) in [
        (vec![exception("throttlingException")], "error rate_limit: m"),
        (vec![exception("validationException")], "error bad_request: m"),
        (vec![exception("modelStreamErrorException")], "error server: m"),
        (vec![exception("ofTomorrowException")], "error server: m"),
        (
            vec![frame(
                &[(":message-type", "error"), (":error-code", "AccessDenied"), (":error-message", "m")],
                "",
            )],
            "error auth: m",
        ),
        (vec![], "early"),
        (vec![counters()], "early"),
        (vec![vec![0xff; 20]], "error server: a frame of the stream claims 4294967295 bytes"),
        (vec![vec![0; 20]], "error server: a frame of the stream claims 0 bytes"),
    ] {
        check(&[vec![text("so far")], frames].concat(), &["text so far", expected]);
    }
    let mut broken = text("x");
    let last = broken.len() - 1;
    broken[last] ^= 1;
    let words = events(&Converse, [broken.as_slice()]);
    assert!(words[0].starts_with("error server: failed to parse streaming chunk"), "{words:?}");
    // Cut within the frame after the reply.
    let counters = counters();
    check(&[text("x"), stop("end_turn"), counters[..20].to_vec()], &["text x", "early"]);
}

async fn serve(script: Script) -> (Server, Bedrock) {
    let server = Server::start([script]).await;
    let bedrock = bedrock(Some(server.url())).await;
    (server, bedrock)
}

#[tokio::test]
async fn both_operations_are_asked_for() {
    let reply = json!({"output": {"message": {"content": [{"text": "hi"}]}}, "stopReason": "end_turn"});
    let request = Request { model: MODEL.to_owned(), ..request() };
    let (server, bedrock) =
        serve(answer(200, &[("Content-Type", "application/json")], &reply.to_string())).await;
    assert_eq!(bedrock.complete(&request).await.unwrap().text, "hi");
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse HTTP/1.1");
    assert!(seen.headers["authorization"].starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    assert_eq!(seen.headers["content-type"], "application/json");

    let frames = [text("hi"), stop("end_turn"), counters()].concat();
    let (server, bedrock) = serve(stream("application/vnd.amazon.eventstream", [Step::Bytes(frames)])).await;
    let reply = drain(bedrock.stream(&request).await.unwrap()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.output_tokens), ("hi", 4));
    assert!(server.seen()[0].line.ends_with("/converse-stream HTTP/1.1"));
}

#[tokio::test]
async fn errors_echo_no_secret() {
    let body = json!({"message": format!("The canonical string holds x-amz-security-token:session-token and {SECRET}")});
    let headers = [("x-amzn-errortype", "InvalidSignatureException:http://x")];
    let (_server, bedrock) = serve(answer(403, &headers, &body.to_string())).await;
    let error = bedrock.complete(&request()).await.unwrap_err();
    assert_eq!(error.category, Category::Auth);
    assert_eq!(error.message, "The canonical string holds x-amz-security-token:*** and ***");
}

#[test]
fn credentials_are_asked_for_again_before_they_end() {
    let soon = |seconds| Some(SystemTime::now() + Duration::from_secs(seconds));
    assert!(is_good(&credentials(None)));
    assert!(is_good(&credentials(soon(3600))));
    assert!(!is_good(&credentials(soon(30))));
}
