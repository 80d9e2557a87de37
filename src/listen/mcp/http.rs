//! Many clients as Streamable HTTP, at `/mcp` behind the guard of every HTTP door.
//!
//! Revisions with a handshake have sessions: each gets a session of the runtime for itself, which ends with it. Since
//! 2026-07-28 a request stands alone; those share one session of the runtime, and so count as one connection. What runs
//! for such a request is cancelled when its client goes away; a session goes on without its connection, as the protocol
//! wants it, until it is deleted or has been idle for long.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axlr_protocol::limits;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::routing::any;
use axum::{Error, Router};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::value::{RawValue, to_raw_value};

use super::caller::{Answer, Caller, Job};
use super::handler::{AsSent, Handler};
use super::local::Local;
use super::message::{self, Line, Parameters};
use super::service::{Service, Settings};
use crate::cancel::Cancel;
use crate::listen::http::{Admission, Endpoint, Guard, HttpListener, Peer, read, refusal};
use crate::runtime::{Phase, Runtime};

/// The names of headers that the protocol has.
const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

const MCP: Endpoint = Endpoint {
    path: "/mcp",
    methods: &[Method::POST, Method::GET, Method::DELETE],
    needs_token: true,
    takes_json: true,
    allow_headers: "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, \
        Mcp-Method, Mcp-Name",
    expose_headers: Some("Mcp-Session-Id, Mcp-Protocol-Version"),
};

/// Serves until the runtime is asked to stop.
pub async fn serve_http(
    listener: HttpListener,
    runtime: &Runtime,
    admission: Arc<Admission>,
    settings: Arc<Settings>,
) {
    let sessions = Arc::new(sessions());
    // Host and Origin were judged before.
    let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts().disable_allowed_origins();
    config.json_response = true;
    config.max_request_body_bytes = limits::HTTP_BODY_MAX_BYTES;
    let end = config.cancellation_token.clone();
    let shared = Arc::new(Local::new(runtime));
    let make = {
        let runtime = runtime.clone();
        move || {
            let visitor = Visitor { runtime: runtime.clone(), shared: shared.clone(), own: OnceLock::new() };
            Ok(Handler(Arc::new(Service::new(visitor, settings.clone()))))
        }
    };
    let service = StreamableHttpService::new(make, sessions.clone(), config);
    let desk = Arc::new(Desk { service, sessions, ends: Mutex::default(), arriving: AtomicUsize::new(0) });
    let router = Router::new().route(MCP.path, any(answer)).with_state(desk);
    let guard = Guard::new(admission, listener.address().port(), vec![MCP]);
    let mut phase = runtime.phase();
    tokio::spawn(async move {
        // Streams that wait for news end now; what was asked for had the drain to be answered.
        let _ = phase.wait_for(|phase| *phase == Phase::Stopped).await;
        end.cancel();
    });
    listener.serve(runtime, guard, router).await;
}

fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(Duration::from_millis(limits::MCP_SESSION_IDLE_MS));
    sessions
}

/// Carries calls out for one client of the SDK: in the session that all share, until there is a handshake.
struct Visitor {
    runtime: Runtime,
    shared: Arc<Local>,
    own: OnceLock<Local>,
}

impl Caller for Visitor {
    async fn call(&self, job: Job) -> Answer {
        self.own.get().unwrap_or(&self.shared).call(job).await
    }

    fn begin(&self) {
        self.own.get_or_init(|| Local::new(&self.runtime));
    }
}

/// When a session is ended by its client, for the calls that run in it. The SDK would let them run for a while.
#[derive(Clone, Default)]
pub(super) struct SessionEnd(Cancel);

impl SessionEnd {
    pub(super) async fn ended(&self) {
        self.0.cancelled().await;
    }
}

struct Desk {
    service: StreamableHttpService<Handler<Visitor>, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    /// Of the sessions that were heard of.
    ends: Mutex<HashMap<String, SessionEnd>>,
    /// Requests under way that may begin a session.
    arriving: AtomicUsize,
}

impl Desk {
    /// The end of a session, when there is such a session.
    async fn end_of(&self, id: &str) -> SessionEnd {
        let sessions = self.sessions.sessions.read().await;
        if !sessions.contains_key(id) {
            return SessionEnd::default();
        }
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = ends.get(id) {
            return end.clone();
        }
        // Those that were idle for too long went without a word.
        ends.retain(|id, _| sessions.contains_key(id.as_str()));
        ends.entry(id.to_owned()).or_default().clone()
    }

    /// Ends a session, and with it what runs there.
    async fn delete(&self, request: Request) -> Response<Body> {
        let id = session_id(request.headers());
        // The SDK says that it ended what was not there.
        if let Some(id) = &id
            && !self.sessions.sessions.read().await.contains_key(id.as_str())
        {
            return refusal(StatusCode::NOT_FOUND, "there is no session of that id");
        }
        let mut response = self.service.handle(request).await.map(Body::new);
        // Done, not only heard of: some clients complain of anything else.
        if response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if response.status().is_success()
            && let Some(id) = &id
            && let Some(end) = self.ends.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
        {
            end.0.cancel();
        }
        response
    }
}

