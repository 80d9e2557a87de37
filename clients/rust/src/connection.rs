//! One connection: what is in flight on it, and the task that reads it.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axlr_protocol::codec::{self, AnyResponse, CodecError, Message};
use axlr_protocol::frame::{Decoder, Frame};
use axlr_protocol::tool::RequestCancelArguments;
use axlr_protocol::{Call, Encoding, Event, EventBody, Request, limits};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::error::{CallError, ConnectError};
use crate::outgoing::Outgoing;
use crate::socket;
use crate::workspace::Workspace;

/// Events of one request that wait to be taken before the connection is no longer read.
pub const EVENTS_WAITING: usize = 32;

/// Largest document that is read. Responses and events are far smaller.
const MESSAGE_MAX_BYTES: usize = limits::FRAME_LENGTH_END as usize - 1;

/// A connection to a daemon. Clones share it; it is closed when the last clone, [`Workspace`] and
/// [`crate::Running`] is gone.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// What callers and the two tasks share.
struct Shared {
    encoding: Encoding,
    outgoing: Outgoing,
    next_id: AtomicU64,
    flights: Mutex<HashMap<u64, Flight>>,
    /// Why the connection is over.
    broken: watch::Sender<Option<Arc<str>>>,
}

/// A request that waits for its response.
struct Flight {
    response: oneshot::Sender<AnyResponse>,
    events: Option<mpsc::Sender<EventBody>>,
}

/// What the caller holds of it. Dropping it before the response has come cancels the request.
pub(crate) struct InFlight {
    client: Client,
    id: u64,
    response: oneshot::Receiver<AnyResponse>,
}

impl Client {
    /// Connects to the daemon's socket.
    ///
    /// # Errors
    /// Nobody listens there, or somebody who is not this user: then nothing is sent.
    pub async fn connect(path: impl AsRef<Path>, encoding: Encoding) -> Result<Client, ConnectError> {
        let (reader, writer) = socket::connect(path.as_ref()).await?.into_split();
        Ok(Client::over(reader, writer, encoding))
    }

    /// Speaks over any pair of streams: the pipes of `axlrd --stdio`, or of `ssh HOST axlrd --stdio`.
    ///
    /// Must be called within a tokio runtime, which reads the connection from then on.
    pub fn over(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Send + 'static,
        encoding: Encoding,
    ) -> Client {
        let shared = Arc::new(Shared {
            encoding,
            outgoing: Outgoing::new(writer),
            next_id: AtomicU64::new(1),
            flights: Mutex::default(),
            broken: watch::Sender::new(None),
        });
        let (reading, writing) = (shared.clone(), shared.clone());
        let tasks = [
            tokio::spawn(async move {
                let reason = reading.read(reader).await;
                reading.end(reason);
            }),
            tokio::spawn(async move {
                let error = writing.outgoing.run().await;
                writing.end(format!("it can't be written: {error}"));
            }),
        ];
        Client(Arc::new(Inner { shared, tasks }))
    }

    /// The workspace of that id, which the daemon gave to this connection or has from its start.
    pub fn workspace(&self, id: impl Into<Arc<str>>) -> Workspace {
        Workspace::new(self.clone(), Some(id.into()))
    }

    /// The connection's default workspace: the daemon's first root, or what was opened as the default.
    pub fn default_workspace(&self) -> Workspace {
        Workspace::new(self.clone(), None)
    }

    /// Calls any tool and returns the daemon's response, whatever its status.
    ///
    /// # Errors
    /// No response came, or the request can't be sent.
    pub async fn call(&self, call: Call, workspace: Option<&str>) -> Result<AnyResponse, CallError> {
        self.begin(call, workspace, None).await?.response().await
    }

    /// Waits until the connection is over, and tells why.
    pub async fn closed(&self) -> Arc<str> {
        let mut broken = self.0.shared.broken.subscribe();
        let reason = broken.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_else(|| Arc::from("it was closed"))
    }

    /// Asks for the end of a request without waiting. The answer is passed over: it is nobody's.
    pub(crate) fn cancel(&self, request_id: &str) {
        let shared = &self.0.shared;
        let call = Call::RequestCancel(RequestCancelArguments { request_id: request_id.to_owned() });
        let request_id = shared.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        // A request of this size can always be encoded.
        let _ = shared.send(&Request { request_id, workspace: None, stream: false, call });
    }

