//! Messages as a stream: events of theirs to events of ours.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::wire::{Assemble, Queue, make_id, parse_message, text};
use super::super::{Error, StreamEvent, Usage};
use super::{REFUSAL, error_of, usage};

/// The reply so far, as far as it is needed to read on.
#[derive(Default)]
pub(super) struct MessageStream {
    blocks: BTreeMap<u64, Block>,
    usage: Usage,
    stop_reason: String,
}

enum Block {
    Text,
    Call {
        id: String,
        /// The arguments that came with the start of the call, for servers that send them nowhere else.
        whole: String,
    },
}

impl Assemble for MessageStream {
    fn message(&mut self, name: &str, data: &str, events: &mut Queue) -> Result<(), Error> {
        if data.is_empty() {
            return Ok(());
        }
        // Gateways that speak both languages end this one like the other.
        if data == "[DONE]" {
            self.done(events);
            return Ok(());
        }
        let message = parse_message(data)?;
        let index = message.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text(&message, "type").unwrap_or(name) {
            "message_start" => {
                let started = message.get("message").unwrap_or(&Value::Null);
                self.usage = usage(self.usage, started.get("usage").unwrap_or(&Value::Null));
            }
            "content_block_start" => {
                self.start(index, message.get("content_block").unwrap_or(&Value::Null), events)
            }
            "content_block_delta" => self.delta(index, message.get("delta").unwrap_or(&Value::Null), events),
            "content_block_stop" => self.stop(index, events),
            "message_delta" => {
                self.usage = usage(self.usage, message.get("usage").unwrap_or(&Value::Null));
                if let Some(reason) = message.get("delta").and_then(|delta| text(delta, "stop_reason")) {
                    self.stop_reason = reason.to_owned();
                    self.done(events);
                }
            }
            "message_stop" => self.done(events),
            "error" => return Err(error_of(&message)),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _events: &mut Queue) -> Result<(), Error> {
        Ok(())
    }
}

impl MessageStream {
    fn start(&mut self, index: u64, block: &Value, events: &mut Queue) {
        match text(block, "type") {
            Some("text") => {
                self.blocks.insert(index, Block::Text);
                if let Some(text) = text(block, "text") {
                    events.push_back(StreamEvent::Text(text.to_owned()));
                }
            }
            Some("tool_use") => {
                let id = text(block, "id").map_or_else(|| make_id("toolu"), str::to_owned);
                let name = text(block, "name").unwrap_or_default().to_owned();
                let input = block.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
                let whole = input.map(|input| Value::Object(input.clone()).to_string()).unwrap_or_default();
                events.push_back(StreamEvent::ToolStart { id: id.clone(), name, input: String::new() });
                self.blocks.insert(index, Block::Call { id, whole });
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, events: &mut Queue) {
        match (self.blocks.get_mut(&index), text(delta, "type")) {
            (Some(Block::Text), Some("text_delta")) => {
                if let Some(text) = text(delta, "text") {
                    events.push_back(StreamEvent::Text(text.to_owned()));
                }
            }
            (Some(Block::Call { id, whole }), Some("input_json_delta")) => {
                if let Some(input) = text(delta, "partial_json") {
                    whole.clear();
                    events.push_back(StreamEvent::ToolDelta { id: id.clone(), input: input.to_owned() });
                }
            }
            _ => {}
        }
    }

    fn stop(&mut self, index: u64, events: &mut Queue) {
        let Some(Block::Call { id, whole }) = self.blocks.remove(&index) else { return };
        if !whole.is_empty() {
            events.push_back(StreamEvent::ToolDelta { id: id.clone(), input: whole });
        }
        events.push_back(StreamEvent::ToolEnd { id });
    }

    fn done(&mut self, events: &mut Queue) {
        // A call that was not stopped is ended all the same: if its arguments are not whole, that is told to the model.
        let open: Vec<u64> = self.blocks.keys().copied().collect();
        open.into_iter().for_each(|index| self.stop(index, events));
        events.push_back(StreamEvent::Done {
            is_refusal: self.stop_reason == REFUSAL,
            stop_reason: std::mem::take(&mut self.stop_reason),
            usage: self.usage,
        });
    }
}
