//! The console: one page that runs a command and shows what the daemon does, for whoever knows the token.
//!
//! It is made of three files that are joined when the daemon starts, and asks nobody but this daemon: the policy that is
//! sent along allows its one script and its one style, by their digests, and nothing from elsewhere.

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Response, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::answer;
use crate::runtime::Runtime;

const PAGE: &str = include_str!("console/index.html");
const STYLE: &str = include_str!("console/console.css");
const SCRIPT: &str = include_str!("console/console.js");

/// The page and its policy.
#[derive(Clone)]
pub(super) struct Console {
    page: Bytes,
    policy: HeaderValue,
}

/// What `/stats` answers: `server.stats`, and which daemon it is.
#[derive(Serialize)]
struct Stats {
    version: &'static str,
    pid: u32,
    // Only written, never read, so that nothing strict is lost.
    #[serde(flatten)]
    stats: axlr_protocol::tool::ServerStatsOutput,
}

impl Console {
    pub(super) fn new() -> Self {
        let page = PAGE.replace("{{style}}", STYLE).replace("{{script}}", SCRIPT);
        let digest = |text: &str| BASE64.encode(Sha256::digest(text.as_bytes()));
        let policy = format!(
            "default-src 'none'; connect-src 'self'; img-src data:; script-src 'sha256-{}'; style-src 'sha256-{}'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            digest(SCRIPT),
            digest(STYLE)
        );
        // A digest in base64 holds nothing that a header can't.
        let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
        Self { page: Bytes::from(page), policy }
    }

    pub(super) fn page(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.page.clone()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

pub(super) fn stats(runtime: &Runtime) -> Response<Body> {
    let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
    answer::json(StatusCode::OK, &Stats { version, pid, stats: runtime.stats() })
}

#[cfg(test)]
mod tests;
