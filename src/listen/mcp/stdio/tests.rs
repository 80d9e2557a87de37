use rmcp::model::{ErrorCode, RequestId};

use super::flights::Flights;
use crate::capacity::CALLS_MAX;
use crate::listen::mcp::message::{Line, Parameters, cancelled};

fn code(line: &str) -> i32 {
    Line::read(line.as_bytes()).unwrap_err().code.0
}

#[test]
fn a_line_is_a_request_a_notification_or_an_answer() {
    let read = |line: &'static str| Line::read(line.as_bytes()).unwrap();
    assert!(matches!(
        read(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#),
        Line::Request { id: RequestId::Number(1), .. }
    ));
    assert!(
        matches!(read(r#" {"jsonrpc":"2.0","id":"a","method":"\u006d"}"#), Line::Request { method, .. } if method == "m")
    );
    assert!(matches!(
        read(r#"{"jsonrpc":"2.0","method":"m","params":{}}"#),
        Line::Notification { params: Some(_), .. }
    ));
    assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Line::Response));
    // Some answer so what they could not read.
    assert!(matches!(read(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#), Line::Response));
}

#[test]
fn a_bad_line_is_told_from_no_json() {
    let (parse, invalid) = (ErrorCode::PARSE_ERROR.0, ErrorCode::INVALID_REQUEST.0);
    for line in ["", "garbage", "{", "[1", r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#, "\u{7f}"] {
        assert_eq!(code(line), parse, "{line}");
    }
    let table = [
        "[]",
        r#"[50,"ping",{}]"#,
        "1",
        "\"x\"",
        "null",
        r#"{"id":1,"method":"m"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
    ];
    for line in table {
        assert_eq!(code(line), invalid, "{line}");
    }
    assert_eq!(Line::read(b"{\"\xff\":1}").unwrap_err().code, ErrorCode::PARSE_ERROR);
}

#[test]
fn parameters_are_an_object_with_a_name() {
    let read = |params: &'static str| {
        let params = serde_json::from_str(params).unwrap();
        Parameters::read(Some(params)).map(|parameters| parameters.name.into_owned())
    };
    assert_eq!(read(r#"{"name":"t"}"#).unwrap(), "t");
    assert_eq!(read(r#"{"name":"t","arguments":null,"other":1}"#).unwrap(), "t");
    for params in [r#"["t"]"#, "1", "{}", r#"{"name":1}"#, r#"{"name":"t","_meta":[]}"#] {
        assert_eq!(read(params).unwrap_err().code, ErrorCode::INVALID_PARAMS, "{params}");
    }
    assert!(Parameters::read(None).is_err());
}

#[test]
fn a_cancellation_names_a_request() {
    let read = |params: &'static str| cancelled(Some(serde_json::from_str(params).unwrap()));
    assert_eq!(read(r#"{"requestId":7,"reason":"r"}"#), Some(RequestId::Number(7)));
    assert_eq!(read("[7]"), None);
    assert_eq!(cancelled(None), None);
}

#[tokio::test]
async fn an_id_is_taken_until_its_answer_is_out() {
    let flights = Flights::default();
    let id = RequestId::Number(1);
    assert!(flights.begin(&id, 10));
    assert!(!flights.begin(&id, 10));
    flights.end(&id, |out| out.push(b'x'));
    let mut output = Vec::new();
    flights.collect(&mut output);
    assert_eq!(output, b"x");
    assert!(flights.begin(&id, 10));
    let task = tokio::spawn(std::future::pending::<()>());
    flights.carried_by(&id, task.abort_handle());
    assert!(flights.has_calls());
    assert!(flights.cancel(&id));
    assert!(task.await.unwrap_err().is_cancelled());
    flights.end(&id, |_| panic!("a request that was cancelled is not answered"));
    assert!(!flights.has_calls());
}

#[tokio::test]
async fn what_the_sdk_cancels_takes_no_room_any_more() {
    let flights = Flights::default();
    for number in 0..CALLS_MAX as i64 {
        assert!(flights.begin(&RequestId::Number(number), 1));
    }
    assert!(!flights.has_room());
    assert!(!flights.cancel(&RequestId::Number(7)), "the SDK has to hear of it");
    assert!(flights.has_room());
    flights.end(&RequestId::Number(7), |_| panic!("a request that was cancelled is not answered"));
    assert!(flights.begin(&RequestId::Number(7), 1), "the id is free");
}
