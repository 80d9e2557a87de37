//! axlr, a long-lived local tool runtime: files, search and programs of a directory, behind one Unix socket.
//!
//! This crate is everything behind that socket. What stands on it is the contract of [`axlr_protocol`]; who speaks to
//! it from outside is `axlr-client`.
//!
//! # The rooms
//!
//! From the bottom shelf up. A room knows those below it and nothing above; `tests/it/house.rs` holds it to that.
//!
//! | room | what it holds |
//! |---|---|
//! | [`dialect`] | Go's two pattern languages: string in, verdict out |
//! | [`workspace`] | authority over one directory, as a handle; the ordered walk; atomic replacement |
//! | [`process`] | birth and death of a child and of all that it starts |
//! | [`tools`] | what each tool means: one file a tool, plain functions on a workspace |
//! | `plugins` | external MCP servers: manifests, and a session with each |
//! | `actors` | order, ownership, failure |
//! | [`runtime`] | the only door to them: sessions, admission, start and stop |
//! | [`listen`] | bytes to calls and back, one file or folder a door |
//!
//! [`cancel`], [`capacity`], `error` and `readiness` are used by many and import nothing of ours but the error's kinds.
//!
//! # The actors
//!
//! ```text
//! Supervisor ─┬─ ExecPool             places for children, fair among connections
//!             ├─ Writer (one a root)  one commit at a time, in order of arrival
//!             └─ Workspace (0..n)     routes requests, owns what execs left behind
//!                  └─ PluginSession (0..n)  one MCP server, opened when it is needed
//! ```
//!
//! # The walk of one request
//!
//! 1. `listen/unix.rs` accepts; `listen/connection.rs` reads a frame ([`axlr_protocol::frame`]) and decodes it
//!    ([`axlr_protocol::decode`]).
//! 2. `runtime/session.rs` checks the arguments, sees whether the request may run, must wait or is refused, and
//!    answers at once what the kernel answers without waiting: a small read from the page cache, a ping.
//! 3. Everything else takes a permit and goes to an actor: a mutation to the root's `actors/writer.rs`, the rest to
//!    `actors/workspace.rs`, which hands it to a blocking thread or, for an exec, to a task that waits for a place in
//!    `actors/exec_pool.rs`; a plugin's call to a task that asks `actors/plugin_session.rs` for the session.
//! 4. The tool runs ([`tools`]), asks its [`cancel::Cancel`] as it goes, and sends events through a channel of one,
//!    so that a reader that does not read stops it.
//! 5. The answer comes back through the reply port to the session's task, is encoded ([`axlr_protocol::codec`]) and
//!    put into `listen/outbox.rs`, from where the connection writes it.

mod actors;
pub mod cancel;
pub mod capacity;
pub mod dialect;
mod error;
pub mod listen;
mod plugins;
pub mod process;
mod readiness;
pub mod runtime;
pub mod tools;
pub mod workspace;
