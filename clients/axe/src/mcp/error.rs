//! Why an agent's MCP servers cannot be used.

use crate::config::Unset;

/// One server that fails, fails them all: an agent without a part of its tools does other work than it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A header or a variable of the server needs an environment variable.
    #[error("MCP server {server:?}: {source}")]
    Unset {
        /// The server.
        server: String,
        /// Which variable.
        source: Unset,
    },
    /// A header that no request can carry.
    #[error("MCP server {server:?}: header {header:?} has a name or a value that no HTTP request can carry")]
    Header {
        /// The server.
        server: String,
        /// The header's name.
        header: String,
    },
    /// The program of a server on stdio does not start.
    #[error("MCP server {server:?}: cannot start {command}: {source}")]
    Start {
        /// The server.
        server: String,
        /// The program.
        command: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The server is not reached, or does not speak as it should.
    #[error("MCP server {server:?} cannot be used: {reason}")]
    Unusable {
        /// The server.
        server: String,
        /// Why, without secrets.
        reason: String,
    },
    /// Two servers with tools of one name.
    #[error("MCP servers {first:?} and {second:?} both have a tool {tool:?}; leave one of them out")]
    Clash {
        /// The tool.
        tool: String,
        /// The server that had it first.
        first: String,
        /// The other.
        second: String,
    },
}

impl Error {
    /// Whether the agent's file or its surroundings are at fault, and not the server or the way to it.
    pub fn is_config(&self) -> bool {
        !matches!(self, Self::Unusable { .. })
    }
}
