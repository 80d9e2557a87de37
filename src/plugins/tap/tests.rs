use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ListToolsRequest, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use serde_json::json;

use super::*;

fn tap() -> Arc<Tap> {
    Tap::new(Arc::new(Log::new("p")), Veil::default())
}

fn heard(tap: &Tap, value: &serde_json::Value) -> Option<ServerJsonRpcMessage> {
    match tap.hear(value.to_string().as_bytes(), &mut |answer| panic!("answered {answer}")) {
        Heard::Message(message) => Some(*message),
        Heard::Nothing => None,
        Heard::Noise => panic!("{value} is no message"),
    }
}

/// A call under this id, as the SDK sends it; and what is written for it.
fn call(tap: &Tap, id: i64, progress: Option<Progress>) -> (serde_json::Value, oneshot::Receiver<Written>) {
    let (wanted, written) = Wanted::new(progress);
    let mut call = CallToolRequest::new(CallToolRequestParams::new("t"));
    call.extensions.insert(wanted);
    (sent(tap, id, ClientRequest::CallToolRequest(call)), written)
}

fn sent(tap: &Tap, id: i64, mut request: ClientRequest) -> serde_json::Value {
    request.get_meta_mut().set_progress_token(ProgressToken(NumberOrString::Number(77)));
    let mut message = ClientJsonRpcMessage::request(request, NumberOrString::Number(id));
    let outgoing = tap.outgoing(&mut message);
    assert!(tap.leaves(&outgoing));
    serde_json::to_value(&message).unwrap()
}

fn answer(id: impl Into<serde_json::Value>, result: serde_json::Value) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

#[test]
fn a_result_is_handed_over_as_it_was_written_and_once() {
    let tap = tap();
    let (text, mut written) = call(&tap, 1, None);
    assert_eq!(text["params"].get("_meta"), None, "nobody wants progress");
    let typed = heard(&tap, &answer("1", json!({"content": [{"type": "hologram"}]})));
    assert!(
        matches!(&typed, Some(ServerJsonRpcMessage::Response(answer)) if answer.id == NumberOrString::Number(1))
    );
    assert_eq!(written.try_recv().unwrap().unwrap().get(), r#"{"content":[{"type":"hologram"}]}"#);
    assert!(heard(&tap, &answer(1, json!({}))).is_none());
    assert!(heard(&tap, &answer(99, json!({}))).is_none());
}

#[test]
fn the_sdk_gets_types_where_it_needs_them_and_a_stand_in_where_it_would_fail() {
    let tap = tap();
    let list = || ClientRequest::ListToolsRequest(ListToolsRequest::default());
    let read = |id, result| {
        sent(&tap, id, list());
        match heard(&tap, &answer(id, result)) {
            Some(ServerJsonRpcMessage::Response(answer)) => answer.result,
            other => panic!("{other:?}"),
        }
    };
    let good = read(1, json!({"tools": [{"name": "a", "inputSchema": {}}]}));
    assert!(matches!(good, ServerResult::ListToolsResult(_)));
    assert!(matches!(read(2, json!(null)), ServerResult::EmptyResult(_)));
    sent(&tap, 3, list());
    let error = json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "m"}});
    assert!(matches!(heard(&tap, &error), Some(ServerJsonRpcMessage::Error(_))));
}

#[test]
fn an_answer_to_what_was_given_up_ends_here() {
    let tap = tap();
    let (_, mut written) = call(&tap, 1, None);
    let params = CancelledNotificationParam::new(Some(NumberOrString::Number(1)), None);
    let mut cancelled = ClientJsonRpcMessage::notification(CancelledNotification::new(params).into());
    tap.outgoing(&mut cancelled);
    assert!(heard(&tap, &answer(1, json!({}))).is_none());
    assert!(written.try_recv().is_err());
}