    pub(crate) async fn begin(
        &self,
        call: Call,
        workspace: Option<&str>,
        events: Option<mpsc::Sender<EventBody>>,
    ) -> Result<InFlight, CallError> {
        let shared = &self.0.shared;
        shared.outgoing.room().await;
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let request = Request {
            request_id: id.to_string(),
            workspace: workspace.map(str::to_owned),
            stream: events.is_some(),
            call,
        };
        let (answer, response) = oneshot::channel();
        shared.register(id, Flight { response: answer, events })?;
        if let Err(error) = shared.send(&request) {
            shared.flights().remove(&id);
            return Err(error.into());
        }
        Ok(InFlight { client: self.clone(), id, response })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let broken = self.0.shared.broken.borrow().clone();
        f.debug_struct("Client").field("broken", &broken).finish_non_exhaustive()
    }
}

impl InFlight {
    pub(crate) fn request_id(&self) -> String {
        self.id.to_string()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks for its end; the response still comes.
    pub(crate) fn cancel(&self) {
        self.client.cancel(&self.request_id());
    }

    pub(crate) async fn response(mut self) -> Result<AnyResponse, CallError> {
        (&mut self.response).await.map_err(|_| self.client.0.shared.broken())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let is_unanswered = self.client.0.shared.flights().remove(&self.id).is_some();
        if is_unanswered {
            self.client.cancel(&self.request_id());
        }
    }
}

impl Shared {
    fn flights(&self) -> MutexGuard<'_, HashMap<u64, Flight>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, id: u64, flight: Flight) -> Result<(), CallError> {
        let mut flights = self.flights();
        // Looked at under the lock: `end` empties the map after it has set this.
        if self.broken.borrow().is_some() {
            drop(flights);
            return Err(self.broken());
        }
        flights.insert(id, flight);
        Ok(())
    }

    fn send(&self, request: &Request) -> Result<(), CodecError> {
        self.outgoing.send(|buffer| codec::request(self.encoding, request, buffer))
    }

    fn broken(&self) -> CallError {
        let reason = self.broken.borrow().clone();
        CallError::Broken { reason: reason.unwrap_or_else(|| Arc::from("it was closed")) }
    }

    /// The connection is over: everybody who waits learns why. The first reason stays.
    fn end(&self, reason: String) {
        self.broken.send_if_modified(|broken| {
            let is_first = broken.is_none();
            broken.get_or_insert(Arc::from(reason));
            is_first
        });
        self.outgoing.abandon();
        // Dropped outside of the lock: a receiver may wake at once.
        let flights = std::mem::take(&mut *self.flights());
        drop(flights);
    }

    /// Reads until the end, and tells what it was.
    async fn read(&self, mut reader: impl AsyncRead + Unpin) -> String {
        let mut decoder = Decoder::new(MESSAGE_MAX_BYTES);
        loop {
            match reader.read_buf(decoder.buffer()).await {
                Ok(0) if decoder.finish().is_some() => {
                    return "axlrd ended it in the middle of a message".to_owned();
                }
                Ok(0) => return "axlrd ended it".to_owned(),
                Ok(_) => {}
                Err(error) => return format!("it can't be read: {error}"),
            }
            if decoder.encoding().is_some_and(|encoding| encoding != self.encoding) {
                return "axlrd answers in another encoding".to_owned();
            }
            while let Some(frame) = decoder.next() {
                let Frame::Request(document) = frame else {
                    return format!("axlrd sent a message over {MESSAGE_MAX_BYTES} bytes");
                };
                if let Err(reason) = self.dispatch(document).await {
                    return reason;
                }
            }
        }
    }

    async fn dispatch(&self, document: &[u8]) -> Result<(), String> {
        match codec::message(self.encoding, document) {
            Ok(Message::Response(response)) => self.respond(response),
            Ok(Message::Event(event)) => {
                self.deliver(event).await;
                Ok(())
            }
            // A later version may say more than this one knows.
            Err(CodecError::UnknownEvent(_)) => Ok(()),
            Err(error) => Err(format!("axlrd sent what is no message: {error}")),
        }
    }

    fn respond(&self, response: AnyResponse) -> Result<(), String> {
        if response.request_id.is_empty() {
            let message = response.error.map_or_else(String::new, |error| error.message);
            return Err(format!("axlrd could not read a request: {message}"));
        }
        let flight = number(&response.request_id).and_then(|id| self.flights().remove(&id));
        // Without a flight: nobody waits for it any more.
        if let Some(flight) = flight {
            let _ = flight.response.send(response);
        }
        Ok(())
    }

    /// Waits while the request's events are not taken: see the crate's docs.
    async fn deliver(&self, event: Event) {
        let Some(id) = number(&event.request_id) else { return };
        let events = self.flights().get(&id).and_then(|flight| flight.events.clone());
        let Some(events) = events else { return };
        if let Err(TrySendError::Full(body)) = events.try_send(event.body) {
            // An error here means that the `Running` was dropped.
            let _ = events.send(body).await;
        }
    }
}

/// Ids are made here, so every other one is nobody's.
fn number(request_id: &str) -> Option<u64> {
    request_id.parse().ok()
}
