//! The async client of axlrd: connect, call, stream, cancel.
//!
//! A [`Client`] is one connection. It is cheap to clone, and any number of tasks may have requests in flight on it at
//! once; each response finds its request by the id that the client gave it. Tools that work in a directory are methods
//! of a [`Workspace`], the daemon's own are methods of the [`Client`].
//!
//! ```no_run
//! use axlr_client::{Client, Encoding, EventBody, tool::{ExecArguments, ReadArguments}};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect(axlr_client::default_socket_path(), Encoding::MessagePack).await?;
//! let project = client.open("/home/me/project").await?;
//!
//! let page = project.read(ReadArguments { path: "README.md".into(), ..Default::default() }).await?;
//! println!("{}", page.content);
//!
//! let cargo = ExecArguments {
//!     program: "cargo".into(),
//!     args: Some(vec!["test".into()]),
//!     ..Default::default()
//! };
//! let mut running = project.start(axlr_client::Call::Exec(cargo)).await?;
//! while let Some(event) = running.next_event().await {
//!     if let EventBody::Stdout { data } = event {
//!         print!("{}", String::from_utf8_lossy(&data));
//!     }
//! }
//! let response = running.response().await?;
//! println!("{:?} after {} ms", response.status, response.duration_ms);
//! # Ok(())
//! # }
//! ```
//!
//! # What is dropped is cancelled
//! Dropping the future of a call, or a [`Running`], before its response has come cancels the request in the daemon.
//! `tokio::time::timeout` around a call therefore ends the work too, not only the waiting for it.
//!
//! # Streams and memory
//! At most [`EVENTS_WAITING`] events of one request wait to be taken by [`Running::next_event`]. When they wait, the
//! connection is not read until one is taken or the `Running` is dropped, so that the daemon in turn stops the stream
//! down to the child's pipe. Nothing grows without bound; the price is that a stream nobody takes from holds up the
//! responses of the other requests on its connection. Take events in a task of their own while another writes (see
//! [`Running::control`]), or give a slow consumer a connection of its own.
//!
//! Source: SPEC §2 to §7.

mod call;
mod connection;
mod error;
mod outgoing;
mod running;
mod socket;
#[cfg(test)]
mod tests;
mod workspace;

pub use axlr_protocol::codec::AnyResponse;
pub use axlr_protocol::{Call, Code, Encoding, ErrorBody, EventBody, Status, Tool, limits, tool};
pub use connection::{Client, EVENTS_WAITING};
pub use error::{CallError, ConnectError};
pub use running::{Control, Running};
pub use socket::{connect_blocking, default_socket_path};
pub use workspace::Workspace;
