//! The built-in tools: what a model may do with files, commands and the web.
//!
//! Files and commands are requests to the runtime, which confines, bounds and contains them; the web is the room
//! [`crate::net`]. This room knows no agents and no providers: a [`Toolbox`] belongs to one run of one agent, whoever that
//! is. One tool, one file.

mod artifacts;
mod command_guard;
mod edit_file;
mod input;
pub(crate) mod limits;
mod list_directory;
mod outcome;
mod path;
mod read_file;
mod run_command;
mod schema;
#[cfg(test)]
mod tests;
mod toolbox;
mod web;
mod write_file;

pub use artifacts::{Artifact, Artifacts};
pub use input::Input;
pub use outcome::Outcome;
pub use schema::call_agent_spec;
pub use toolbox::{Lane, Surroundings, Toolbox};
