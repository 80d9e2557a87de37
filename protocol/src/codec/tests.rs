use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::json::JsonWriter;
use super::{AnyResponse, CodecError, Message, Timestamp, json_size, message};
use crate::code::{Code, Status};
use crate::event::{Event, EventBody};
use crate::request::{Call, Request, Tool};
use crate::response::{ErrorBody, Output, Response};
use crate::tool::{Empty, Entry, EntryType, Match, ReadOutput, WriteArguments, WriteMode};
use crate::{Encoding, limits, sample};

const ENCODINGS: [Encoding; 2] = [Encoding::Json, Encoding::MessagePack];

fn written(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    value.serialize(JsonWriter::new(&mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

/// The document of a frame that was appended after `x`.
fn document(encoding: Encoding, out: &[u8]) -> &[u8] {
    let frame = out.strip_prefix(b"x").unwrap();
    match encoding {
        Encoding::Json => {
            let line = frame.strip_suffix(b"\n").unwrap();
            assert!(!line.contains(&b'\n'));
            line
        }
        Encoding::MessagePack => {
            let (length, document) = frame.split_first_chunk().unwrap();
            assert_eq!(u32::from_be_bytes(*length) as usize, document.len());
            document
        }
    }
}

fn response(outcome: Result<Output, ErrorBody>) -> Response {
    Response {
        request_id: "r".into(),
        tool: Some(Tool::Read),
        started_at: UNIX_EPOCH + Duration::new(1_767_323_045, 123_456_789),
        finished_at: UNIX_EPOCH + Duration::new(1_767_323_046, 0),
        duration_ms: 877,
        outcome,
    }
}

fn read(content: String) -> Output {
    Output::Read(ReadOutput {
        content,
        start_offset_bytes: 0,
        returned_bytes: 1,
        next_offset_bytes: 1,
        truncated: false,
        content_sha256: None,
    })
}

/// The response as a client sees it.
fn answered(encoding: Encoding, response: &Response) -> AnyResponse {
    let mut out = b"x".to_vec();
    super::response(encoding, response, &mut out);
    let document = document(encoding, &out);
    assert!(document.len() <= limits::RESPONSE_MAX_BYTES);
    match message(encoding, document).unwrap() {
        Message::Response(response) => response,
        Message::Event(event) => panic!("{event:?}"),
    }
}

#[test]
fn a_response_has_the_nine_members_in_order() {
    let mut out = Vec::new();
    super::response(Encoding::Json, &response(Ok(read("a\n".into()))), &mut out);
    let error = ErrorBody { code: Code::NotFound, message: "no \"x\"".into() };
    super::response(Encoding::Json, &Response { tool: None, ..response(Err(error)) }, &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        concat!(
            r#"{"protocol_version":1,"request_id":"r","tool":"read","status":"completed","#,
            r#""started_at":"2026-01-02T03:04:05.123456789Z","finished_at":"2026-01-02T03:04:06.000000000Z","#,
            r#""duration_ms":877,"output":{"content":"a\n","start_offset_bytes":0,"returned_bytes":1,"#,
            r#""next_offset_bytes":1,"truncated":false},"error":null}"#,
            "\n",
            r#"{"protocol_version":1,"request_id":"r","tool":"","status":"failed","#,
            r#""started_at":"2026-01-02T03:04:05.123456789Z","finished_at":"2026-01-02T03:04:06.000000000Z","#,
            r#""duration_ms":877,"output":null,"error":{"code":"not_found","message":"no \"x\""}}"#,
            "\n",
        ),
    );
}

#[test]
fn a_client_reads_what_was_written() {
    for encoding in ENCODINGS {
        let expected = AnyResponse {
            request_id: "r".into(),
            tool: "read".into(),
            status: Status::Completed,
            started_at: "2026-01-02T03:04:05.123456789Z".into(),
            finished_at: "2026-01-02T03:04:06.000000000Z".into(),
            duration_ms: 877,
            output: Some(json!({"content": "é\0", "start_offset_bytes": 0, "returned_bytes": 1,
                "next_offset_bytes": 1, "truncated": false})),
            error: None,
        };
        assert_eq!(answered(encoding, &response(Ok(read("é\0".into())))), expected);
        let error = ErrorBody { code: Code::Timeout, message: "m".into() };
        let expected =
            AnyResponse { status: Status::TimedOut, output: None, error: Some(error.clone()), ..expected };
        assert_eq!(answered(encoding, &response(Err(error))), expected);
        let empty = answered(encoding, &response(Ok(Output::Empty(Empty {}))));
        assert_eq!(empty.output, Some(json!({})));
    }
}

#[test]
fn a_response_over_the_limit_is_replaced() {
    let overhead = {
        let mut out = Vec::new();
        super::response(Encoding::Json, &response(Ok(read(String::new()))), &mut out);
        out.len() - 1
    };
    let fitting = limits::RESPONSE_MAX_BYTES - overhead;
    assert_eq!(answered(Encoding::Json, &response(Ok(read("x".repeat(fitting))))).status, Status::Completed);
    for (encoding, content) in [
        (Encoding::Json, "x".repeat(fitting + 1)),
        (Encoding::Json, "\u{1}".repeat(1 << 20)),
        (Encoding::MessagePack, "x".repeat(limits::RESPONSE_MAX_BYTES)),
        (Encoding::MessagePack, "x".repeat(1 << 24)),
    ] {
        let answer = answered(encoding, &response(Ok(read(content))));
        assert_eq!((answer.status, answer.output, answer.tool.as_str()), (Status::Failed, None, "read"));
        let error = answer.error.unwrap();
        assert_eq!(error.code, Code::ResponseTooLarge);
        assert!(error.message.contains("4194304") && error.message.contains("may have had effects"));
    }
    // Six bytes for one: the same content fits in MessagePack.
    assert_eq!(
        answered(Encoding::MessagePack, &response(Ok(read("\u{1}".repeat(1 << 20))))).status,
        Status::Completed
    );
}

#[test]
fn a_request_over_the_limit_is_not_sent() {
    let content = "x".repeat(limits::REQUEST_MAX_BYTES);
    let write = WriteArguments {
        path: "a".into(),
        content,
        mode: WriteMode::Create,
        expected_sha256: None,
        parents: None,
        encoding: None,
        overwrite: None,
    };
    let request =
        Request { request_id: "r".into(), workspace: None, stream: false, call: Call::Write(write) };
    for encoding in ENCODINGS {
        let mut out = b"x".to_vec();
        let refused = super::request(encoding, &request, &mut out);
        assert!(
            matches!(refused, Err(CodecError::RequestTooLarge(size)) if size > limits::REQUEST_MAX_BYTES)
        );
        assert_eq!(out, b"x");
    }
}

#[test]
fn times_are_utc_with_nanoseconds() {
    let text = |time| written(&Timestamp(time));
    let at = |seconds, nanos| text(UNIX_EPOCH + Duration::new(seconds, nanos));
    for (seconds, nanos, expected) in [
        (0, 0, "1970-01-01T00:00:00.000000000Z"),
        (951_782_399, 999_999_999, "2000-02-28T23:59:59.999999999Z"),
        (951_782_400, 1, "2000-02-29T00:00:00.000000001Z"),
        (951_868_800, 0, "2000-03-01T00:00:00.000000000Z"),
        (1_709_164_800, 0, "2024-02-29T00:00:00.000000000Z"),
        (1_735_689_599, 0, "2024-12-31T23:59:59.000000000Z"),
        (4_107_542_400, 0, "2100-03-01T00:00:00.000000000Z"),
        (253_402_300_799, 0, "9999-12-31T23:59:59.000000000Z"),
        (253_402_300_800, 0, "9999-12-31T23:59:59.000000000Z"),
    ] {
        assert_eq!(at(seconds, nanos), format!("\"{expected}\""));
    }
    assert_eq!(text(UNIX_EPOCH - Duration::from_secs(1)), "\"1970-01-01T00:00:00.000000000Z\"");
    assert_eq!(text(SystemTime::now()).len(), 32);
}

fn a_match() -> Match {
    Match {
        path: "a/é.rs".into(),
        line: 3,
        column: 1,
        text: "\tlet x = \"y\";\u{1}\u{7f}".into(),
        before: vec!["b".into()],
        after: Vec::new(),
        truncated: true,
    }
}

fn an_entry() -> Entry {
    Entry { path: "a".into(), kind: EntryType::File, size: Some(10), name_lossy: false }
}

#[test]
fn events_come_back_as_they_were() {
    for body in [
        EventBody::Started { pid: 7 },
        EventBody::Stdout { data: (0..=255).collect() },
        EventBody::Stderr { data: Vec::new() },
        EventBody::Stdout { data: vec![0xff; limits::EXEC_CHUNK_MAX_BYTES] },
        EventBody::Matches { matches: vec![a_match(), a_match()] },
        EventBody::Entries { entries: vec![an_entry()] },
        EventBody::SearchProgress { files_scanned: 1, files_skipped: 2 },
        EventBody::ListProgress { entries_seen: 3 },
        EventBody::PluginProgress { progress: 0.5, total: None, message: None },
        EventBody::PluginProgress { progress: 1.0, total: Some(2.0), message: Some("m".into()) },
    ] {
        let event = Event { request_id: "r".into(), seq: 5, body };
        for encoding in ENCODINGS {
            let mut out = b"x".to_vec();
            super::event(encoding, &event, &mut out);
            assert_eq!(message(encoding, document(encoding, &out)), Ok(Message::Event(event.clone())));
        }
    }
}

#[test]
fn data_is_base64_in_json_and_bin_in_messagepack() {
    let event =
        Event { request_id: "r".into(), seq: 0, body: EventBody::Stdout { data: b"\xffab".to_vec() } };
    let mut out = Vec::new();
    super::event(Encoding::Json, &event, &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "{\"protocol_version\":1,\"request_id\":\"r\",\"event\":\"stdout\",\"seq\":0,\"data\":\"/2Fi\"}\n",
    );
    let mut out = Vec::new();
    super::event(Encoding::MessagePack, &event, &mut out);
    assert!(out.ends_with(b"\xa4data\xc4\x03\xffab"));
}

#[test]
fn a_client_outlives_a_newer_daemon() {
    let json = |text: &str| message(Encoding::Json, text.as_bytes());
    let event =
        r#"{"protocol_version":1,"request_id":"r","event":"stdout","seq":0,"data":"YQ==","new":{"a":[]}}"#;
    let body = EventBody::Stdout { data: b"a".to_vec() };
    assert_eq!(json(event), Ok(Message::Event(Event { request_id: "r".into(), seq: 0, body })));
    let unknown = json(&event.replace("stdout", "resized"));
    assert_eq!(unknown, Err(CodecError::UnknownEvent("resized".into())));
    let response = r#"{"request_id":"r","tool":"t","status":"rejected","started_at":"","finished_at":"",
        "duration_ms":0,"output":null,"error":{"code":"too_new","message":"m","x":1},"x":1}"#;
    let Ok(Message::Response(response)) = json(response) else { panic!("no response") };
    let expected = ErrorBody { code: Code::InvalidRequest, message: "too_new: m".into() };
    assert_eq!(response.error, Some(expected));
    for broken in ["", "{}", "[]", r#"{"event":"stdout","request_id":"r","seq":0}"#, &event[..50]] {
        assert!(matches!(json(broken), Err(CodecError::Malformed(_))), "{broken}");
    }
}

#[test]
fn the_size_of_an_item_is_that_of_its_compact_json() {
    for size in [json_size(&a_match()), serde_json::to_string(&a_match()).unwrap().len()] {
        assert_eq!(size, written(&a_match()).len());
    }
    assert_eq!(json_size(&an_entry()), r#"{"path":"a","type":"file","size":10}"#.len());
}

proptest! {
    #[test]
    fn json_is_written_as_serde_json_writes_it(value in sample::json()) {
        prop_assert_eq!(written(&value), serde_json::to_string(&value).unwrap());
        prop_assert_eq!(json_size(&value), serde_json::to_string(&value).unwrap().len());
    }

    #[test]
    fn strings_are_escaped_as_serde_json_escapes_them(text in prop_oneof!["[\\x00-\\x23\\\\é]{0,80}", ".{0,80}", "[a-z\\n\"]{0,80}"]) {
        prop_assert_eq!(written(&text), serde_json::to_string(&text).unwrap());
    }

    #[test]
    fn a_plugin_output_comes_back_in_both_encodings(value in sample::json()) {
        let output = crate::tool::PluginsCallOutput { content: vec![value], structured_content: None, is_error: false };
        for encoding in ENCODINGS {
            let answer = answered(encoding, &response(Ok(Output::PluginsCall(output.clone()))));
            prop_assert_eq!(&answer.output.unwrap()["content"], &Value::from(output.content.clone()));
        }
    }
}
