//! Messages of JSON-RPC, as far as this door reads and writes them itself.
//!
//! Source: JSON-RPC 2.0; MCP 2025-11-25 and 2026-07-28, "Basic".

use std::borrow::Cow;

use axlr_protocol::codec;
use rmcp::model::{
    ErrorCode, ErrorData, JsonRpcError, ProgressNotificationParam, ProtocolVersion, RequestId,
    RequestMetaObject,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::listen::mcp::reply::Reply;

/// What stands in any message.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'m> {
    #[serde(borrow)]
    pub(super) id: Option<&'m RawValue>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'m, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'m RawValue>,
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
        // A batch, which no revision but one had. Serde would take it for the members of one message.
        if line.trim_ascii_start().starts_with(b"[") {
            let reason = "Invalid request: batches are not taken; send each message on a line of its own";
            return Err(ErrorData::invalid_request(reason, None));
        }
        let envelope: Envelope<'m> =
            serde_json::from_slice(line).map_err(|error| match error.classify() {
                serde_json::error::Category::Data => {
                    ErrorData::invalid_request(format!("Invalid request: {error}"), None)
                }
                _ => ErrorData::new(ErrorCode::PARSE_ERROR, format!("Parse error: {error}"), None),
            })?;
        let Envelope { id, method, params } = envelope;
        let id = id.map(|id| {
            serde_json::from_str(id.get()).map_err(|_| {
                ErrorData::invalid_request("Invalid request: id must be a string or an integer", None)
            })
        });
        match (id, method) {
            (Some(id), Some(method)) => Ok(Self::Request { id: id?, method, params }),
            (None, Some(method)) => Ok(Self::Notification { method, params }),
            (_, None) => Ok(Self::Response),
        }
    }
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
        serde_json::from_str(params.get()).map_err(|error| wrong(error.to_string()))
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
    serde_json::from_str::<Cancelled>(params?.get()).ok().map(|cancelled| cancelled.request_id)
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
