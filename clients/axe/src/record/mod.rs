//! Recorded runs: what models answered, kept in a directory, so that agents can be run again offline and for nothing.
//!
//! One file holds one conversation: a line that names the agent and what it was asked, then a line for every request and
//! its reply. A conversation is found again by its agent and the user's message; its replies come in the order they were
//! recorded in, whatever the requests hold by then. What a recording holds of keys is masked before it is written.

mod file;
mod player;
mod recorder;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use player::Player;
pub use recorder::Recorder;

/// Why a run cannot be recorded or replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory or a file in it.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A file that is no recording.
    #[error("{} is not a recording: line {line}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        detail: String,
    },
    /// Nothing of the kind was recorded.
    #[error(
        "{} holds no (further) recording of agent {agent:?} with this message; record it with --record",
        path.display()
    )]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The agent.
        agent: String,
    },
}
