use std::time::SystemTime;

use axlr_protocol::tool::Empty;
use axlr_protocol::{EventBody, Output, Tool};

use super::*;

fn response(id: &str) -> Response {
    let now = SystemTime::now();
    Response {
        request_id: id.to_owned(),
        tool: Some(Tool::Exec),
        started_at: now,
        finished_at: now,
        duration_ms: 0,
        outcome: Ok(Output::Empty(Empty {})),
    }
}

fn event(id: &str, bytes: usize) -> Event {
    Event { request_id: id.to_owned(), seq: 0, body: EventBody::Stdout { data: vec![b'x'; bytes] } }
}

/// The ids of everything that waits, in the order in which it would be written.
fn order(outbox: &Outbox) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let mut output = Vec::new();
        outbox.collect(&mut output);
        if output.is_empty() {
            return ids;
        }
        for line in output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let message: serde_json::Value = serde_json::from_slice(line).unwrap();
            let kind = if message.get("event").is_some() { "event" } else { "response" };
            ids.push(format!("{kind} {}", message["request_id"].as_str().unwrap()));
        }
        outbox.written(output.len());
    }
}

#[test]
fn a_response_overtakes_the_events_of_others_and_never_its_own() {
    let outbox = Outbox::default();
    outbox.event(1, &event("a", 10));
    outbox.event(1, &event("a", 10));
    outbox.respond(1, &response("a"));
    outbox.event(2, &event("b", 10));
    outbox.respond(3, &response("c"));
    assert_eq!(order(&outbox), ["response c", "event a", "event a", "response a", "event b"]);
    assert!(outbox.is_empty());
    // With nothing of its own ahead a response is urgent again.
    outbox.event(2, &event("b", 10));
    outbox.respond(1, &response("a"));
    assert_eq!(order(&outbox), ["response a", "event b"]);
}

#[tokio::test]
async fn room_comes_back_when_enough_is_written() {
    let outbox = Outbox::default();
    while outbox.has_room() {
        outbox.event(1, &event("a", 60_000));
    }
    let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), outbox.room());
    assert!(waiting.await.is_err());
    let (room, made_room) = tokio::join!(outbox.room(), async { outbox.written(200_000) });
    assert_eq!((room, made_room), ((), true));
}
