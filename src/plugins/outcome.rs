//! What the result of `tools/call` means, content untouched.

use axlr_protocol::tool::{Plain, PluginsCallOutput};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::rpc::Trouble;
use crate::tools::quoted;

/// Reads the result of a call: its content blocks as the server sent them.
///
/// # Errors
/// A result that is none: without content and structured content, one that wants to be asked again, one of a kind that
/// nobody knows, or one that no response can carry.
///
/// Source: SPEC §3.8.
pub(super) fn output(result: &RawValue) -> Result<PluginsCallOutput, Trouble> {
    // The parser ends at 127 levels, so that the response, one level deeper, is within what clients read.
    let Plain(value) = serde_json::from_str(result.get())
        .map_err(|error| Trouble::Protocol(format!("its result can't be carried: {error}")))?;
    let Value::Object(mut members) = value else {
        return Err(Trouble::Protocol("its result is no object".to_owned()));
    };
    check_kind(&members)?;
    let structured_content = members.remove("structuredContent").filter(|content| !content.is_null());
    let content = match members.remove("content") {
        Some(Value::Array(content)) => content,
        None | Some(Value::Null) if structured_content.is_some() => Vec::new(),
        None | Some(Value::Null) => {
            return Err(Trouble::Protocol("its result has neither content nor structuredContent".to_owned()));
        }
        Some(_) => return Err(Trouble::Protocol("the content of its result is no list".to_owned())),
    };
    let is_error = match members.remove("isError") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_error)) => is_error,
        Some(_) => {
            return Err(Trouble::Protocol("isError of its result is neither true nor false".to_owned()));
        }
    };
    Ok(PluginsCallOutput { content, structured_content, is_error })
}

/// Results of the revision 2026-07-28 say of which kind they are.
fn check_kind(members: &Map<String, Value>) -> Result<(), Trouble> {
    match members.get("resultType") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(kind)) if kind == "complete" => Ok(()),
        Some(Value::String(kind)) if kind == "input_required" => Err(Trouble::Protocol(
            "its tool wants to ask the user or a model something, which is not offered to plugins".to_owned(),
        )),
        Some(Value::String(kind)) => {
            Err(Trouble::Protocol(format!("its result is of a kind that is not known, {}", quoted(kind))))
        }
        Some(_) => Err(Trouble::Protocol("resultType of its result is no text".to_owned())),
    }
}

#[cfg(test)]
mod tests;
