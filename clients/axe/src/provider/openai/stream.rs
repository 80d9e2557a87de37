//! Chat Completions as a stream: chunks to events.
//!
//! OpenAI puts one thing into a chunk; those who speak like it put several, leave out indexes and ids, or repeat them.

use serde_json::Value;

use super::super::wire::{Assemble, Queue, make_id, parse_message, text};
use super::super::{Error, StreamEvent, Usage};
use super::{CONTENT_FILTER, content, error_in, error_of, usage};

/// The reply so far, as far as it is needed to read on.
#[derive(Default)]
pub(super) struct ChatStream {
    calls: Vec<Call>,
    stop_reason: Option<String>,
    usage: Usage,
    is_refusal: bool,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    /// Empty until it is known; the call starts then.
    name: String,
    /// Arguments that came before the name.
    waiting: String,
    is_ended: bool,
}

impl Assemble for ChatStream {
    fn message(&mut self, name: &str, data: &str, events: &mut Queue) -> Result<(), Error> {
        if data.trim() == "[DONE]" {
            self.done(events);
            return Ok(());
        }
        if data.trim().is_empty() {
            return Ok(());
        }
        let chunk = parse_message(data)?;
        if let Some(error) = error_of(&chunk) {
            return Err(error);
        }
        if name == "error" {
            return Err(error_in(&chunk));
        }
        let counted = chunk.get("usage").filter(|usage| usage.is_object());
        if let Some(counted) = counted {
            self.usage = usage(counted);
        }
        match first_choice(&chunk) {
            Some(choice) => self.choice(choice, events),
            // OpenAI's last chunk but `[DONE]`. Before the reply has finished it would be a progress report.
            None if counted.is_some() && self.stop_reason.is_some() => self.done(events),
            None => {}
        }
        Ok(())
    }

    fn end(&mut self, events: &mut Queue) -> Result<(), Error> {
        // Some servers close instead of saying `[DONE]`; one that gave no reason to stop was cut off.
        if self.stop_reason.is_some() {
            self.done(events);
        }
        Ok(())
    }
}

/// The one with index 0: others are alternatives that nobody asked for.
fn first_choice(chunk: &Value) -> Option<&Value> {
    let choices = chunk.get("choices")?.as_array()?;
    choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

impl ChatStream {
    fn choice(&mut self, choice: &Value, events: &mut Queue) {
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        let content = content(delta.get("content").unwrap_or(&Value::Null));
        if !content.is_empty() {
            events.push_back(StreamEvent::Text(content));
        }
        if let Some(refusal) = text(delta, "refusal") {
            self.is_refusal = true;
            events.push_back(StreamEvent::Text(refusal.to_owned()));
        }
        let entries =
            delta.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (position, entry) in entries.iter().enumerate() {
            let position = (entries.len() > 1).then_some(position);
            self.fragment(entry, position, events);
        }
        // Last, for it may come with the last delta.
        if let Some(reason) = text(choice, "finish_reason") {
            self.stop_reason = Some(reason.to_owned());
            self.is_refusal |= reason == CONTENT_FILTER;
            self.end_calls(events);
        }
    }

    fn fragment(&mut self, entry: &Value, position: Option<usize>, events: &mut Queue) {
        let index = entry.get("index").and_then(Value::as_u64);
        let id = text(entry, "id");
        let function = entry.get("function").unwrap_or(&Value::Null);
        let name = text(function, "name");
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(value) => value.to_string(),
        };
        let at = self.find(index, id, name, position).unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.is_ended {
            return;
        }
        if call.name.is_empty() {
            if call.id.is_empty() {
                call.id = id.unwrap_or_default().to_owned();
            }
            call.waiting.push_str(&arguments);
            let Some(name) = name else { return };
            call.start(name, events);
        } else if !arguments.is_empty() {
            events.push_back(StreamEvent::ToolDelta { id: call.id.clone(), input: arguments });
        }
    }

    /// The call that a fragment belongs to; None for a new one.
    fn find(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        position: Option<usize>,
    ) -> Option<usize> {
        let last = |matches: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(matches);
        match (index, id) {
            // There are servers that give every call index 0, and servers that give every fragment an id of its own:
            // only a name along with the new id makes a new call.
            (Some(index), Some(id)) if name.is_some() => {
                last(&|call| call.index == Some(index) && (call.id == id || call.id.is_empty()))
            }
            (Some(index), _) => last(&|call| call.index == Some(index)),
            (None, Some(id)) => last(&|call| call.id == id),
            (None, None) if name.is_some() => None,
            (None, None) => position.or(self.calls.len().checked_sub(1)).filter(|&at| at < self.calls.len()),
        }
    }

    fn end_calls(&mut self, events: &mut Queue) {
        let mut open: Vec<&mut Call> =
            self.calls.iter_mut().filter(|call| !call.is_ended && !call.name.is_empty()).collect();
        // Stable: calls without an index keep their order, behind the others.
        open.sort_by_key(|call| call.index.unwrap_or(u64::MAX));
        for call in open {
            call.is_ended = true;
            events.push_back(StreamEvent::ToolEnd { id: call.id.clone() });
        }
    }

    fn done(&mut self, events: &mut Queue) {
        self.end_calls(events);
        events.push_back(StreamEvent::Done {
            stop_reason: self.stop_reason.take().unwrap_or_default(),
            usage: self.usage,
            is_refusal: self.is_refusal,
        });
    }
}

impl Call {
    fn start(&mut self, name: &str, events: &mut Queue) {
        if self.id.is_empty() {
            self.id = make_id("call");
        }
        self.name = name.to_owned();
        events.push_back(StreamEvent::ToolStart {
            id: self.id.clone(),
            name: self.name.clone(),
            input: String::new(),
        });
        if !self.waiting.is_empty() {
            events.push_back(StreamEvent::ToolDelta {
                id: self.id.clone(),
                input: std::mem::take(&mut self.waiting),
            });
        }
    }
}