#[test]
fn what_never_left_need_not_be_taken_back() {
    let tap = tap();
    let request = || ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("t")));
    let outgoing = |mut message: ClientJsonRpcMessage| tap.outgoing(&mut message);
    let cancelled = |id| {
        let params = CancelledNotificationParam::new(Some(NumberOrString::Number(id)), None);
        outgoing(ClientJsonRpcMessage::notification(CancelledNotification::new(params).into()))
    };
    let waits = outgoing(ClientJsonRpcMessage::request(request(), NumberOrString::Number(1)));
    assert!(!tap.leaves(&cancelled(1)) && !tap.leaves(&waits));
    let goes = outgoing(ClientJsonRpcMessage::request(request(), NumberOrString::Number(2)));
    assert!(tap.leaves(&goes) && tap.leaves(&cancelled(2)));
    assert!(tap.leaves(&cancelled(3)), "what was answered meanwhile did leave");
}

#[test]
fn progress_reaches_its_call_and_a_full_queue_holds_nobody_up() {
    let tap = tap();
    let (sender, mut progress) = mpsc::channel(2);
    let (text, _written) = call(&tap, 5, Some(sender));
    assert_eq!(text["params"]["_meta"]["progressToken"], 5);
    let told = |token: serde_json::Value, progress: f64| {
        let params = json!({"progressToken": token, "progress": progress, "message": "m"});
        assert!(
            heard(&tap, &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
                .is_none()
        );
    };
    told(json!(77), 9.0);
    told(json!("x"), 9.0);
    (0..10).for_each(|number| told(json!("5"), f64::from(number)));
    heard(&tap, &answer(5, json!({})));
    told(json!(5), 9.0);
    let mut seen = Vec::new();
    while let Ok(EventBody::PluginProgress { progress, total: None, .. }) = progress.try_recv() {
        seen.push(progress);
    }
    assert_eq!(seen, [0.0, 1.0]);
}

#[test]
fn of_notifications_the_sdk_hears_only_what_concerns_a_subscription() {
    let tap = tap();
    let note = |method: &str, params: serde_json::Value| {
        heard(&tap, &json!({"jsonrpc": "2.0", "method": method, "params": params})).is_some()
    };
    let acknowledged = || {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": 4});
        note("notifications/subscriptions/acknowledged", json!({"_meta": meta, "notifications": {}}))
    };
    assert!(!note("notifications/message", json!({"level": "info", "data": "x"})));
    assert!(!note("notifications/tools/list_changed", json!({})));
    assert_eq!(tap.changes(), 1);
    assert!(!acknowledged());
    let params = SubscriptionsListenRequestParams::new(Default::default());
    sent(&tap, 4, ClientRequest::SubscriptionsListenRequest(SubscriptionsListenRequest::new(params)));
    assert!(acknowledged() && !acknowledged());
    assert!(!note("notifications/cancelled", json!({"requestId": 3})));
    assert!(note("notifications/cancelled", json!({"requestId": 4})));
    assert!(!note("notifications/cancelled", json!({"requestId": 4})));
}

#[test]
fn questions_are_answered_at_once() {
    let tap = tap();
    let mut answers = Vec::new();
    let question = br#"{"jsonrpc":"2.0","id":"q","method":"ping"}"#;
    assert!(matches!(tap.hear(question, &mut |answer| answers.push(answer)), Heard::Nothing));
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"ping"}}"#, "x".repeat(1_000));
    tap.hear(long.as_bytes(), &mut |answer| answers.push(answer));
    assert_eq!(answers, [r#"{"jsonrpc":"2.0","id":"q","result":{}}"#]);
    assert!(matches!(tap.hear(b"noise", &mut |_| {}), Heard::Noise));
}

#[tokio::test]
async fn the_end_is_told_once() {
    let tap = tap();
    let (_, mut written) = call(&tap, 1, None);
    tap.end(Trouble::broken("gone"));
    tap.end(Trouble::broken("gone again"));
    assert_eq!(tap.until_ended().await.to_string(), "gone");
    assert!(written.try_recv().is_err());
    assert!(heard(&tap, &answer(1, json!({}))).is_none());
}

#[test]
fn an_error_is_shown_without_what_a_terminal_obeys_and_is_told_to_whoever_waits() {
    let tap = tap();
    let (_, mut written) = call(&tap, 1, None);
    let error = json!({"code": -5, "message": " a\u{7}b "});
    heard(&tap, &json!({"jsonrpc": "2.0", "id": 1, "error": error}));
    assert_eq!(written.try_recv().unwrap().unwrap_err().to_string(), r"it answered with error -5: a\u{7}b");
}
