//! Model providers: one small trait, one file a wire format.
//!
//! This room knows no agents and no tools: a [`Request`] holds all that a model is told, a [`Reply`] all that it says.

mod anthropic;
mod bedrock;
mod connect;
mod drain;
mod error;
mod event;
mod failure;
mod http;
pub mod limits;
pub(crate) mod lines;
mod message;
mod ollama;
mod openai;
mod opencode;
mod responses;
mod wire;

use std::pin::Pin;

pub use connect::{BUILT_IN, ConnectError, Settings, connect, in_variable, key_variable};
pub use drain::{Drain, drain};
pub use error::{Category, Error};
pub use event::StreamEvent;
pub use message::{
    Arguments, Message, Reply, Request, ResponseFormat, ToolCall, ToolResult, ToolSpec, Usage,
};

/// A future that lives on the heap.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The events of one streamed reply, in order. It ends after [`StreamEvent::Done`]; a stream that breaks off before
/// yields an error, never a quiet end. Dropping it closes the connection.
pub type EventStream = Pin<Box<dyn futures_util::Stream<Item = Result<StreamEvent, Error>> + Send>>;

/// One model provider. Deadlines are the caller's: dropping the future ends the request.
pub trait Provider: Send + Sync {
    /// Sends a request and waits for the whole reply.
    ///
    /// # Errors
    /// See [`Category`]; the message is fit for a person and holds no key.
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, Error>>;

    /// Sends a request and returns once its first bytes are there. An error here means that no event was delivered.
    ///
    /// # Errors
    /// As for [`Provider::complete`].
    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, Error>>;
}

#[cfg(test)]
pub(crate) mod testing;
