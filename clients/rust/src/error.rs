//! Why there is no connection, and why there is no output.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axlr_protocol::codec::CodecError;
use axlr_protocol::{Code, Status};

/// Why no connection was made. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens there, or the operating system refused.
    #[error("{}: {source}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What connect(2) says.
        source: io::Error,
    },
    /// Somebody listens there who is not this user.
    #[error("{}: {reason}; nothing was sent", path.display())]
    Stranger {
        /// The socket.
        path: PathBuf,
        /// Who it is.
        reason: String,
    },
}

/// Why a call has no output.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The connection ended before the response came. Whether the request had effects is unknown.
    #[error("the connection to axlrd is broken: {reason}")]
    Broken {
        /// How it ended.
        reason: Arc<str>,
    },
    /// The daemon answered, and not with `completed`.
    #[error("{} ({message})", code.as_str())]
    Refused {
        /// How the request ended.
        status: Status,
        /// The stable code.
        code: Code,
        /// For the person or model that must act on it.
        message: String,
    },
    /// The request can't be sent; nothing was.
    #[error(transparent)]
    Unsendable(#[from] CodecError),
    /// The daemon completed the request, but its output is not what this client expects of the tool.
    #[error("the output of {tool} is not understood: {reason}")]
    Output {
        /// The tool.
        tool: &'static str,
        /// What is wrong with it.
        reason: Arc<str>,
    },
}
