//! Requests to one address: headers, answers, streams.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axlr_protocol::limits;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use tokio::sync::mpsc;

use super::client::words;
use super::sse::Events;
use crate::capacity::{PLUGIN_GOODBYE_MAX, PLUGIN_REDIRECTS_MAX, PLUGIN_REOPEN_PAUSE_MIN};
use crate::plugins::exchange::Exchange;
use crate::plugins::rpc::{self, Incoming, Outcome, Trouble};
use crate::plugins::transport::{Ask, Era, MODERN_VERSION};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// One server, as its requests need it.
pub(super) struct Line {
    client: Client,
    /// The plugin's own, on every request.
    headers: HeaderMap,
    pub(super) exchange: Arc<Exchange>,
    asides: mpsc::Sender<String>,
    agreed: Mutex<Agreed>,
}

/// What the handshake settled.
struct Agreed {
    /// Where the server is; a redirect within its origin may have moved it.
    url: Url,
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    era: Era,
}

/// Refusals that say nothing about our session.
const KEEPS_THE_SESSION: [StatusCode; 3] =
    [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS];

/// Most of a body that explains a failure.
const EXPLANATION_MAX_BYTES: usize = 64 * 1024;

impl Line {
    pub(super) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        exchange: Arc<Exchange>,
        asides: mpsc::Sender<String>,
    ) -> Self {
        let agreed = Mutex::new(Agreed { url, session: None, version: None, era: Era::Legacy });
        Self { client, headers, exchange, asides, agreed }
    }

    /// Sends a request once and hands everything that comes for it to the exchange. Returns when nothing more will come.
    pub(super) async fn carry<P: Serialize>(&self, ask: &Ask<'_, P>, text: String) -> Trouble {
        let response = match self.send(ask, text).await {
            Ok(response) => response,
            Err(trouble) => return trouble,
        };
        self.note_session(ask, &response);
        let is_event_stream = media_type(&response) == "text/event-stream";
        match response.status() {
            StatusCode::NOT_FOUND if self.has_session() => self.session_expired(),
            status if status.is_success() && is_event_stream => self.read_stream(response).await,
            status if status.is_success() => self.read_body(response).await,
            status => {
                // 404 is what the protocol says of a session that the server has forgotten. Many say 400.
                if status.is_client_error() && !KEEPS_THE_SESSION.contains(&status) && self.has_session() {
                    self.exchange.retire();
                }
                self.explain(ask.method, response).await
            }
        }
    }

    /// What became of the connection in the middle. The server may have become another one.
    fn broke(&self, error: reqwest::Error) -> Trouble {
        self.exchange.retire();
        if error.is_connect() {
            let words = format!("it can't be connected to, so nothing was sent: {}", words(error));
            return Trouble::Unsent(words.into());
        }
        Trouble::broken(format!("the connection to it broke: {}", words(error)))
    }

    /// Sends a message that has no answer, or whose answer nobody needs.
    pub(super) async fn post_aside(&self, text: String) {
        let (url, headers) = self.place();
        let request = self.request(Method::POST, url, headers).body(text);
        match tokio::time::timeout(PLUGIN_GOODBYE_MAX, request.send()).await {
            Ok(Ok(response)) if response.status().is_success() => {}
            Ok(Ok(response)) => {
                let status = response.status();
                self.exchange.log.note(format_args!("it did not take a notification: HTTP status {status}"));
            }
            Ok(Err(error)) => {
                self.exchange.log.note(format_args!("it did not take a notification: {}", words(error)));
            }
            Err(_) => self.exchange.log.note(format_args!("it did not take a notification in time")),
        }
    }

    /// Ends the session on the server's side, where there is one.
    pub(super) async fn delete(&self) {
        if self.has_session() {
            let (url, headers) = self.place();
            let _ = self.request(Method::DELETE, url, headers).send().await;
        }
    }

    /// Notes what the handshake settled.
    pub(super) fn agreed(&self, version: &str, era: Era) {
        let mut agreed = self.lock();
        agreed.version = HeaderValue::try_from(version).ok();
        agreed.era = era;
    }

    /// Reads the stream of what no request asked for, until it ends. `Some` when it may be opened again, and after which
    /// pause if the server named one.
    pub(super) async fn listen(&self) -> Option<Option<Duration>> {
        let (url, headers) = self.place();
        let response = match self.request(Method::GET, url, headers).send().await {
            Ok(response) => response,
            Err(_) => return Some(None),
        };
        if response.status().is_server_error() {
            return Some(None);
        }
        if !response.status().is_success() || media_type(&response) != "text/event-stream" {
            return None;
        }
        self.exchange.hear_changes(true);
        let mut events = Events::default();
        let trouble = self.read_events(response, &mut events).await;
        self.exchange.hear_changes(false);
        trouble.is_none().then(|| events.retry())
    }

    /// Sends a request; only the handshake follows a redirect, and only within the origin.
    async fn send<P: Serialize>(&self, ask: &Ask<'_, P>, text: String) -> Result<Response, Trouble> {
        let (mut url, mut headers) = self.place();
        if ask.era == Era::Modern {
            headers.insert(VERSION, HeaderValue::from_static(MODERN_VERSION));
            headers.insert(METHOD, HeaderValue::from_static(ask.method));
        }
        headers.extend(ask.headers.clone());
        for _ in 0..=PLUGIN_REDIRECTS_MAX {
            let request = self.request(Method::POST, url.clone(), headers.clone()).body(text.clone());
            let response = request.send().await.map_err(|error| self.broke(error))?;
            if !response.status().is_redirection() {
                self.lock().url = url;
                return Ok(response);
            }
            url = redirected(&url, &response, ask.is_handshake())?;
        }
        Err(Trouble::broken("it redirects again and again"))
    }

    fn request(&self, method: Method, url: Url, headers: HeaderMap) -> RequestBuilder {
        let accepted = match method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let request = self.client.request(method.clone(), url).headers(headers).header(ACCEPT, accepted);
        if method == Method::POST { request.header(CONTENT_TYPE, "application/json") } else { request }
    }

    /// Where the server is, and the headers of every request to it.
    fn place(&self) -> (Url, HeaderMap) {
        let agreed = self.lock();
        let mut headers = self.headers.clone();
        headers.extend(agreed.session.clone().map(|session| (SESSION, session)));
        headers.extend(agreed.version.clone().map(|version| (VERSION, version)));
        (agreed.url.clone(), headers)
    }

    fn note_session<P>(&self, ask: &Ask<'_, P>, response: &Response) {
        if ask.method == "initialize" && response.status().is_success() {
            let session = response.headers().get(SESSION).cloned();
            self.lock().session = session.map(|mut session| {
                // Whoever knows it speaks in our name.
                session.set_sensitive(true);
                session
            });
        }
    }

    fn has_session(&self) -> bool {
        self.lock().session.is_some()
    }

    fn session_expired(&self) -> Trouble {
        self.lock().session = None;
        let trouble =
            Trouble::broken("its HTTP session has ended (HTTP status 404); the next use begins a new one");
        self.exchange.end(trouble.clone());
        trouble
    }

    async fn read_body(&self, response: Response) -> Trouble {
        let kind = media_type(&response);
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Trouble::Protocol("it took the request and answered nothing".to_owned());
        }
        if kind != "application/json" {
            return Trouble::Protocol(format!("it answered with the media type {kind:?}"));
        }
        match self.read(response, limits::PLUGIN_MESSAGE_MAX_BYTES).await {
            Err(trouble) => trouble,
            Ok(body) if self.hear(&body) => Trouble::Protocol("its answer is to another request".to_owned()),
            Ok(_) => Trouble::Protocol("its answer is no JSON-RPC".to_owned()),
        }
    }

    /// Reads a stream to its end. An older server may end the connection and go on where we take the stream up again.
    async fn read_stream(&self, first: Response) -> Trouble {
        let mut events = Events::default();
        let mut response = first;
        loop {
            if let Some(trouble) = self.read_events(response, &mut events).await {
                return trouble;
            }
            let ended =
                || Trouble::broken("it ended the stream before its answer; the request was not sent again");
            let (Some(id), Era::Legacy) = (events.last_id(), self.lock().era) else { return ended() };
            let Ok(id) = HeaderValue::try_from(id) else { return ended() };
            tokio::time::sleep(events.retry().map_or(PLUGIN_REOPEN_PAUSE_MIN, super::bounded)).await;
            let (url, headers) = self.place();
            let resumed = self.request(Method::GET, url, headers).header(LAST_EVENT, id).send().await;
            response = match resumed {
                Ok(resumed)
                    if resumed.status().is_success() && media_type(&resumed) == "text/event-stream" =>
                {
                    resumed
                }
                _ => return ended(),
            };
        }
    }

    /// Hands the messages of a stream over until it ends or breaks, which is the same. `Some` is a fault for good.
    async fn read_events(&self, mut response: Response, events: &mut Events) -> Option<Trouble> {
        while let Ok(Some(bytes)) = response.chunk().await {
            let pushed = events.push(&bytes, |message| {
                if !self.hear(message) {
                    self.exchange.log.note(format_args!("an event of its stream is no message"));
                }
            });
            if pushed.is_err() {
                return Some(too_large());
            }
        }
        events.end_of_stream();
        None
    }

    fn hear(&self, message: &[u8]) -> bool {
        self.exchange.hear(message, &mut |answer| {
            if self.asides.try_send(answer).is_err() {
                self.exchange.log.note(format_args!("an answer to it was dropped: too many wait"));
            }
        })
    }

    /// A whole body, if it is no larger than this.
    async fn read(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.broke(error))? {
            if body.len() + bytes.len() > most {
                return Err(too_large());
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// What a failure says: a JSON-RPC error, or a status.
    async fn explain(&self, method: &'static str, response: Response) -> Trouble {
        let status = response.status();
        let is_json = media_type(&response) == "application/json";
        let body = self.read(response, EXPLANATION_MAX_BYTES).await.unwrap_or_default();
        match rpc::incoming(&body) {
            Some(Incoming::Response { outcome: Outcome::Error { code, message }, .. }) => {
                return Trouble::Refused { method, code, message };
            }
            // A server that rejects a request before it reads it knows no id.
            Some(Incoming::Stray) => {
                if let Some((code, message)) = rpc::error_without_id(&body) {
                    return Trouble::Refused { method, code, message };
                }
            }
            _ => {}
        }
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => " (does it need a header with a key?)",
            _ => "",
        };
        let text = if is_json || body.is_ascii() { String::from_utf8_lossy(&body) } else { "".into() };
        match rpc::shown(&text) {
            text if text.is_empty() => {
                Trouble::broken(format!("it answered with HTTP status {status}{hint}"))
            }
            text => Trouble::broken(format!("it answered with HTTP status {status}{hint}: {text}")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Agreed> {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn redirected(url: &Url, response: &Response, is_handshake: bool) -> Result<Url, Trouble> {
    let status = response.status();
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    let Some(target) = target.and_then(|target| url.join(target).ok()) else {
        return Err(Trouble::broken(format!(
            "it answered with a redirect to nowhere (HTTP status {status})"
        )));
    };
    if target.origin() != url.origin() {
        let origin = target.origin().ascii_serialization();
        return Err(Trouble::broken(format!(
            "it redirects to another origin, {origin}, which is not followed"
        )));
    }
    let keeps_the_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if !is_handshake || !keeps_the_method {
        let path = target.path();
        let reason = format!("it redirects to {path} (HTTP status {status}), which is not followed");
        return Err(Trouble::broken(reason));
    }
    Ok(target)
}

/// The media type without its parameters, in small letters.
fn media_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

fn too_large() -> Trouble {
    let most = limits::PLUGIN_MESSAGE_MAX_BYTES;
    Trouble::Protocol(format!("it sent a message of more than {most} bytes"))
}
