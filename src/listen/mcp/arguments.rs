//! Arguments of a tool, as a model sent them, into a call.
//!
//! They go through the one strict reader of requests, so that a mistake is told here in the same words as at every other
//! door. What it wants around them is put around them.

use axlr_protocol::decode::{self, Door};
use axlr_protocol::{Call, Code, Encoding, ErrorBody, Tool};
use serde_json::value::RawValue;

/// Reads the arguments of one of our tools; none at all are an empty object.
///
/// # Errors
/// `invalid_request`, in words that teach.
pub(super) fn read(tool: Tool, arguments: Option<&RawValue>) -> Result<Call, ErrorBody> {
    decode(tool, [arguments.map_or("{}", RawValue::get)])
}

/// Makes the call of a plugin's tool. Only the caller's patience bounds it: hosts have deadlines of their own.
///
/// # Errors
/// As for [`read`].
pub(super) fn of_plugin(plugin: &str, tool: &str, arguments: Option<&RawValue>) -> Result<Call, ErrorBody> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (plugin, tool) = (quoted(plugin), quoted(tool));
    let timeout = axlr_protocol::limits::PLUGIN_TIMEOUT_MAX_MS.to_string();
    decode(
        Tool::PluginsCall,
        [
            r#"{"plugin_id":"#,
            &plugin,
            r#","tool_name":"#,
            &tool,
            r#","timeout_ms":"#,
            &timeout,
            r#","arguments":"#,
            arguments.map_or("{}", RawValue::get),
            "}",
        ],
    )
}

fn decode<const N: usize>(tool: Tool, arguments: [&str; N]) -> Result<Call, ErrorBody> {
    let mut request = String::with_capacity(80 + arguments.iter().map(|part| part.len()).sum::<usize>());
    request.push_str(r#"{"protocol_version":1,"request_id":"0","tool":""#);
    request.push_str(tool.as_str());
    request.push_str(r#"","arguments":"#);
    request.extend(arguments);
    request.push('}');
    // The worker's door knows none of the members that only a connection of the socket can serve.
    match decode::request(Encoding::Json, request.as_bytes(), Door::Worker) {
        Ok(request) => Ok(request.call),
        Err(malformed) => Err(ErrorBody { code: Code::InvalidRequest, message: malformed.message }),
    }
}

#[cfg(test)]
mod tests;
