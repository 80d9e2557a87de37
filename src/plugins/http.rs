//! A server at an address: the HTTP client that the SDK's transport speaks through.
//!
//! The transport keeps sessions, headers of the protocol, streams and their resumption; [`sdk`] is what it calls. Here is
//! what must be certain: a message is posted once, secrets reach one origin only, bodies are bounded, and results go
//! through the tap.

mod client;
mod events;
mod sdk;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axlr_protocol::limits;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpError, StreamableHttpPostResponse};
use sse_stream::Sse;
use tokio::sync::Semaphore;

use self::client::words;
use super::rpc::{self, Incoming, Outcome, Trouble};
use super::setup::Plugin;
use super::tap::{Heard, Tap};
use crate::capacity::{PLUGIN_ANSWERS_WAITING, PLUGIN_GOODBYE_MAX, PLUGIN_REDIRECTS_MAX};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Refusals that say nothing about our session.
const KEEPS_THE_SESSION: [StatusCode; 3] =
    [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS];

/// Most of a body that explains a failure.
const EXPLANATION_MAX_BYTES: usize = 64 * 1024;

/// One server at an address. Clones speak to the same one.
#[derive(Clone)]
pub(super) struct Http(Arc<Inner>);

struct Inner {
    client: Client,
    /// The plugin's own, on every request.
    headers: HeaderMap,
    tap: Arc<Tap>,
    /// Where the server is; a redirect within its origin may have moved it.
    url: Mutex<Url>,
    /// The session and the headers of the last request, for answers to the server.
    last: Mutex<(Option<Arc<str>>, Headers)>,
    /// Places for such answers.
    answers: Arc<Semaphore>,
}

