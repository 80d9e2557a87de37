//! The envelope of JSON-RPC 2.0, read without a look into results, and what can go wrong with a request.

use std::borrow::Cow;
use std::sync::Arc;

use axlr_protocol::limits;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The error of a server that does not know a method.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;

/// Why a request has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Trouble {
    /// The server answered with an error.
    #[error("it answered with error {code}: {message}")]
    Refused {
        /// The number.
        code: i64,
        /// The server's words, fit to be shown.
        message: String,
    },
    /// We closed the session: its workspace or the daemon ends.
    #[error("its session was closed")]
    Closed,
    /// The request never left: there is nobody to take it.
    #[error("{0}")]
    Unsent(Arc<str>),
    /// The connection is over, or never was; says why.
    #[error("{0}")]
    Broken(Arc<str>),
    /// The server answered, and not as the protocol says.
    #[error("{0}")]
    Protocol(String),
}

impl Trouble {
    pub(super) fn broken(why: impl Into<Arc<str>>) -> Self {
        Self::Broken(why.into())
    }
}

/// A message of a server.
#[derive(Debug)]
pub(super) enum Incoming<'t> {
    /// To one of our requests.
    Response {
        id: i64,
        outcome: Outcome<'t>,
    },
    /// A request of the server's own. The id goes back as it came.
    Request {
        id: &'t RawValue,
        method: Cow<'t, str>,
    },
    Notification {
        method: Cow<'t, str>,
        params: Option<&'t RawValue>,
    },
    /// An answer to nothing that was ever asked.
    Stray,
}

#[derive(Debug)]
pub(super) enum Outcome<'t> {
    Result(&'t RawValue),
    Error {
        code: i64,
        /// As the server wrote it.
        message: String,
        data: Option<Value>,
    },
    /// Neither a result nor an error that can be read.
    Neither,
}

#[derive(Deserialize)]
struct Envelope<'t> {
    #[serde(borrow)]
    jsonrpc: Cow<'t, str>,
    #[serde(borrow)]
    id: Option<&'t RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'t, str>>,
    #[serde(borrow)]
    params: Option<&'t RawValue>,
    #[serde(borrow)]
    result: Option<&'t RawValue>,
    #[serde(borrow)]
    error: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct ErrorObject {
    code: i64,
    #[serde(default)]
    message: String,
    data: Option<Value>,
}

/// Reads one message; `None` when the text is none.
pub(super) fn incoming(text: &[u8]) -> Option<Incoming<'_>> {
    // serde would take a list of the values in their order.
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let envelope: Envelope = serde_json::from_slice(text).ok()?;
    if envelope.jsonrpc != "2.0" {
        return None;
    }
    let Envelope { id, method, params, result, error, .. } = envelope;
    match (id, method) {
        (Some(id), Some(method)) => Some(Incoming::Request { id, method }),
        (None, Some(method)) => Some(Incoming::Notification { method, params }),
        (Some(id), None) => Some(match number(id) {
            Some(id) => Incoming::Response { id, outcome: outcome(result, error) },
            None => Incoming::Stray,
        }),
        (None, None) => (result.is_some() || error.is_some()).then_some(Incoming::Stray),
    }
}

/// Our ids are numbers. Some servers send them back as text.
fn number(id: &RawValue) -> Option<i64> {
    id.get().trim_matches('"').parse().ok()
}

fn outcome<'t>(result: Option<&'t RawValue>, error: Option<&'t RawValue>) -> Outcome<'t> {
    match (result, error) {
        (Some(result), _) => Outcome::Result(result),
        (None, Some(error)) => match object::<ErrorObject>(error) {
            Ok(ErrorObject { code, message, data }) => Outcome::Error { code, message, data },
            Err(_) => Outcome::Neither,
        },
        (None, None) => Outcome::Neither,
    }
}

/// Reads what must be an object.
pub(super) fn object<'t, T: Deserialize<'t>>(text: &'t RawValue) -> serde_json::Result<T> {
    if !text.get().starts_with('{') {
        return Err(serde::de::Error::custom("it must be an object"));
    }
    serde_json::from_str(text.get())
}

/// The error of a message that names no request.
pub(super) fn error_without_id(text: &[u8]) -> Option<(i64, String)> {
    let envelope: Envelope = serde_json::from_slice(text).ok()?;
    match outcome(None, envelope.error) {
        Outcome::Error { code, message, .. } => Some((code, message)),
        _ => None,
    }
}

/// What a server tells of a request on its way.
#[derive(Deserialize)]
pub(super) struct ProgressParams {
    #[serde(rename = "progressToken")]
    pub(super) token: Token,
    pub(super) progress: f64,
    pub(super) total: Option<f64>,
    pub(super) message: Option<String>,
}

/// What a server takes back.
#[derive(Deserialize)]
pub(super) struct CancelledParams {
    #[serde(rename = "requestId")]
    pub(super) id: Token,
}

/// The id of a request, which some servers send back as text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Token {
    Number(i64),
    Text(String),
}

impl Token {
    /// The number that we gave.
    pub(super) fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// A stranger's text as it stands in a message of ours: cut, and without what a terminal would obey.
pub(super) fn shown(text: &str) -> String {
    let mut characters = text.trim().chars();
    let mut shown = String::new();
    for character in characters.by_ref().take(limits::PLUGIN_TEXT_MAX_CHARS) {
        match character {
            '\n' | '\t' => shown.push(character),
            other if other.is_control() => shown.extend(other.escape_default()),
            other => shown.push(other),
        }
    }
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The answer to a request of a server: a ping is answered, and nothing else is offered.
pub(super) fn answer(id: &RawValue, method: &str) -> String {
    let id = id.get();
    if method == "ping" {
        return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    }
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{METHOD_NOT_FOUND},"message":"Method not found"}}}}"#
    )
}

#[cfg(test)]
mod tests;
