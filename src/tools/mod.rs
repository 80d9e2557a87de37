//! What each tool means: one file a tool, one public function, no actor and no socket in sight.
//!
//! A tool's arguments are parsed once (`Read::parse`, …: the checks that read no file), then the function runs on a
//! workspace with a [`crate::cancel::Cancel`].

mod arguments;
mod check;
mod edit;
mod error;
mod exec;
mod ignored;
mod list;
mod mutation;
mod outbox;
mod page;
mod read;
mod search;
mod tour;
mod write;

pub(crate) use check::quoted;
pub use edit::Edit;
pub use error::{Error, Kind};
pub use exec::{Exec, ExecSetting, Finished, check_variable, exec};
pub use list::{List, list};
pub use mutation::{Committed, Folder, Mutation, Prepared, apply, prepare};
pub use read::{Read, read, read_cached};
pub use search::{Patterns, Search, search};
pub use write::Write;

pub use crate::process::{ControlError, Controls, ExecHandle, controls};
pub use crate::workspace::Durability;

/// Where a streaming tool sends what it finds, in order. Blocking tools use `blocking_send`. A closed channel means
/// that nobody wants the rest: the tool ends as cancelled.
pub type Events = tokio::sync::mpsc::Sender<axlr_protocol::EventBody>;
