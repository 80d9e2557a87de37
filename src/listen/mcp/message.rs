//! Messages of JSON-RPC, as far as the doors read and write them themselves.
//!
//! Source: JSON-RPC 2.0; MCP 2025-11-25 and 2026-07-28, "Basic".

use std::borrow::Cow;

use axlr_protocol::codec;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, InitializeRequestParams, JsonRpcError,
    ProgressNotificationParam, ProtocolVersion, RequestId, RequestMetaObject,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::listen::mcp::reply::Reply;

/// What stands in any message.
#[derive(Debug, Deserialize)]
struct Envelope<'m> {
    #[serde(borrow)]
    jsonrpc: Cow<'m, str>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'m RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'m, str>>,
    #[serde(borrow)]
    params: Option<&'m RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Reads a member that stands there, `null` included: a request whose id is `null` is no notification.
fn present<'m, D: Deserializer<'m>>(deserializer: D) -> Result<Option<&'m RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// What a line is.
#[derive(Debug)]
pub(super) enum Line<'m> {
    Request {
        id: RequestId,
        method: Cow<'m, str>,
        params: Option<&'m RawValue>,
    },
    Notification {
        method: Cow<'m, str>,
        params: Option<&'m RawValue>,
    },
    /// An answer to something that the SDK asked.
    Response,
}

impl<'m> Line<'m> {
    /// Reads a line.
    ///
    /// # Errors
    /// What its sender is told.
    pub(super) fn read(line: &'m [u8]) -> Result<Self, ErrorData> {
        let envelope: Envelope<'m> = object(line).map_err(|fault| match fault {
            Fault::NoObject => {
                // An array would be a batch, which no revision but one had.
                let reason = "Invalid request: each line must hold one message, a JSON object";
                ErrorData::invalid_request(reason, None)
            }
            Fault::Json(error) => match error.classify() {
                Category::Data => ErrorData::invalid_request(format!("Invalid request: {error}"), None),
                _ => ErrorData::new(ErrorCode::PARSE_ERROR, format!("Parse error: {error}"), None),
            },
        })?;
        let Envelope { jsonrpc, id, method, params, result, error } = envelope;
        if jsonrpc != "2.0" {
            return Err(ErrorData::invalid_request("Invalid request: jsonrpc must be \"2.0\"", None));
        }
        let id = id.map(|id| {
            serde_json::from_str(id.get()).map_err(|_| {
                ErrorData::invalid_request("Invalid request: id must be a string or an integer", None)
            })
        });
        match (id, method) {
            (Some(id), Some(method)) => Ok(Self::Request { id: id?, method, params }),
            (None, Some(method)) => Ok(Self::Notification { method, params }),
            (_, None) if result.is_some() || error.is_some() => Ok(Self::Response),
            (_, None) => Err(ErrorData::invalid_request("Invalid request: method is missing", None)),
        }
    }
}

/// Reads a request that the SDK is to have.
///
/// # Errors
/// What its sender is told.
pub(super) fn request(
    method: &str,
    params: Option<&RawValue>,
    line: &[u8],
) -> Result<ClientJsonRpcMessage, ErrorData> {
    // A beginning that it can't read the SDK would take for a method that it does not know.
    if method == "initialize" {
        let wrong = |reason: String| {
            ErrorData::invalid_params(format!("Invalid params of initialize: {reason}"), None)
        };
        let params = params.ok_or_else(|| wrong("there are none".to_owned()))?;
        object::<InitializeRequestParams>(params.get().as_bytes())
            .map_err(|fault| wrong(fault.to_string()))?;
    }
    serde_json::from_slice(line)
        .map_err(|error| ErrorData::invalid_request(format!("Invalid request: {error}"), None))
}

/// The parameters of `tools/call`.
#[derive(Debug, Deserialize)]
pub(super) struct Parameters<'m> {
    #[serde(borrow)]
    pub(super) name: Cow<'m, str>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'m RawValue>,
    #[serde(rename = "_meta", default)]
    pub(super) meta: RequestMetaObject,
}

