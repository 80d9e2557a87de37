//! Responses as a stream: events of theirs to events of ours.

use serde_json::Value;

use super::super::openai::error_in;
use super::super::wire::{Assemble, Queue, parse_message, text};
use super::super::{Error, StreamEvent};
use super::{call_id, usage};

/// The reply so far, as far as it is needed to read on.
#[derive(Default)]
pub(super) struct ResponseStream {
    calls: Vec<Call>,
    is_refusal: bool,
}

struct Call {
    /// By which the stream's events know it.
    item_id: String,
    output_index: Option<u64>,
    /// By which the conversation knows it.
    call_id: String,
    has_arguments: bool,
}

impl Assemble for ResponseStream {
    fn message(&mut self, name: &str, data: &str, events: &mut Queue) -> Result<(), Error> {
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let message = parse_message(data)?;
        match text(&message, "type").unwrap_or(name) {
            // The second is what some gateways call it.
            "response.output_text.delta" | "response.content_part.delta" => self.text(&message, events),
            "response.refusal.delta" => {
                self.is_refusal = true;
                self.text(&message, events);
            }
            "response.output_item.added" => self.added(&message, events),
            "response.function_call_arguments.delta" => self.arguments(&message, events),
            "response.output_item.done" => self.finished(&message, events),
            kind @ ("response.completed" | "response.incomplete") => self.done(&message, kind, events),
            "response.failed" => {
                let response = message.get("response").unwrap_or(&Value::Null);
                return Err(error_in(response.get("error").unwrap_or(response)));
            }
            "error" => {
                return Err(error_in(
                    message.get("error").filter(|error| error.is_object()).unwrap_or(&message),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, _events: &mut Queue) -> Result<(), Error> {
        Ok(())
    }
}

impl ResponseStream {
    fn text(&mut self, message: &Value, events: &mut Queue) {
        let delta = text(message, "delta").or_else(|| text(message.get("delta")?, "text"));
        if let Some(delta) = delta {
            events.push_back(StreamEvent::Text(delta.to_owned()));
        }
    }

    fn added(&mut self, message: &Value, events: &mut Queue) {
        let Some(item) = function_call(message) else { return };
        let call = Call {
            item_id: text(item, "id").unwrap_or_default().to_owned(),
            output_index: message.get("output_index").and_then(Value::as_u64),
            call_id: call_id(item),
            has_arguments: false,
        };
        let name = text(item, "name").unwrap_or_default().to_owned();
        events.push_back(StreamEvent::ToolStart { id: call.call_id.clone(), name, input: String::new() });
        self.calls.push(call);
    }

    fn arguments(&mut self, message: &Value, events: &mut Queue) {
        let Some(delta) = text(message, "delta").map(str::to_owned) else { return };
        let Some(at) = self.find(text(message, "item_id"), message) else { return };
        self.calls[at].has_arguments = true;
        events.push_back(StreamEvent::ToolDelta { id: self.calls[at].call_id.clone(), input: delta });
    }

    fn finished(&mut self, message: &Value, events: &mut Queue) {
        let Some(item) = function_call(message) else { return };
        if self.find(text(item, "id"), message).is_none() {
            // Announced by nobody: the item holds all that is needed.
            self.added(message, events);
        }
        let Some(at) = self.find(text(item, "id"), message) else { return };
        let call = self.calls.remove(at);
        if let Some(arguments) = text(item, "arguments").filter(|_| !call.has_arguments) {
            events
                .push_back(StreamEvent::ToolDelta { id: call.call_id.clone(), input: arguments.to_owned() });
        }
        events.push_back(StreamEvent::ToolEnd { id: call.call_id });
    }

    fn done(&mut self, message: &Value, kind: &str, events: &mut Queue) {
        for call in self.calls.drain(..) {
            events.push_back(StreamEvent::ToolEnd { id: call.call_id });
        }
        let response = message.get("response").unwrap_or(&Value::Null);
        let status = text(response, "status").unwrap_or_else(|| kind.trim_start_matches("response."));
        events.push_back(StreamEvent::Done {
            stop_reason: status.to_owned(),
            usage: usage(response),
            is_refusal: self.is_refusal,
        });
    }

    /// An open call by its item, or by its place where the gateway makes up a new id for every event.
    fn find(&self, item_id: Option<&str>, message: &Value) -> Option<usize> {
        let index = message.get("output_index").and_then(Value::as_u64);
        let by_id = self.calls.iter().position(|call| Some(call.item_id.as_str()) == item_id);
        by_id.or_else(|| self.calls.iter().position(|call| index.is_some() && call.output_index == index))
    }
}

fn function_call(message: &Value) -> Option<&Value> {
    message.get("item").filter(|item| text(item, "type") == Some("function_call"))
}
