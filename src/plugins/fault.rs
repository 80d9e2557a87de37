//! Faults of plugins in the words of whoever called.

use std::time::Duration;

use tokio::time::Instant;

use super::rpc::Trouble;
use crate::cancel::Cancel;
use crate::tools::{Error, Kind, quoted};

/// When a server got into trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Before it was of any use.
    Unavailable,
    /// Without a doubt about effects: before a call, or by its own word.
    Failed,
    /// In the middle of a call.
    Interrupted,
}

impl Fault {
    /// The fault of a plugin.
    pub(super) fn about(self, id: &str, trouble: &Trouble) -> Error {
        let id = quoted(id);
        if matches!(trouble, Trouble::Closed) {
            let message =
                format!("cancelled: the session of plugin {id} was closed; effects of the call may remain");
            return Error::new(Kind::Cancelled, message);
        }
        match self {
            Self::Unavailable => {
                Error::new(Kind::PluginUnavailable, format!("plugin {id} is not available: {trouble}"))
            }
            Self::Failed => Error::new(Kind::PluginFailed, format!("plugin {id} failed: {trouble}")),
            Self::Interrupted => Error::new(
                Kind::PluginFailed,
                format!("plugin {id} failed in the middle of the call, whose effects may remain: {trouble}"),
            ),
        }
    }
}

/// No plugin with this id.
pub(crate) fn unknown_plugin(id: &str) -> Error {
    Error::new(Kind::UnknownPlugin, format!("plugin_id {}: no plugin of this id is registered", quoted(id)))
}

/// The manifest does not allow the tool.
pub(crate) fn not_allowed(id: &str, tool: &str) -> Error {
    let (id, tool) = (quoted(id), quoted(tool));
    let message = format!("tool_name {tool}: the manifest of plugin {id} does not allow this tool");
    Error::new(Kind::UnknownPluginTool, message)
}

/// The server has no such tool now.
pub(super) fn not_advertised(id: &str, tool: &str) -> Error {
    let (id, tool) = (quoted(id), quoted(tool));
    let message = format!("tool_name {tool}: plugin {id} does not advertise this tool now");
    Error::new(Kind::UnknownPluginTool, message)
}

/// Works until it is done, cancelled or late. What is given up is dropped, and tells the server.
///
/// # Errors
/// Those of the work; `cancelled`; `timeout`.
pub(crate) async fn within<T>(
    timeout: Duration,
    deadline: Instant,
    cancel: &Cancel,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::select! {
        biased;
        done = work => done,
        () = cancel.cancelled() => {
            Err(Error::new(Kind::Cancelled, "the call was cancelled; effects of it may remain"))
        }
        () = tokio::time::sleep_until(deadline) => {
            let limit = timeout.as_millis();
            let message = format!("the plugin did not answer within {limit} ms; effects of the call may remain");
            Err(Error::new(Kind::TimedOut, message))
        }
    }
}
