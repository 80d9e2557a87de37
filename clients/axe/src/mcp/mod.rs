//! MCP servers: tools that other programs bring.
//!
//! [`Servers`] holds one session for each of an agent's `[[mcp_servers]]`. The protocol is rmcp's; the older HTTP
//! transport, which rmcp has no more, is in `sse`. Input schemas and arguments pass through untouched.
//!
//! `allowed_hosts` does not cover MCP traffic: the user names the servers, and one on this machine is normal.

mod error;
mod process;
mod result;
mod servers;
mod session;
mod sse;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use servers::Servers;
