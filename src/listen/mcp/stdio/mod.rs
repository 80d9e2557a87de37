//! One client on stdin and stdout, one message a line.
//!
//! The SDK keeps the protocol's lifecycle: this door is a transport to it (`door.rs`, `desk.rs`). Calls of tools, which are nearly
//! all there is, take a shorter way: they are read straight into a call (`../message.rs`), and one that the runtime
//! answers at once is answered from the very buffer that it came in, without a task, a channel or a tree of JSON values
//! on its way. The bounds are those of a connection on the socket, and a message that is no good is answered too.

mod desk;
mod door;
mod flights;
mod streams;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;

use self::door::Door;
use super::caller::Caller;
use super::handler::Handler;
use super::service::Service;

/// Serves the client on stdin and stdout until its input ends and its calls are answered, until nobody reads stdout any
/// more, or until `stop` returns. To be called once in a process.
pub async fn serve_stdio<C: Caller>(service: Service<C>, stop: impl Future<Output = ()>) {
    let service = Arc::new(service);
    let door = Door::new(service.clone(), streams::input(), streams::output());
    let serving = async {
        match Handler(service).serve(door).await {
            Ok(running) => drop(running.waiting().await),
            // It left before it said what it wanted.
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => tracing::warn!(%error, "the client's beginning was not understood"),
        }
    };
    tokio::select! {
        () = serving => {}
        () = stop => {}
    }
}
