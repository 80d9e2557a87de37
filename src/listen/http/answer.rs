//! Answers that no endpoint gives: one JSON object that says what was wrong.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use serde::Serialize;

/// An answer of JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    // Nothing that is answered has a map with keys that are no strings, which is all that could fail.
    let mut response = Response::new(Body::from(serde_json::to_vec(value).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// `{"error":"…"}`.
pub(in crate::listen) fn refusal(status: StatusCode, error: impl AsRef<str>) -> Response<Body> {
    json(status, &serde_json::json!({ "error": error.as_ref() }))
}