type Fault = StreamableHttpError<Trouble>;
type EventStream = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl Http {
    /// Makes ready; nothing is sent yet.
    ///
    /// # Errors
    /// There is no TLS here.
    pub(super) fn new(plugin: &Plugin, url: &Url, tap: Arc<Tap>) -> Result<Self, Trouble> {
        let client = client::client()?;
        Ok(Self(Arc::new(Inner {
            client,
            headers: plugin.headers(),
            tap,
            url: Mutex::new(url.clone()),
            last: Mutex::default(),
            answers: Arc::new(Semaphore::new(PLUGIN_ANSWERS_WAITING)),
        })))
    }

    fn url(&self) -> MutexGuard<'_, Url> {
        self.0.url.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, (Option<Arc<str>>, Headers)> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, method: Method, url: Url, session: Option<&str>, headers: Headers) -> RequestBuilder {
        let accepted = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let request = self.0.client.request(method, url).header(ACCEPT, accepted);
        let mut all: HeaderMap = headers.into_iter().collect();
        all.extend(self.0.headers.clone());
        if let Some(Ok(mut session)) = session.map(HeaderValue::try_from) {
            // Whoever knows it speaks in our name.
            session.set_sensitive(true);
            all.insert(SESSION, session);
        }
        request.headers(all)
    }

    /// Posts a message, once; only the handshake follows a redirect, and only within the origin.
    async fn post(
        &self,
        text: String,
        is_handshake: bool,
        session: Option<&str>,
        headers: Headers,
    ) -> Result<Response, Trouble> {
        let mut url = self.url().clone();
        for _ in 0..=PLUGIN_REDIRECTS_MAX {
            let request = self.request(Method::POST, url.clone(), session, headers.clone());
            let request = request.header(CONTENT_TYPE, "application/json").body(text.clone());
            let response = request.send().await.map_err(|error| self.broke(error))?;
            if !response.status().is_redirection() {
                *self.url() = url;
                return Ok(response);
            }
            url = self.redirected(&url, &response, is_handshake)?;
        }
        Err(Trouble::broken("it redirects again and again"))
    }

    /// What came of a message that was posted.
    async fn received(
        &self,
        response: Response,
        request: Option<RequestId>,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let status = response.status();
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let Some(request) = request else {
            // Nobody waits for an answer.
            return match status.is_success() {
                true => Ok(StreamableHttpPostResponse::Accepted),
                false => {
                    Err(Fault::Client(Trouble::broken(format!("it answered with HTTP status {status}"))))
                }
            };
        };
        let kind = media_type(&response);
        match (status, kind.as_str()) {
            (StatusCode::NOT_FOUND, _) if has_session => {
                self.0.tap.retire();
                let words = "its HTTP session has ended (HTTP status 404); the next use begins a new one";
                Err(Fault::Client(Trouble::broken(words)))
            }
            (StatusCode::ACCEPTED | StatusCode::NO_CONTENT, _) => {
                let words = "it took the request and answered nothing".to_owned();
                Err(Fault::Client(Trouble::Protocol(words)))
            }
            (status, "text/event-stream") if status.is_success() => {
                Ok(StreamableHttpPostResponse::Sse(self.tapped(response, None), session))
            }
            (status, "application/json") if status.is_success() => {
                let body =
                    self.read(response, limits::PLUGIN_MESSAGE_MAX_BYTES).await.map_err(Fault::Client)?;
                let message = self.answer(&body, &request).map_err(Fault::Client)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            (status, _) if status.is_success() => {
                let words = format!("it answered with the media type {:?}", self.said(kind));
                Err(Fault::Client(Trouble::Protocol(words)))
            }
            (status, _) => {
                // 404 is what the protocol says of a session that the server has forgotten. Many say 400.
                if status.is_client_error() && !KEEPS_THE_SESSION.contains(&status) && has_session {
                    self.0.tap.retire();
                }
                match self.explain(response).await {
                    Trouble::Refused { code, message } => {
                        let code = ErrorCode(i32::try_from(code).unwrap_or(i32::MIN));
                        let error = ErrorData::new(code, message, None);
                        let message = ServerJsonRpcMessage::error(error, Some(request));
                        Ok(StreamableHttpPostResponse::Json(message, session))
                    }
                    trouble => Err(Fault::Client(trouble)),
                }
            }
        }
    }

    /// The answer in a body, which is the answer to this request.
    fn answer(&self, body: &[u8], request: &RequestId) -> Result<ServerJsonRpcMessage, Trouble> {
        match self.hear(body) {
            Heard::Noise => Err(Trouble::Protocol("its answer is no JSON-RPC".to_owned())),
            Heard::Nothing => Err(Trouble::Protocol("its answer is to another request".to_owned())),
            Heard::Message(message) => match &*message {
                JsonRpcMessage::Response(response) if response.id == *request => Ok(*message),
                JsonRpcMessage::Error(error) if error.id.as_ref() == Some(request) => Ok(*message),
                _ => Err(Trouble::Protocol("its answer is to another request".to_owned())),
            },
        }
    }

    /// The events of a stream, of which the SDK sees what concerns it.
    fn tapped(&self, response: Response, hearing: Option<Hearing>) -> EventStream {
        let http = self.clone();
        let tapped = events::bounded(response).filter_map(move |event| {
            let _hears_until_dropped = &hearing;
            std::future::ready(http.passes(event).transpose())
        });
        tapped.boxed()
    }

    /// What the SDK sees of an event: the id and the pause of every one, and the message of some.
    fn passes(&self, event: Result<Sse, SseError>) -> Result<Option<Sse>, SseError> {
        let mut event = event.inspect_err(|error| {
            if events::is_too_large(error) {
                let most = limits::PLUGIN_MESSAGE_MAX_BYTES;
                self.0.tap.end(Trouble::broken(format!("it sent a message of more than {most} bytes")));
            }
        })?;
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        let data = event.data.take().filter(|data| is_message && !data.trim().is_empty());
        if let Some(data) = data {
            match self.hear(data.as_bytes()) {
                Heard::Message(message) => event.data = serde_json::to_string(&message).ok(),
                Heard::Nothing => {}
                Heard::Noise => self.0.tap.log.note(format_args!("an event of its stream is no message")),
            }
        }
        let says_something = event.data.is_some() || event.id.is_some() || event.retry.is_some();
        Ok(says_something.then_some(event))
    }

    fn hear(&self, message: &[u8]) -> Heard {
        self.0.tap.hear(message, &mut |answer| self.send_aside(answer))
    }

    /// Posts an answer to a question of the server's, beside everything else.
    fn send_aside(&self, text: String) {
        let Ok(place) = self.0.answers.clone().try_acquire_owned() else {
            self.0.tap.log.note(format_args!("an answer to it was dropped: too many wait"));
            return;
        };
        let http = self.clone();
        tokio::spawn(async move {
            let (session, headers) = http.last().clone();
            let post = http.post(text, false, session.as_deref(), headers);
            let _ = tokio::time::timeout(PLUGIN_GOODBYE_MAX, post).await;
            drop(place);
        });
    }

    /// Where a redirect leads to, if it may be followed.
    fn redirected(&self, url: &Url, response: &Response, is_handshake: bool) -> Result<Url, Trouble> {
        let status = response.status();
        let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
        let Some(target) = target.and_then(|target| url.join(target).ok()) else {
            return Err(Trouble::broken(format!(
                "it answered with a redirect to nowhere (HTTP status {status})"
            )));
        };
        if target.origin() != url.origin() {
            let origin = self.said(target.origin().ascii_serialization());
            return Err(Trouble::broken(format!(
                "it redirects to another origin, {origin}, which is not followed"
            )));
        }
        let keeps_the_method =
            matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        if !is_handshake || !keeps_the_method {
            let path = self.said(target.path().to_owned());
            let reason = format!("it redirects to {path} (HTTP status {status}), which is not followed");
            return Err(Trouble::broken(reason));
        }
        Ok(target)
    }

    /// What became of a connection in the middle. The server may have become another one.
    fn broke(&self, error: reqwest::Error) -> Trouble {
        self.0.tap.retire();
        if error.is_connect() {
            let words = format!("it can't be connected to, so nothing was sent: {}", words(error));
            return Trouble::Unsent(words.into());
        }
        Trouble::broken(format!("the connection to it broke: {}", words(error)))
    }

    /// A whole body, if it is no larger than this.
    async fn read(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.broke(error))? {
            if body.len() + bytes.len() > most {
                return Err(Trouble::Protocol(format!("it sent a message of more than {most} bytes")));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// Words of the server's as they may be shown.
    fn said(&self, text: String) -> String {
        rpc::shown(&self.0.tap.veil.over(text))
    }

    /// What a failure says: a JSON-RPC error, or a status.
    async fn explain(&self, response: Response) -> Trouble {
        let status = response.status();
        let is_text = matches!(media_type(&response).as_str(), "application/json" | "text/plain" | "");
        let body = self.read(response, EXPLANATION_MAX_BYTES).await.unwrap_or_default();
        let error = match rpc::incoming(&body) {
            Some(Incoming::Response { outcome: Outcome::Error { code, message, .. }, .. }) => {
                Some((code, message))
            }
            // A server that rejects a request before it reads it knows no id.
            Some(Incoming::Stray) => rpc::error_without_id(&body),
            _ => None,
        };
        if let Some((code, message)) = error {
            let message = self.said(message);
            return Trouble::Refused { code, message };
        }
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => " (does it need a header with a key?)",
            _ => "",
        };
        let text =
            if is_text { self.said(String::from_utf8_lossy(&body).into_owned()) } else { String::new() };
        let colon = if text.is_empty() { "" } else { ": " };
        Trouble::broken(format!("it answered with HTTP status {status}{hint}{colon}{text}"))
    }
}

/// For as long as it lives, changes of the tools are heard.
struct Hearing(Arc<Tap>);

impl Hearing {
    fn begin(tap: Arc<Tap>) -> Self {
        tap.hear_changes(true);
        Self(tap)
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.0.hear_changes(false);
    }
}

/// The media type without its parameters, in small letters.
fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}
