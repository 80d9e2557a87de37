//! What a wire format has to know: how a request is written, a reply read, a stream put together.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::lines::{Events, Lines, TooLong};
use super::{Error, Reply, Request, StreamEvent};

/// One wire format. It does no I/O.
pub(crate) trait Wire: Send + Sync {
    /// The body of a request.
    fn body(&self, request: &Request, is_streamed: bool) -> Value;

    /// The reply to `request` in a body that came back with a good status.
    fn reply(&self, request: &Request, body: &Value) -> Result<Reply, Error>;

    /// Reads one stream.
    fn decoder(&self) -> Box<dyn Decode>;

    /// Whether JSON as the type of a stream's content means that the server did not stream.
    fn takes_json_for_whole(&self) -> bool {
        true
    }
}

/// Events on their way out.
pub(crate) type Queue = VecDeque<StreamEvent>;

/// Bytes of one stream to events. Whoever calls it stops at [`StreamEvent::Done`], and takes an end without one for a stream
/// that ended early.
pub(crate) trait Decode: Send {
    /// Takes bytes as they come, in pieces of any size.
    fn push(&mut self, bytes: &[u8], events: &mut Queue) -> Result<(), Error>;

    /// The connection was closed.
    fn end(&mut self, events: &mut Queue) -> Result<(), Error>;
}

/// Messages of one stream to events, once the framing is taken off.
pub(crate) trait Assemble: Send {
    /// One message and the name that the framing gives it; may be empty.
    fn message(&mut self, name: &str, data: &str, events: &mut Queue) -> Result<(), Error>;

    /// The connection was closed.
    fn end(&mut self, events: &mut Queue) -> Result<(), Error>;
}

/// Messages framed as server-sent events.
pub(crate) struct EventFrames<A> {
    frames: Events,
    assembler: A,
}

impl<A: Assemble + 'static> EventFrames<A> {
    pub(crate) fn boxed(assembler: A) -> Box<dyn Decode> {
        Box::new(Self { frames: Events::default(), assembler })
    }
}

impl<A: Assemble> Decode for EventFrames<A> {
    fn push(&mut self, bytes: &[u8], events: &mut Queue) -> Result<(), Error> {
        let mut frames = Vec::new();
        let pushed = self.frames.push(bytes, &mut frames);
        frames.iter().try_for_each(|frame| self.assembler.message(&frame.name, &frame.data, events))?;
        pushed.map_err(too_long)
    }

    fn end(&mut self, events: &mut Queue) -> Result<(), Error> {
        let mut frames = Vec::new();
        self.frames.finish(&mut frames).map_err(too_long)?;
        frames.iter().try_for_each(|frame| self.assembler.message(&frame.name, &frame.data, events))?;
        self.assembler.end(events)
    }
}

/// Messages framed as lines.
pub(crate) struct LineFrames<A> {
    lines: Lines,
    assembler: A,
}

impl<A: Assemble + 'static> LineFrames<A> {
    pub(crate) fn boxed(assembler: A) -> Box<dyn Decode> {
        Box::new(Self { lines: Lines::default(), assembler })
    }

    fn each(&mut self, lines: &[String], events: &mut Queue) -> Result<(), Error> {
        let mut filled = lines.iter().filter(|line| !line.trim().is_empty());
        filled.try_for_each(|line| self.assembler.message("", line, events))
    }
}

impl<A: Assemble + 'static> Decode for LineFrames<A> {
    fn push(&mut self, bytes: &[u8], events: &mut Queue) -> Result<(), Error> {
        let mut lines = Vec::new();
        let pushed = self.lines.push(bytes, &mut lines);
        self.each(&lines, events)?;
        pushed.map_err(too_long)
    }

    fn end(&mut self, events: &mut Queue) -> Result<(), Error> {
        let last: Vec<String> = self.lines.finish().into_iter().collect();
        self.each(&last, events)?;
        self.assembler.end(events)
    }
}

fn too_long(_: TooLong) -> Error {
    Error::server(format!("an event of the stream exceeds {} bytes", super::limits::EVENT_MAX_BYTES))
}

/// A message of a stream as JSON.
pub(crate) fn parse_message(data: &str) -> Result<Value, Error> {
    serde_json::from_str(data)
        .map_err(|error| Error::server(format!("failed to parse streaming chunk: {error}")))
}

/// The events of a reply that came whole although a stream was asked for.
pub(crate) fn events_of(reply: Reply) -> Queue {
    let mut events = Queue::new();
    if !reply.text.is_empty() {
        events.push_back(StreamEvent::Text(reply.text));
    }
    for call in reply.calls {
        let (id, input) = (call.id, call.arguments.to_text());
        events.push_back(StreamEvent::ToolStart { id: id.clone(), name: call.name, input });
        events.push_back(StreamEvent::ToolEnd { id });
    }
    events.push_back(StreamEvent::Done {
        stop_reason: reply.stop_reason,
        usage: reply.usage,
        is_refusal: reply.is_refusal,
    });
    events
}

/// An id for a call whose server gave it none, unique in this process.
pub(crate) fn make_id(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{prefix}_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A member that is a string and not empty.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// A member that counts; anything else counts nothing.
pub(crate) fn count(value: &Value, name: &str) -> u64 {
    // Some servers count in floating point.
    value
        .get(name)
        .and_then(|count| count.as_u64().or_else(|| count.as_f64().map(|count| count as u64)))
        .unwrap_or(0)
}

/// The members of `object` and those of `extra` that have a value.
pub(crate) fn with_present<const N: usize>(mut object: Value, extra: [(&str, Option<Value>); N]) -> Value {
    for (name, value) in extra {
        if let Some(value) = value {
            object[name] = value;
        }
    }
    object
}

/// A temperature that was chosen: 0 stands for the provider's own choice.
pub(crate) fn temperature(request: &Request) -> Option<Value> {
    request.temperature.filter(|&temperature| temperature != 0.0).map(Value::from)
}

/// A cap that was chosen: 0 stands for the provider's own choice.
pub(crate) fn max_tokens(request: &Request) -> Option<u64> {
    request.max_tokens.filter(|&tokens| tokens != 0)
}

/// None where there is nothing.
pub(crate) fn unless_empty<T>(list: Vec<T>) -> Option<Value>
where
    Value: From<Vec<T>>,
{
    if list.is_empty() { None } else { Some(Value::from(list)) }
}
