//! External MCP servers. This version runs none: the room holds what a call must look like.

use axlr_protocol::limits;
use axlr_protocol::tool::PluginsCallArguments;

use crate::tools::{Error, quoted};

/// Longest name of a plugin's tool, in characters.
const TOOL_NAME_MAX: usize = 128;

/// The checks of `plugins.call` that need no plugin.
///
/// # Errors
/// Malformed: an id or a name outside of its alphabet or length, or a deadline out of range.
///
/// Source: SPEC §3.8.
pub(crate) fn check_call(arguments: &PluginsCallArguments) -> Result<(), Error> {
    let PluginsCallArguments { plugin_id, tool_name, timeout_ms, .. } = arguments;
    let in_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !plugin_id.starts_with(|c: char| c.is_ascii_alphabetic()) || !plugin_id.chars().all(in_id) {
        let rule = "must be a letter followed by letters, digits, _ and -";
        return Err(Error::malformed(format!("plugin_id {} {rule}", quoted(plugin_id))));
    }
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if tool_name.is_empty() || tool_name.len() > TOOL_NAME_MAX || !tool_name.chars().all(in_name) {
        let rule = format!("must be 1 to {TOOL_NAME_MAX} of letters, digits, _, . and -");
        return Err(Error::malformed(format!("tool_name {} {rule}", quoted(tool_name))));
    }
    let most = limits::PLUGIN_TIMEOUT_MAX_MS;
    match timeout_ms.map(u64::try_from) {
        Some(Err(_)) => Err(Error::malformed("timeout_ms must not be negative")),
        Some(Ok(given)) if given > most => {
            Err(Error::malformed(format!("timeout_ms {given} exceeds the {most} ms limit")))
        }
        _ => Ok(()),
    }
}
