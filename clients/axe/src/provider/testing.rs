//! Streams without a network, in a notation that fits into tables.

use serde_json::json;

use super::wire::{Queue, Wire};
use super::{Arguments, Message, Request, StreamEvent, ToolCall, ToolResult, ToolSpec};

/// What a stream of these bytes brings: one word an event, the last of which may be `error`.
pub(crate) fn events<'a>(wire: &dyn Wire, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let (mut decoder, mut queue, mut words) = (wire.decoder(), Queue::new(), Vec::new());
    // The same order of things as in `http::Reading`.
    let mut pieces = pieces.into_iter();
    loop {
        let piece = pieces.next();
        let outcome = match piece {
            Some(piece) => decoder.push(piece, &mut queue),
            None => decoder.end(&mut queue),
        };
        while let Some(event) = queue.pop_front() {
            words.push(word(&event));
            if matches!(event, StreamEvent::Done { .. }) {
                return words;
            }
        }
        match outcome {
            Err(error) => {
                words.push(format!("error {error}"));
                return words;
            }
            Ok(()) if piece.is_none() => {
                words.push("early".to_owned());
                return words;
            }
            Ok(()) => {}
        }
    }
}

/// The same events however the bytes are split.
#[track_caller]
pub(crate) fn check(wire: &dyn Wire, stream: &str, expected: &[&str]) {
    let numbered = |words: Vec<String>| words.iter().map(|word| without_made_ids(word)).collect::<Vec<_>>();
    assert_eq!(numbered(events(wire, [stream.as_bytes()])), expected, "whole: {stream}");
    assert_eq!(numbered(events(wire, stream.as_bytes().chunks(1))), expected, "byte by byte: {stream}");
    assert_eq!(numbered(events(wire, stream.as_bytes().chunks(7))), expected, "by sevens: {stream}");
}

fn word(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Text(text) => format!("text {text}"),
        StreamEvent::ToolStart { id, name, input } if input.is_empty() => format!("start {id} {name}"),
        StreamEvent::ToolStart { id, name, input } => format!("start {id} {name} {input}"),
        StreamEvent::ToolDelta { id, input } => format!("delta {id} {input}"),
        StreamEvent::ToolEnd { id } => format!("end {id}"),
        StreamEvent::Done { stop_reason, usage, is_refusal } => {
            let cache = match (usage.cache_read_tokens, usage.cache_write_tokens) {
                (0, 0) => String::new(),
                (read, write) => format!(" cache {read}/{write}"),
            };
            let refusal = if *is_refusal { " refusal" } else { "" };
            format!("done {stop_reason} {}/{}{cache}{refusal}", usage.input_tokens, usage.output_tokens)
        }
    }
}

/// Made-up ids are numbered through the process.
fn without_made_ids(word: &str) -> String {
    let mut words: Vec<String> = word.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        for prefix in ["call_", "ollama_", "toolu_"] {
            let number = word.strip_prefix(prefix).filter(|rest| rest.chars().all(|c| c.is_ascii_digit()));
            if number.is_some_and(|number| !number.is_empty()) {
                *word = format!("{prefix}#");
            }
        }
    }
    words.join(" ")
}

/// A request for a few words.
pub(crate) fn request() -> Request {
    Request {
        model: "some-model".to_owned(),
        system: String::new(),
        messages: vec![Message::User("hi".to_owned())],
        tools: Vec::new(),
        temperature: None,
        max_tokens: None,
        response_format: None,
    }
}

/// A request in the midst of a conversation with tools: two calls, one of them malformed, were answered.
pub(crate) fn conversation() -> Request {
    let object = json!({"path": "a.txt", "count": 1_000_000, "list": [1, {"x": null}]});
    let call = |id: &str, name: &str, arguments: Arguments| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
    };
    let result = |id: &str, name: &str, content: &str, is_error| ToolResult {
        call_id: id.to_owned(),
        name: name.to_owned(),
        content: content.to_owned(),
        is_error,
    };
    Request {
        system: "be brief".to_owned(),
        messages: vec![
            Message::User("go".to_owned()),
            Message::Assistant {
                text: String::new(),
                calls: vec![
                    call("id1", "read_file", Arguments::from_value(object)),
                    call("id2", "list_directory", Arguments::from_text("{\"path\": ")),
                ],
            },
            Message::ToolResults(vec![
                result("id1", "read_file", "1: x", false),
                result("id2", "list_directory", "no JSON", true),
            ]),
            Message::Assistant { text: "done".to_owned(), calls: Vec::new() },
            Message::User("more".to_owned()),
        ],
        tools: vec![ToolSpec {
            name: "read_file".to_owned(),
            description: "reads".to_owned(),
            input_schema: json!({"type": "object", "properties": {"path": {"type": "string", "enum": ["a"]}}, "required": ["path"]}),
        }],
        temperature: Some(0.3),
        max_tokens: Some(100),
        ..request()
    }
}
