//! Converse as a stream: AWS event stream frames to events.

use std::collections::BTreeMap;

use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::Message as Frame;
use serde_json::Value;

use super::super::failure::{self, aws_category};
use super::super::limits::EVENT_MAX_BYTES;
use super::super::wire::{Decode, Queue, make_id, parse_message, text};
use super::super::{Category, Error, StreamEvent, Usage};
use super::converse::{is_refusal, usage};

/// Total length and header length of a frame with their checksum.
const PRELUDE_BYTES: usize = 12;

/// Collects bytes to frames, and what the frames say to events.
#[derive(Default)]
pub(super) struct FrameDecoder {
    buffer: Vec<u8>,
    /// The open calls by their block, with their ids.
    calls: BTreeMap<u64, String>,
    stop_reason: Option<String>,
    usage: Usage,
}

impl Decode for FrameDecoder {
    fn push(&mut self, bytes: &[u8], events: &mut Queue) -> Result<(), Error> {
        self.buffer.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(length) = frame_length(&self.buffer[at..])? {
            let frame = read_message_from(&self.buffer[at..at + length])
                .map_err(|error| Error::server(format!("failed to parse streaming chunk: {error}")))?;
            at += length;
            self.frame(&frame, events)?;
        }
        self.buffer.drain(..at);
        Ok(())
    }

    fn end(&mut self, events: &mut Queue) -> Result<(), Error> {
        // The counters come last, and a reply is whole without them.
        if self.buffer.is_empty() && self.stop_reason.is_some() {
            self.done(events);
        }
        Ok(())
    }
}

/// The length of the frame at the start of `buffer`, once all of it is there.
fn frame_length(buffer: &[u8]) -> Result<Option<usize>, Error> {
    let Some(&[a, b, c, d]) = buffer.get(..PRELUDE_BYTES).and_then(|prelude| prelude.first_chunk()) else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if !(PRELUDE_BYTES..=EVENT_MAX_BYTES).contains(&length) {
        return Err(Error::server(format!("a frame of the stream claims {length} bytes")));
    }
    Ok((buffer.len() >= length).then_some(length))
}

impl FrameDecoder {
    fn frame(&mut self, frame: &Frame, events: &mut Queue) -> Result<(), Error> {
        let header = |name: &str| {
            let header = frame.headers().iter().find(|header| header.name().as_str() == name)?;
            header.value().as_string().ok().map(|value| value.as_str())
        };
        match header(":message-type") {
            Some("event") => {
                let payload = parse_message(&String::from_utf8_lossy(frame.payload()))?;
                self.event(header(":event-type").unwrap_or_default(), &payload, events);
                Ok(())
            }
            Some("exception") => {
                let name = header(":exception-type").unwrap_or_default();
                let payload: Value = serde_json::from_slice(frame.payload()).unwrap_or(Value::Null);
                let message = failure::words(&payload).unwrap_or_else(|| name.to_owned());
                Err(Error::new(aws_category(name).unwrap_or(Category::Server), message))
            }
            Some("error") => {
                let code = header(":error-code").unwrap_or_default();
                let message = header(":error-message").unwrap_or(code).to_owned();
                Err(Error::new(aws_category(code).unwrap_or(Category::Server), message))
            }
            _ => Ok(()),
        }
    }

    fn event(&mut self, kind: &str, payload: &Value, events: &mut Queue) {
        let index = payload.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "contentBlockStart" => {
                let Some(call) = payload.pointer("/start/toolUse") else { return };
                let id = text(call, "toolUseId").map_or_else(|| make_id("tooluse"), str::to_owned);
                let name = text(call, "name").unwrap_or_default().to_owned();
                events.push_back(StreamEvent::ToolStart { id: id.clone(), name, input: String::new() });
                self.calls.insert(index, id);
            }
            "contentBlockDelta" => self.delta(index, payload.get("delta").unwrap_or(&Value::Null), events),
            "contentBlockStop" => {
                if let Some(id) = self.calls.remove(&index) {
                    events.push_back(StreamEvent::ToolEnd { id });
                }
            }
            "messageStop" => {
                self.stop_reason = Some(text(payload, "stopReason").unwrap_or_default().to_owned())
            }
            "metadata" => {
                self.usage = usage(payload);
                if self.stop_reason.is_some() {
                    self.done(events);
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, events: &mut Queue) {
        if let Some(text) = text(delta, "text") {
            events.push_back(StreamEvent::Text(text.to_owned()));
        }
        let input = delta.get("toolUse").and_then(|call| text(call, "input"));
        if let (Some(id), Some(input)) = (self.calls.get(&index), input) {
            events.push_back(StreamEvent::ToolDelta { id: id.clone(), input: input.to_owned() });
        }
    }

    fn done(&mut self, events: &mut Queue) {
        for id in std::mem::take(&mut self.calls).into_values() {
            events.push_back(StreamEvent::ToolEnd { id });
        }
        let stop_reason = self.stop_reason.take().unwrap_or_default();
        let is_refusal = is_refusal(&stop_reason);
        events.push_back(StreamEvent::Done { stop_reason, usage: self.usage, is_refusal });
    }
}
