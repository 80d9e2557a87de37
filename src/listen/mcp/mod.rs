//! The tools as a server of the Model Context Protocol.
//!
//! ```text
//! stdio/     one client on stdin and stdout        ─┐
//!                                                   ├─ service.rs ── caller.rs ── local.rs: a session of the runtime
//! http.rs    many, as Streamable HTTP              ─┘              └ the command line's own: a daemon on its socket
//! ```
//!
//! [`Service`] is what both doors share: the tools as a model sees them (`faces.rs`), their arguments (`arguments.rs`),
//! messages (`message.rs`), results as text and as structured content (`render.rs`, `reply.rs`), progress (`watch.rs`), the client's roots
//! (`roots.rs`) and the tools of plugins (`plugins.rs`). It speaks to whatever carries calls out through [`Caller`].
//! The lifecycle of the protocol's revisions is the SDK's affair at both doors
//! (`handler.rs`); only `tools/call` takes a shorter way on stdio.
//!
//! This room knows no actor and no tool: a call is an [`axlr_protocol::Call`] here as at every other door.

mod arguments;
mod caller;
mod faces;
mod handler;
mod http;
mod local;
mod message;
mod plugins;
mod render;
mod reply;
mod roots;
mod service;
mod stdio;
mod watch;

pub use caller::{Answer, Caller, Job};
pub use http::serve_http;
pub use local::Local;
pub use service::{Root, Service, Settings};
pub use stdio::serve_stdio;
pub use watch::{Note, Watch};