fn session_id(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned)
}

async fn answer(
    State(desk): State<Arc<Desk>>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
) -> Response<Body> {
    if request.method() == Method::DELETE {
        return desk.delete(request).await;
    }
    let is_post = request.method() == Method::POST;
    let _arrival = if is_post && may_begin(request.headers()) {
        let arrival = Arrival::count(desk.clone());
        let sessions = desk.sessions.sessions.read().await.len();
        if sessions + arrival.number > limits::MCP_SESSIONS_MAX {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "overloaded");
        }
        Some(arrival)
    } else {
        None
    };
    if !is_post {
        return desk.service.handle(request).await.map(Body::new);
    }
    if let Some(id) = session_id(request.headers()) {
        let end = desk.end_of(&id).await;
        request.extensions_mut().insert(end);
    }
    let request = match checked(request).await {
        Ok(request) => request,
        Err(response) => return *response,
    };
    let mut gone: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(peer.gone());
    tokio::select! {
        response = desk.service.handle(request) => {
            response.map(|body| Body::new(Attended { body: Some(Body::new(body)), gone }))
        }
        // Nobody reads it.
        () = poll_fn(|context| gone.as_mut().poll(context)) => Response::new(Body::empty()),
    }
}

/// Reads the message that a request brings, so that a bad one is told as on stdio and its arguments reach the strict
/// reader as they are.
async fn checked(request: Request) -> Result<Request, Box<Response<Body>>> {
    let (mut parts, body) = request.into_parts();
    let mut text = read(body).await?;
    match Line::read(&text).map_err(|error| malformed(None, error))? {
        Line::Request { id, method, params } if method == "tools/call" => {
            let parameters = Parameters::read(params).map_err(|error| malformed(Some(id), error))?;
            let arguments = parameters.arguments.map(ToOwned::to_owned);
            if arguments.as_ref().is_some_and(|arguments| !arguments.get().starts_with('{')) {
                // The SDK is shown none: this mistake is for the model, which hears of it from the strict reader.
                text = without_arguments(&text).ok_or_else(|| malformed(None, not_understood()))?.into();
            }
            parts.extensions.insert(AsSent(arguments));
        }
        // Where requests stand alone there is no such method, whatever its parameters: the SDK says so.
        Line::Request { method, .. } if method == "initialize" && stands_alone(&parts.headers) => {}
        Line::Request { id, method, params } => {
            message::request(&method, params, &text).map_err(|error| malformed(Some(id), error))?;
        }
        Line::Notification { .. } | Line::Response => {
            serde_json::from_slice::<ClientJsonRpcMessage>(&text)
                .map_err(|_| malformed(None, not_understood()))?;
        }
    }
    parts.headers.remove(CONTENT_LENGTH);
    Ok(Request::from_parts(parts, Body::from(text)))
}

fn without_arguments(text: &[u8]) -> Option<Vec<u8>> {
    let mut message: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(text).ok()?;
    let mut params: BTreeMap<Cow<'_, str>, &RawValue> =
        serde_json::from_str(message.get("params")?.get()).ok()?;
    params.remove("arguments");
    let params = to_raw_value(&params).ok()?;
    message.insert("params".into(), &params);
    serde_json::to_vec(&message).ok()
}

fn not_understood() -> ErrorData {
    ErrorData::invalid_request("Invalid request: the message is not understood", None)
}

/// The answer to a message that is none, or to a request that the SDK can't read.
fn malformed(id: Option<RequestId>, error: ErrorData) -> Box<Response<Body>> {
    let status = if id.is_some() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let mut line = Vec::new();
    message::put_error(&mut line, id, error);
    let mut response = Response::new(Body::from(line));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Box::new(response)
}

/// Whether a request has no session and does not stand alone either: then it may be a handshake.
fn may_begin(headers: &HeaderMap) -> bool {
    !stands_alone(headers) && !headers.contains_key(SESSION_ID)
}

/// Whether a request is of a revision without sessions.
fn stands_alone(headers: &HeaderMap) -> bool {
    headers
        .get(PROTOCOL_VERSION)
        .is_some_and(|version| version.as_bytes() >= ProtocolVersion::V_2026_07_28.as_str().as_bytes())
}

/// A request in the count of those that may begin a session.
struct Arrival {
    desk: Arc<Desk>,
    number: usize,
}

impl Arrival {
    fn count(desk: Arc<Desk>) -> Self {
        let number = desk.arriving.fetch_add(1, Ordering::AcqRel) + 1;
        Self { desk, number }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.desk.arriving.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer, which ends when its client is gone: dropping it is how the SDK learns of that.
struct Attended {
    body: Option<Body>,
    gone: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl HttpBody for Attended {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        if self.gone.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.body = None;
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }
}
