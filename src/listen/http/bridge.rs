//! The bridge: `/health`, for whoever asks whether the daemon is up.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use axum::routing::get;
use serde_json::json;

use super::admission::Admission;
use super::answer;
use super::guard::{Endpoint, Guard};
use super::server::HttpListener;
use crate::runtime::Runtime;

const HEALTH: Endpoint = Endpoint {
    path: "/health",
    methods: &[Method::GET, Method::HEAD],
    needs_token: false,
    takes_json: false,
    allow_headers: ALLOW_HEADERS,
    expose_headers: None,
};
const ALLOW_HEADERS: &str = "Authorization, Content-Type";

/// Serves the bridge until the runtime is asked to stop.
pub async fn serve_bridge(listener: &HttpListener, runtime: &Runtime, admission: Arc<Admission>) {
    let guard = Guard::new(admission, listener.address().port(), vec![HEALTH]);
    let router = Router::new().route(HEALTH.path, get(health));
    listener.serve(runtime, guard, router).await;
}

async fn health() -> Response<Body> {
    answer::json(StatusCode::OK, &json!({ "ok": true }))
}
