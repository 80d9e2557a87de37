//! The wire contract of axlr: what a request, a response and an event are, and how they become bytes.
//!
//! This crate knows no file, no socket and no runtime. It holds
//!
//! - the types of every tool's arguments and output ([`tool`]), of [`Request`], [`Response`] and [`Event`];
//! - [`decode`]: the one strict reader, for JSON and MessagePack alike;
//! - [`codec`]: the writer of responses and events, and the client's half of both;
//! - [`frame`]: sans-IO framing of a connection;
//! - [`limits`]: every number that a client can feel;
//! - [`schema`]: the JSON Schemas that `server.info` and `protocol/schema/` show.
//!
//! `SPEC.md` beside this crate is the same contract in prose; its examples are decoded by a test. `fixtures/` holds golden
//! frames in both encodings for the clients of other languages.

pub mod code;
pub mod codec;
pub mod decode;
pub mod event;
pub mod frame;
#[cfg(test)]
mod golden;
pub mod limits;
pub mod request;
pub mod response;
#[cfg(test)]
mod sample;
pub mod schema;
mod text;
pub mod tool;

pub use code::{Code, Status};
pub use event::{Event, EventBody};
pub use frame::Encoding;
pub use request::{Call, Request, Tool};
pub use response::{ErrorBody, Output, Response};
