//! Events to a reply.

use futures_util::StreamExt as _;

use super::{Arguments, Error, EventStream, Reply, StreamEvent, ToolCall};

/// Collects the events of a stream, for those who want to see each of them and the reply as well.
#[derive(Debug, Default)]
pub struct Drain {
    reply: Reply,
    calls: Vec<OpenCall>,
    is_done: bool,
}

#[derive(Debug)]
struct OpenCall {
    id: String,
    name: String,
    input: String,
    is_ended: bool,
}

impl Drain {
    /// Takes the next event.
    pub fn push(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text(text) => self.reply.text.push_str(&text),
            StreamEvent::ToolStart { id, name, input } => {
                self.calls.push(OpenCall { id, name, input, is_ended: false });
            }
            StreamEvent::ToolDelta { id, input } => {
                if let Some(call) = self.open(&id) {
                    call.input.push_str(&input);
                }
            }
            StreamEvent::ToolEnd { id } => {
                if let Some(call) = self.open(&id) {
                    call.is_ended = true;
                }
            }
            StreamEvent::Done { stop_reason, usage, is_refusal } => {
                self.reply.stop_reason = stop_reason;
                self.reply.usage = usage;
                self.reply.is_refusal = is_refusal;
                self.is_done = true;
            }
        }
    }

    /// The reply. Calls that never ended are left out; arguments that are no JSON object stay the text they are.
    ///
    /// # Errors
    /// `server` when the stream ended before it was done.
    pub fn finish(self) -> Result<Reply, Error> {
        if !self.is_done {
            return Err(Error::server("the stream ended early"));
        }
        let calls = self.calls.into_iter().filter(|call| call.is_ended).map(|call| ToolCall {
            id: call.id,
            name: call.name,
            arguments: Arguments::from_text(&call.input),
        });
        Ok(Reply { calls: calls.collect(), ..self.reply })
    }

    /// The text so far, for those whose stream broke off.
    pub fn text(&self) -> &str {
        &self.reply.text
    }

    fn open(&mut self, id: &str) -> Option<&mut OpenCall> {
        // From the newest on: a server may use an id again in the same reply.
        self.calls.iter_mut().rev().find(|call| call.id == id && !call.is_ended)
    }
}

/// Waits for the whole reply of a stream.
///
/// # Errors
/// The stream's own, and [`Drain::finish`]'s.
pub async fn drain(mut stream: EventStream) -> Result<Reply, Error> {
    let mut drain = Drain::default();
    while let Some(event) = stream.next().await {
        drain.push(event?);
    }
    drain.finish()
}

#[cfg(test)]
mod tests;
