//! The older HTTP transport: a stream of server-sent events from the server, a POST for every message to it.
//!
//! Source: MCP 2024-11-05, Transports, HTTP with SSE.

use std::collections::VecDeque;

use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::{Client, Response};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use url::Url;

use crate::net::connector::root_cause;
use crate::provider::lines::{Event, Events};

/// A connection. It ends when the stream does.
pub(super) struct Sse {
    client: Client,
    headers: HeaderMap,
    /// Where messages go; the server says it first.
    endpoint: Url,
    stream: Option<Stream>,
}

/// Why a message did not arrive, or the connection was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseError {
    #[error("{0}")]
    Unreachable(String),
    #[error("it answers with HTTP {0}")]
    Status(u16),
    #[error("it does not say where messages go")]
    NoEndpoint,
    #[error("it sends messages to {0:?}, which is not on its own origin")]
    Endpoint(String),
}

impl Sse {
    /// Connects and waits until the server says where messages go.
    pub(super) async fn connect(client: Client, url: &Url, headers: HeaderMap) -> Result<Self, SseError> {
        let request = client.get(url.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let mut stream = Stream::new(checked(request.send().await)?);
        let endpoint = loop {
            match stream.next().await {
                Some(event) if event.name == "endpoint" => break event.data,
                Some(_) => {}
                None => return Err(SseError::NoEndpoint),
            }
        };
        let endpoint = match url.join(endpoint.trim()) {
            // Its headers may be keys: they go nowhere else.
            Ok(joined) if joined.origin() == url.origin() => joined,
            _ => return Err(SseError::Endpoint(endpoint)),
        };
        Ok(Self { client, headers, endpoint, stream: Some(stream) })
    }
}

impl Transport<RoleClient> for Sse {
    type Error = SseError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseError>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone()).json(&message);
        async move { checked(request.send().await).map(|_| ()) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let stream = self.stream.as_mut()?;
        loop {
            let event = stream.next().await?;
            // What is no message is nothing that a caller waits for.
            if (event.name.is_empty() || event.name == "message")
                && let Ok(message) = serde_json::from_str(&event.data)
            {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), SseError> {
        self.stream = None;
        Ok(())
    }
}

fn checked(answer: reqwest::Result<Response>) -> Result<Response, SseError> {
    let response = answer.map_err(|error| SseError::Unreachable(root_cause(&error)))?;
    match response.status() {
        status if status.is_success() => Ok(response),
        status => Err(SseError::Status(status.as_u16())),
    }
}

/// The events of a response.
struct Stream {
    response: Response,
    events: Events,
    ready: Vec<Event>,
    waiting: VecDeque<Event>,
}

impl Stream {
    fn new(response: Response) -> Self {
        Self { response, events: Events::default(), ready: Vec::new(), waiting: VecDeque::new() }
    }

    /// The next event; nothing is lost when this future is dropped.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let bytes = self.response.chunk().await.ok()??;
            self.events.push(&bytes, &mut self.ready).ok()?;
            self.waiting.extend(self.ready.drain(..));
        }
    }
}
