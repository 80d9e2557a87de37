//! One request and its answer, whole or as a stream.

use std::sync::Arc;

use futures_util::stream;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use url::Url;

use super::failure::Dialect;
use super::wire::{Decode, Queue, Wire, events_of};
use super::{Boxed, Error, EventStream, Provider, Reply, Request, StreamEvent, failure, limits};
use crate::net::Client;
use crate::net::connector::root_cause;
use crate::secret::Secret;

/// How one server is spoken to.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) client: Client,
    /// What no message may hold.
    pub(crate) secrets: Arc<[Secret]>,
    /// What statuses mean.
    pub(crate) dialect: Dialect,
    /// What to do where nobody listens.
    pub(crate) hint: &'static str,
}

impl Exchange {
    /// Sends a request; the answer has a good status and an unread body.
    pub(crate) async fn send(&self, url: &Url, headers: HeaderMap, body: Vec<u8>) -> Result<Response, Error> {
        let sent = self.client.post(url.clone()).headers(headers).body(body).send().await;
        let response = sent.map_err(|error| self.tidy(self.unreachable(url, &error)))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refusal(response).await) }
    }

    /// The body as JSON.
    pub(crate) async fn json(&self, mut response: Response) -> Result<Value, Error> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= limits::REPLY_MAX_BYTES => {
                    body.extend_from_slice(&chunk);
                }
                Ok(Some(_)) => {
                    return Err(Error::server(format!(
                        "the reply exceeds {} bytes",
                        limits::REPLY_MAX_BYTES
                    )));
                }
                Ok(None) => break,
                Err(error) => {
                    return Err(
                        self.tidy(Error::server(format!("failed to read response: {}", root_cause(&error))))
                    );
                }
            }
        }
        serde_json::from_slice(&body)
            .map_err(|error| Error::server(format!("failed to parse response: {error}")))
    }

    /// The body as events.
    pub(crate) fn events(&self, response: Response, decoder: Box<dyn Decode>) -> EventStream {
        let reading = Reading {
            response,
            decoder,
            exchange: self.clone(),
            queue: Queue::new(),
            received_bytes: 0,
            ending: Ending::Open,
        };
        Box::pin(stream::unfold(reading, |mut reading| async move {
            let event = reading.next().await?;
            Some((event, reading))
        }))
    }

    pub(crate) fn tidy(&self, error: Error) -> Error {
        error.tidied(&self.secrets)
    }

    fn unreachable(&self, url: &Url, error: &reqwest::Error) -> Error {
        // Only the origin: a user name in the URL is a secret.
        let origin = url.origin().ascii_serialization();
        let hint = if error.is_connect() { self.hint } else { "" };
        Error::server(format!("cannot reach {origin}: {}{hint}", root_cause(error)))
    }

    async fn refusal(&self, mut response: Response) -> Error {
        let mut body = Vec::new();
        // What cannot be read is done without: the status says enough.
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > limits::ERROR_MAX_BYTES {
                break;
            }
        }
        self.tidy(failure::from_status(response.status(), response.headers(), &body, self.dialect))
    }
}

/// A stream while it is read.
struct Reading {
    response: Response,
    decoder: Box<dyn Decode>,
    exchange: Exchange,
    queue: Queue,
    received_bytes: usize,
    ending: Ending,
}

enum Ending {
    /// More may come.
    Open,
    /// The reply is complete.
    Done,
    /// This comes after what was read before it.
    Failed(Error),
    /// Nothing comes.
    Over,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<StreamEvent, Error>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                if matches!(event, StreamEvent::Done { .. }) {
                    self.queue.clear();
                    self.ending = Ending::Done;
                }
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.ending, Ending::Over) {
                Ending::Over => return None,
                Ending::Failed(error) => return Some(Err(self.exchange.tidy(error))),
                Ending::Done => {
                    // The end of the body frees the connection for the next turn.
                    let rest = async { while let Ok(Some(_)) = self.response.chunk().await {} };
                    let _ = tokio::time::timeout(limits::LINGER, rest).await;
                    return None;
                }
                Ending::Open => self.ending = self.read().await,
            }
        }
    }

    async fn read(&mut self) -> Ending {
        let outcome = match self.response.chunk().await {
            Ok(Some(chunk)) => {
                self.received_bytes += chunk.len();
                if self.received_bytes > limits::STREAM_MAX_BYTES {
                    return Ending::Failed(Error::server(format!(
                        "the stream exceeds {} bytes",
                        limits::STREAM_MAX_BYTES
                    )));
                }
                self.decoder.push(&chunk, &mut self.queue).map(|()| Ending::Open)
            }
            Ok(None) => self.decoder.end(&mut self.queue).map(|()| {
                // Skipped when a `Done` is among what was read last.
                Ending::Failed(Error::server("the stream ended early"))
            }),
            Err(error) => Err(Error::server(format!("stream read error: {}", root_cause(&error)))),
        };
        outcome.unwrap_or_else(Ending::Failed)
    }
}

/// A provider with one address and one wire format.
pub(crate) struct Endpoint {
    pub(crate) exchange: Exchange,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) wire: Box<dyn Wire>,
}

impl Endpoint {
    async fn send(&self, request: &Request, is_streamed: bool) -> Result<Response, Error> {
        let body = self.wire.body(request, is_streamed).to_string().into_bytes();
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.exchange.send(&self.url, headers, body).await
    }

    async fn reply(&self, request: &Request, response: Response) -> Result<Reply, Error> {
        let body = self.exchange.json(response).await?;
        self.wire.reply(request, &body).map_err(|error| self.exchange.tidy(error))
    }
}

impl Provider for Endpoint {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, Error>> {
        Box::pin(async move {
            let response = self.send(request, false).await?;
            self.reply(request, response).await
        })
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let response = self.send(request, true).await?;
            if self.wire.takes_json_for_whole() && is_json(response.headers()) {
                // There are servers that do not stream, whatever they are asked.
                let reply = self.reply(request, response).await?;
                return Ok(Box::pin(stream::iter(events_of(reply).into_iter().map(Ok))) as EventStream);
            }
            Ok(self.exchange.events(response, self.wire.decoder()))
        })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    content_type.to_ascii_lowercase().starts_with(b"application/json")
}

#[cfg(test)]
mod tests;
