//! Bytes to calls and back: one file or folder a door. This room knows the runtime's facade and the protocol, no actor and no
//! tool.

mod connection;
mod glance;
mod hangup;
pub mod http;
pub mod mcp;
mod outbox;
mod stdio;
mod unix;

pub use stdio::serve_stdio;
pub use unix::{BindError, SocketListener, default_socket_path};
