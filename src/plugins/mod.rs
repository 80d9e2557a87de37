//! External MCP servers: what a manifest says, and one session with one server. Knows no actors and no sockets of ours.
//!
//! - A [`manifest`] names the server and the tools that may be called; [`setup`] adds the secrets.
//! - A [`session`] begins with a [`handshake`], lists the [`tools`] and calls them. Whatever becomes of a call, it is
//!   sent once.
//! - The [`exchange`] knows who waits for which answer. The two ways to a server, [`stdio`] and [`http`], hand it what
//!   they hear and never wait for anybody, so that a slow call holds no other up.
//!
//! The messages are read and written here, and not through the client of `rmcp`, for four reasons. It reads results into
//! its own types, and what those do not know is lost; here a content block is what the server sent. It starts a task
//! and logs the whole text for every notification, so that a server can flood both. It asks for progress with every
//! request. And after an HTTP session has ended it sends again what was under way, which for a call means twice.

mod arguments;
mod exchange;
mod fault;
mod handshake;
mod home;
mod http;
mod log;
mod manifest;
mod outcome;
mod rpc;
mod session;
mod setup;
mod stdio;
mod tools;
mod transport;

use std::collections::BTreeMap;

use axlr_protocol::tool::{PluginTool, PluginsListOutput};
use tokio::task::JoinSet;

use crate::tools::{Error, Kind};

pub(crate) use arguments::PluginCall;
pub(crate) use fault::{not_allowed, unknown_plugin, within};
pub(crate) use home::{Home, Running};
pub(crate) use session::{Session, SessionState};
pub(crate) use setup::Plugin;
pub use setup::{ByPlugin, PluginSetup, SetupError};

/// Joins the lists of all plugins, in their order, asked all at once.
///
/// # Errors
/// The first one that there is no list of.
///
/// Source: SPEC §3.8.
pub(crate) async fn join_lists<L>(lists: impl IntoIterator<Item = L>) -> Result<PluginsListOutput, Error>
where
    L: Future<Output = Result<Vec<PluginTool>, Error>> + Send + 'static,
{
    let mut asked = JoinSet::new();
    for (place, list) in lists.into_iter().enumerate() {
        asked.spawn(async move { (place, list.await) });
    }
    let mut found = BTreeMap::new();
    while let Some(answer) = asked.join_next().await {
        let (place, list) = answer.map_err(|_| {
            Error::new(Kind::PluginUnavailable, "a list of tools was lost to a fault of axlr itself")
        })?;
        found.insert(place, list?);
    }
    Ok(PluginsListOutput { tools: found.into_values().flatten().collect() })
}
