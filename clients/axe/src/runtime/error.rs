//! Why the runtime cannot be asked.

use std::io;
use std::path::PathBuf;

/// No daemon, or one that refuses. What a tool's own request fails with is not among these.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody to talk to on the socket.
    #[error(
        "no axlrd to run tools: {0} (start one, or leave out --socket and AXLR_SOCKET and axe starts its own)"
    )]
    Connect(#[from] axlr_client::ConnectError),
    /// axe's own daemon did not start.
    #[error("cannot start {} to run tools: {source} (install axlrd beside axe or on PATH, or name a running one with --socket)", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The daemon went away before it could be used.
    #[error("axlrd ended before it could be used: {reason}{last_words}")]
    Ended {
        /// How the connection ended.
        reason: String,
        /// What it said on stderr, with a separator before it; may be empty.
        last_words: String,
    },
    /// The daemon refuses a directory.
    #[error("axlrd cannot work in {}: {source}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Its answer.
        source: axlr_client::CallError,
    },
    /// The protocol holds text only.
    #[error("{} cannot be a workspace: its path is not UTF-8", path.display())]
    NotText {
        /// The directory.
        path: PathBuf,
    },
}
