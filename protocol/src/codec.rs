//! Responses, events and requests as whole frames, and the client's reading of the first two.
//!
//! The writers append to a buffer that the caller reuses. In JSON a frame is one object and a line end; in MessagePack
//! it is a length of four bytes and one map with named members, so that adding a member is compatible in both.
//!
//! Source: SPEC §1.3, §2.3 and §6.

use serde::{Serialize, Serializer};

use crate::code::{Code, Status};
use crate::event::Event;
use crate::frame::Encoding;
use crate::limits;
use crate::request::{Call, Request};
use crate::response::{ErrorBody, Output, Response};

mod client;
mod event;
mod json;
#[cfg(test)]
mod tests;
mod time;

pub use client::{AnyResponse, Message, message};
use json::{Count, JsonWriter};
use time::Timestamp;

/// Why something can't be written, or was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The request would be refused for its size.
    #[error("the request has {0} bytes, over the limit of {limit} bytes", limit = limits::REQUEST_MAX_BYTES)]
    RequestTooLarge(usize),
    /// The request can't be encoded at all.
    #[error("the request can't be encoded: {0}")]
    Unencodable(String),
    /// The frame is no response and no event.
    #[error("not understood: {0}")]
    Malformed(String),
    /// An event of a kind that this version does not know. A client passes over it.
    #[error("unknown event \"{0}\"")]
    UnknownEvent(String),
}

/// Appends a response, without a trace of one that would pass [`limits::RESPONSE_MAX_BYTES`]: that becomes
/// `response_too_large`.
///
/// Source: SPEC §1.3.
pub fn response(encoding: Encoding, response: &Response, out: &mut Vec<u8>) {
    let start = out.len();
    let refused = match frame(encoding, &ResponseEnvelope::of(response), out) {
        Ok(length) if length <= limits::RESPONSE_MAX_BYTES => return,
        Ok(length) => ErrorBody {
            code: Code::ResponseTooLarge,
            message: format!(
                "the encoded response would have {length} bytes, over the limit of {} bytes; \
                 the operation may have had effects",
                limits::RESPONSE_MAX_BYTES,
            ),
        },
        Err(error) => ErrorBody {
            code: Code::InternalError,
            message: format!("the response can't be encoded: {error}; the operation may have had effects"),
        },
    };
    out.truncate(start);
    let replacement = ResponseEnvelope {
        status: refused.code.status(),
        output: None,
        error: Some(&refused),
        ..ResponseEnvelope::of(response)
    };
    frame(encoding, &replacement, out).expect("an error of strings can be encoded");
}

/// Appends an event.
///
/// Source: SPEC §6.
pub fn event(encoding: Encoding, event: &Event, out: &mut Vec<u8>) {
    frame(encoding, event, out).expect("an event has named members and finite lengths");
}

/// Appends a request: the client's half. Nothing is appended when it fails.
///
/// # Errors
/// [`CodecError::RequestTooLarge`] over [`limits::REQUEST_MAX_BYTES`]; [`CodecError::Unencodable`] for plugin arguments
/// that nest beyond reason.
pub fn request(encoding: Encoding, request: &Request, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let envelope = RequestEnvelope {
        protocol_version: limits::PROTOCOL_VERSION,
        request_id: &request.request_id,
        tool: request.call.tool().as_str(),
        arguments: Arguments(&request.call),
        workspace: request.workspace.as_deref(),
        stream: request.stream,
    };
    let start = out.len();
    let failure = match frame(encoding, &envelope, out) {
        Ok(length) if length <= limits::REQUEST_MAX_BYTES => return Ok(()),
        Ok(length) => CodecError::RequestTooLarge(length),
        Err(error) => CodecError::Unencodable(error),
    };
    out.truncate(start);
    Err(failure)
}

/// Size in bytes of a value as compact JSON with only the needed escapes: what an item of a search's or a list's page
/// costs of its `max_bytes`, less the one byte that is added for each.
///
/// Source: SPEC §3.5.
pub fn json_size(value: &impl Serialize) -> usize {
    let mut count = Count::default();
    match value.serialize(JsonWriter::new(&mut count)) {
        Ok(()) => count.bytes(),
        // What can't be encoded will not be sent.
        Err(_) => 0,
    }
}

/// Appends any value as compact JSON, with text escaped at the speed of a copy. For doors that put outputs into messages
/// of their own. Nothing is appended when it fails.
///
/// # Errors
/// [`CodecError::Unencodable`] for what JSON can't say: a map whose keys are no strings.
pub fn json(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    value.serialize(JsonWriter::new(out)).map_err(|error| {
        out.truncate(start);
        CodecError::Unencodable(error.to_string())
    })
}

/// Appends one frame. The length is that of the document alone.
fn frame(encoding: Encoding, value: &impl Serialize, out: &mut Vec<u8>) -> Result<usize, String> {
    let start = out.len();
    match encoding {
        Encoding::Json => {
            value.serialize(JsonWriter::new(out)).map_err(|error| error.to_string())?;
            out.push(b'\n');
            Ok(out.len() - start - 1)
        }
        Encoding::MessagePack => {
            out.extend_from_slice(&[0; 4]);
            let body = out.len();
            let mut writer = rmp_serde::Serializer::new(&mut *out).with_struct_map();
            value.serialize(&mut writer).map_err(|error| error.to_string())?;
            let length = out.len() - body;
            // What doesn't fit a length is far over every limit, and replaced by the caller.
            let announced = u32::try_from(length).unwrap_or(u32::MAX);
            out[start..body].copy_from_slice(&announced.to_be_bytes());
            Ok(length)
        }
    }
}

/// The nine members, in the order of the contract.
#[derive(Serialize)]
struct ResponseEnvelope<'a> {
    protocol_version: u64,
    request_id: &'a str,
    tool: &'a str,
    status: Status,
    started_at: Timestamp,
    finished_at: Timestamp,
    duration_ms: u64,
    output: Option<&'a Output>,
    error: Option<&'a ErrorBody>,
}

impl<'a> ResponseEnvelope<'a> {
    fn of(response: &'a Response) -> ResponseEnvelope<'a> {
        ResponseEnvelope {
            protocol_version: limits::PROTOCOL_VERSION,
            request_id: &response.request_id,
            tool: response.tool.map_or("", |tool| tool.as_str()),
            status: response.status(),
            started_at: Timestamp(response.started_at),
            finished_at: Timestamp(response.finished_at),
            duration_ms: response.duration_ms,
            output: response.outcome.as_ref().ok(),
            error: response.outcome.as_ref().err(),
        }
    }
}

/// Members of a connection are left out when they say nothing, so that the one-request process takes the rest.
#[derive(Serialize)]
struct RequestEnvelope<'a> {
    protocol_version: u64,
    request_id: &'a str,
    tool: &'a str,
    arguments: Arguments<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<&'a str>,
    #[serde(skip_serializing_if = "crate::tool::is_false")]
    stream: bool,
}

/// The arguments of a call, without the name of the tool.
struct Arguments<'a>(&'a Call);

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}
