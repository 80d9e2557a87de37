use futures_util::stream;

use super::{Drain, drain};
use crate::provider::{Arguments, Error, StreamEvent, Usage};

fn start(id: &str, input: &str) -> StreamEvent {
    StreamEvent::ToolStart { id: id.to_owned(), name: format!("tool_{id}"), input: input.to_owned() }
}

fn delta(id: &str, input: &str) -> StreamEvent {
    StreamEvent::ToolDelta { id: id.to_owned(), input: input.to_owned() }
}

fn end(id: &str) -> StreamEvent {
    StreamEvent::ToolEnd { id: id.to_owned() }
}

fn done() -> StreamEvent {
    let usage = Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() };
    StreamEvent::Done { stop_reason: "stop".to_owned(), usage, is_refusal: false }
}

fn text(text: &str) -> StreamEvent {
    StreamEvent::Text(text.to_owned())
}

#[tokio::test]
async fn events_make_a_reply() {
    let events = [
        text("a"),
        start("1", "{"),
        text("b"),
        start("2", ""),
        delta("1", "\"x\":1"),
        delta("2", "{\"cut\":"),
        delta("1", "}"),
        end("2"),
        start("3", ""),
        end("1"),
        start("4", ""),
        delta("4", "{}"),
        end("3"),
        delta("nobody", "x"),
        end("nobody"),
        done(),
    ];
    let reply = drain(Box::pin(stream::iter(events.map(Ok)))).await.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.stop_reason.as_str(), reply.usage.output_tokens),
        ("ab", "stop", 2)
    );
    let calls: Vec<_> = reply.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect();
    let call = |id: &str, arguments| (id.to_owned(), format!("tool_{id}"), arguments);
    assert_eq!(
        calls,
        [
            call("1", Arguments::from_text("{\"x\":1}")),
            call("2", Arguments::Malformed("{\"cut\":".to_owned())),
            call("3", Arguments::from_text("{}")),
            // The fourth never ended.
        ]
    );
}

#[tokio::test]
async fn an_error_and_an_early_end_are_no_reply() {
    let failed = drain(Box::pin(stream::iter([Ok(text("a")), Err(Error::server("oops"))]))).await;
    assert_eq!(failed, Err(Error::server("oops")));
    let mut early = Drain::default();
    early.push(text("half"));
    assert_eq!(early.text(), "half");
    assert_eq!(early.finish(), Err(Error::server("the stream ended early")));
}

#[test]
fn arguments_are_read_as_they_were_meant() {
    let object = |text: &str| Arguments::Object(serde_json::from_str(text).unwrap());
    for (text, expected) in [
        ("", object("{}")),
        (" ", object("{}")),
        ("null", object("{}")),
        (
            r#"{"n":1000000,"f":0.5,"l":[1],"o":{"x":null}}"#,
            object(r#"{"n":1000000,"f":0.5,"l":[1],"o":{"x":null}}"#),
        ),
        (r#""{\"a\":1}""#, object(r#"{"a":1}"#)),
        ("[1]", Arguments::Malformed("[1]".to_owned())),
        ("7", Arguments::Malformed("7".to_owned())),
        (r#"{"a":"#, Arguments::Malformed(r#"{"a":"#.to_owned())),
        (r#"{} trailing"#, Arguments::Malformed("{} trailing".to_owned())),
    ] {
        assert_eq!(Arguments::from_text(text), expected, "{text}");
    }
}
