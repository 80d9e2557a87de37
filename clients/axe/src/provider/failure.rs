//! A provider's failures in our words: which kind, for how long, and what it said.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::limits::MESSAGE_MAX_BYTES;
use super::{Category, Error};
use crate::secret::{Secret, mask};
use crate::text::cut;

/// Longest time that a provider may ask to wait, so that sums of times stay times.
const RETRY_AFTER_MAX_SECONDS: f64 = 86_400.0;

/// HTTP has no name for this one; Anthropic does.
const OVERLOADED: u16 = 529;

impl Error {
    /// A failure that has no status of its own.
    pub fn new(category: Category, message: impl Into<String>) -> Self {
        Self { category, message: message.into(), status: None, retry_after: None }
    }

    /// A failure of the provider's side, or of the way to it.
    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(Category::Server, message)
    }

    /// Fit for a person: one line of bearable length, without keys.
    pub(crate) fn tidied(mut self, secrets: &[Secret]) -> Self {
        let line: Vec<&str> = self.message.split_whitespace().collect();
        self.message = mask(&line.join(" "), secrets);
        if self.message.len() > MESSAGE_MAX_BYTES {
            self.message.truncate(cut(&self.message, MESSAGE_MAX_BYTES).len());
            self.message.push_str("...");
        }
        self
    }
}

/// What the status of an answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// What HTTP says.
    Plain,
    /// And 529 is an overload. At the others it is one more failure of the server's.
    Anthropic,
    /// And the name of the exception tells more than the status.
    Aws,
}

/// The error that an answer with this status stands for.
pub(crate) fn from_status(status: StatusCode, headers: &HeaderMap, body: &[u8], dialect: Dialect) -> Error {
    let body = serde_json::from_slice(body).unwrap_or(Value::Null);
    let named = if dialect == Dialect::Aws { exception(headers, &body).and_then(aws_category) } else { None };
    Error {
        category: named.unwrap_or_else(|| category(status.as_u16(), dialect)),
        // Gemini's servers wrap theirs in a list.
        message: words(body.get(0).unwrap_or(&body)).unwrap_or_else(|| phrase(status)),
        status: Some(status.as_u16()),
        retry_after: retry_after(headers, SystemTime::now()),
    }
}

pub(crate) fn category(status: u16, dialect: Dialect) -> Category {
    match status {
        401 | 403 => Category::Auth,
        429 => Category::RateLimit,
        408 => Category::Server,
        400..=499 => Category::BadRequest,
        OVERLOADED if dialect == Dialect::Anthropic => Category::Overloaded,
        _ => Category::Server,
    }
}

/// The exception's name: in a header, with a URL behind it, or in the body, with a namespace before it.
fn exception<'a>(headers: &'a HeaderMap, body: &'a Value) -> Option<&'a str> {
    let header = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
    let name = header.or_else(|| body.get("__type")?.as_str())?;
    name.split(':').next()?.rsplit('#').next()
}

/// The category of an AWS exception, as answers and streams name it; None leaves it to the status.
pub(crate) fn aws_category(exception: &str) -> Option<Category> {
    let name = exception.to_ascii_lowercase();
    match name.strip_suffix("exception").unwrap_or(&name) {
        "accessdenied"
        | "expiredtoken"
        | "incompletesignature"
        | "invalidclienttokenid"
        | "invalidsignature"
        | "missingauthenticationtoken"
        | "signaturedoesnotmatch"
        | "unrecognizedclient" => Some(Category::Auth),
        "throttling" | "toomanyrequests" | "servicequotaexceeded" | "modelnotready" => {
            Some(Category::RateLimit)
        }
        "validation" | "resourcenotfound" => Some(Category::BadRequest),
        "internalserver" | "modelerror" | "modelstreamerror" | "modeltimeout" | "serviceunavailable" => {
            Some(Category::Server)
        }
        _ => None,
    }
}

/// The words of an error object: `{"error": {"message"}}`, `{"error": ""}`, `{"message"}`, `{"Message"}`, `{"detail"}`.
pub(crate) fn words(error: &Value) -> Option<String> {
    match error {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Object(members) => {
            ["error", "message", "Message", "detail"].into_iter().find_map(|name| words(members.get(name)?))
        }
        _ => None,
    }
}

fn phrase(status: StatusCode) -> String {
    match (status.canonical_reason(), status.as_u16()) {
        (Some(phrase), _) if status.is_redirection() => {
            format!("HTTP {} {phrase}: redirects are not followed, check the base URL", status.as_u16())
        }
        (Some(phrase), _) => phrase.to_owned(),
        (None, OVERLOADED) => "Overloaded".to_owned(),
        (None, status) => format!("HTTP status {status}"),
    }
}

/// `Retry-After` in seconds or as a date, and the finer `retry-after-ms` of OpenAI's servers.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds =
        |value: f64| (value >= 0.0).then(|| Duration::from_secs_f64(value.min(RETRY_AFTER_MAX_SECONDS)));
    if let Some(wait) =
        text("retry-after-ms").and_then(|text| text.parse().ok()).and_then(|ms: f64| seconds(ms / 1000.0))
    {
        return Some(wait);
    }
    let value = text(RETRY_AFTER.as_str())?;
    match value.parse() {
        Ok(value) => seconds(value),
        Err(_) => {
            let date = httpdate::parse_http_date(value).ok()?;
            seconds(date.duration_since(now).unwrap_or_default().as_secs_f64())
        }
    }
}

#[cfg(test)]
mod tests;