impl<'m> Parameters<'m> {
    /// Reads them.
    ///
    /// # Errors
    /// What the sender is told: this is the host's mistake, not the model's.
    pub(super) fn read(params: Option<&'m RawValue>) -> Result<Self, ErrorData> {
        let wrong = |reason: String| {
            ErrorData::invalid_params(format!("Invalid params of tools/call: {reason}"), None)
        };
        let params = params.ok_or_else(|| wrong("there are none".to_owned()))?;
        object(params.get().as_bytes()).map_err(|fault| wrong(fault.to_string()))
    }

    /// How the request declares itself, in revisions that have no handshake.
    pub(super) fn declared(&self) -> Declared {
        match self.meta.protocol_version() {
            None => Declared::Nothing,
            Some(version)
                if ProtocolVersion::KNOWN_VERSIONS.contains(&version)
                    && self.meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty() =>
            {
                Declared::Version(version)
            }
            Some(_) => Declared::Amiss,
        }
    }
}

/// See [`Parameters::declared`].
#[derive(Debug, PartialEq)]
pub(super) enum Declared {
    /// The handshake holds.
    Nothing,
    /// All that such a request must say.
    Version(ProtocolVersion),
    /// Something is missing, or the revision is none that is spoken here.
    Amiss,
}

/// Whom a `notifications/cancelled` means.
pub(super) fn cancelled(params: Option<&RawValue>) -> Option<RequestId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancelled {
        request_id: RequestId,
    }
    object::<Cancelled>(params?.get().as_bytes()).ok().map(|cancelled| cancelled.request_id)
}

/// Why something is not what it should be.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("it must be a JSON object")]
    NoObject,
    #[error(transparent)]
    Json(serde_json::Error),
}

/// Reads an object. Serde alone takes an array for one, member by member.
fn object<'m, T: Deserialize<'m>>(text: &'m [u8]) -> Result<T, Fault> {
    if text.trim_ascii_start().starts_with(b"{") {
        return serde_json::from_slice(text).map_err(Fault::Json);
    }
    // What is no JSON at all is told so.
    match serde_json::from_slice::<IgnoredAny>(text) {
        Ok(_) => Err(Fault::NoObject),
        Err(error) => Err(Fault::Json(error)),
    }
}

/// The method of a step of progress.
const PROGRESS: &str = "notifications/progress";

#[derive(Serialize)]
struct Response<'r, T> {
    jsonrpc: &'static str,
    id: &'r RequestId,
    result: T,
}

#[derive(Serialize)]
struct Notification<T> {
    jsonrpc: &'static str,
    method: &'static str,
    params: T,
}

/// Appends the result of a call as one line.
pub(super) fn put_reply(out: &mut Vec<u8>, id: &RequestId, reply: &Reply, is_modern: bool) {
    let response = Response { jsonrpc: "2.0", id, result: reply.on_wire(is_modern) };
    if let Err(error) = codec::json(&response, out) {
        let error = ErrorData::internal_error(format!("the result can't be encoded: {error}"), None);
        return put_error(out, Some(id.clone()), error);
    }
    out.push(b'\n');
}

/// Appends an error as one line. Without an id it answers what could not be read.
pub(super) fn put_error(out: &mut Vec<u8>, id: Option<RequestId>, error: ErrorData) {
    put(out, &JsonRpcError::new(id, error));
}

/// Appends a step of progress as one line.
pub(super) fn put_progress(out: &mut Vec<u8>, step: &ProgressNotificationParam) {
    put(out, &Notification { jsonrpc: "2.0", method: PROGRESS, params: step });
}

/// Appends any message of the SDK's as one line.
pub(super) fn put(out: &mut Vec<u8>, message: &impl Serialize) {
    let start = out.len();
    match serde_json::to_writer(&mut *out, message) {
        Ok(()) => out.push(b'\n'),
        Err(error) => {
            out.truncate(start);
            tracing::error!(%error, "a message can't be encoded, and is lost");
        }
    }
}
