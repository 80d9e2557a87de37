//! The arguments of `plugins.call`, checked as far as that needs no plugin.

use std::time::Duration;

use axlr_protocol::limits;
use axlr_protocol::tool::PluginsCallArguments;
use serde_json::{Map, Value};

use super::manifest;
use crate::tools::{Error, quoted};

/// A call of a plugin's tool.
#[derive(Debug)]
pub(crate) struct PluginCall {
    pub(crate) plugin_id: String,
    pub(crate) tool_name: String,
    /// The tool's own arguments.
    pub(super) arguments: Map<String, Value>,
    /// How long launch, handshake and call may take together.
    pub(crate) timeout: Duration,
}

impl PluginCall {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Malformed: an id or a name outside of its alphabet or length, or a deadline out of range.
    ///
    /// Source: SPEC §3.8 and §4.2.
    pub(crate) fn parse(arguments: PluginsCallArguments) -> Result<Self, Error> {
        let PluginsCallArguments { plugin_id, tool_name, arguments, timeout_ms } = arguments;
        if !manifest::is_id(&plugin_id) {
            return Err(Error::malformed(format!("plugin_id {} {}", quoted(&plugin_id), manifest::ID_RULE)));
        }
        if !manifest::is_tool_name(&tool_name) {
            let rule = manifest::tool_name_rule();
            return Err(Error::malformed(format!("tool_name {} {rule}", quoted(&tool_name))));
        }
        Ok(Self { plugin_id, tool_name, arguments, timeout: timeout(timeout_ms)? })
    }
}

fn timeout(given: Option<i64>) -> Result<Duration, Error> {
    let most = limits::PLUGIN_TIMEOUT_MAX_MS;
    let milliseconds = match given.map(u64::try_from) {
        None | Some(Ok(0)) => limits::PLUGIN_TIMEOUT_DEFAULT_MS,
        Some(Ok(given)) if given <= most => given,
        Some(Ok(given)) => {
            return Err(Error::malformed(format!("timeout_ms {given} exceeds the {most} ms limit")));
        }
        Some(Err(_)) => {
            let given = given.unwrap_or_default();
            return Err(Error::malformed(format!("timeout_ms {given} must not be negative")));
        }
    };
    Ok(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests;
