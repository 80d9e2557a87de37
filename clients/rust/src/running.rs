//! A request that tells what happens while it runs.

use std::collections::VecDeque;
use std::fmt;

use axlr_protocol::EventBody;
use axlr_protocol::codec::AnyResponse;
use axlr_protocol::tool::{ExecSignalArguments, ExecWriteArguments, SignalName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::sync::mpsc;

use crate::connection::{Client, InFlight};
use crate::error::CallError;

/// Most bytes of stdin in one request; as base64 they stay well below the largest request.
const STDIN_CHUNK_BYTES: usize = 1024 * 1024;

/// Events that are kept while the request is steered by the task that takes them.
const EVENTS_KEPT: usize = 256;

/// A request in flight. Dropping it cancels the request.
pub struct Running {
    flight: InFlight,
    events: mpsc::Receiver<EventBody>,
    /// Taken from the channel while something else was awaited.
    kept: VecDeque<EventBody>,
}

impl Running {
    pub(crate) fn new(flight: InFlight, events: mpsc::Receiver<EventBody>) -> Running {
        Running { flight, events, kept: VecDeque::new() }
    }

    /// The id that the client gave it.
    pub fn request_id(&self) -> String {
        self.flight.request_id()
    }

    /// The next event; `None` when the response has come, or the connection is broken, and no event is left.
    ///
    /// Nothing is lost when this future is dropped, so it may stand in a `select!`.
    pub async fn next_event(&mut self) -> Option<EventBody> {
        match self.kept.pop_front() {
            Some(event) => Some(event),
            None => self.events.recv().await,
        }
    }

    /// The response, whatever its status. Events that were not taken are passed over.
    ///
    /// # Errors
    /// [`CallError::Broken`] when the connection ended before it came.
    pub async fn response(mut self) -> Result<AnyResponse, CallError> {
        // Taken, so that they don't hold the connection up. The channel ends with the response.
        while self.events.recv().await.is_some() {}
        self.flight.response().await
    }

    /// Writes to the child's stdin, which must have been started with `stdin_open`. Returns when the pipe took it.
    ///
    /// A child may stop reading until its output is taken. A few hundred events are kept meanwhile for
    /// [`Running::next_event`]; for more than small inputs write through [`Running::control`] in a task of its own.
    ///
    /// # Errors
    /// `not_running` when the child or its stdin has ended.
    pub async fn write_stdin(&mut self, data: impl AsRef<[u8]>) -> Result<(), CallError> {
        let control = self.control();
        self.keeping_events(control.write_stdin(data)).await
    }

    /// Ends the child's stdin.
    ///
    /// # Errors
    /// As [`Running::write_stdin`].
    pub async fn close_stdin(&mut self) -> Result<(), CallError> {
        let control = self.control();
        self.keeping_events(control.close_stdin()).await
    }

    /// Sends a signal to the child's process group.
    ///
    /// # Errors
    /// `not_running` when the child has ended.
    pub async fn signal(&mut self, signal: SignalName) -> Result<(), CallError> {
        let control = self.control();
        self.keeping_events(control.signal(signal)).await
    }

    /// Asks for the end of the request and returns at once. The response still comes: `cancelled`, or the real outcome
    /// when that won the race.
    pub fn cancel(&self) {
        self.flight.cancel();
    }

    /// A handle on the request for another task: one that writes stdin, say, while this one takes events. It does not
    /// keep the request alive.
    pub fn control(&self) -> Control {
        Control { client: self.flight.client().clone(), request_id: self.request_id() }
    }

    /// The answer to a control request comes behind this request's events on the connection, so some are taken first.
    async fn keeping_events<T>(&mut self, answer: impl Future<Output = T>) -> T {
        tokio::pin!(answer);
        loop {
            let has_room = self.kept.len() < EVENTS_KEPT;
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                Some(event) = self.events.recv(), if has_room => self.kept.push_back(event),
            }
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("request_id", &self.request_id()).finish_non_exhaustive()
    }
}

/// Steers a running request. See [`Running::control`].
#[derive(Debug, Clone)]
pub struct Control {
    client: Client,
    request_id: String,
}

impl Control {
    /// See [`Running::write_stdin`].
    ///
    /// # Errors
    /// As there.
    pub async fn write_stdin(&self, data: impl AsRef<[u8]>) -> Result<(), CallError> {
        for chunk in data.as_ref().chunks(STDIN_CHUNK_BYTES) {
            self.write(Some(BASE64.encode(chunk)), None).await?;
        }
        Ok(())
    }

    /// See [`Running::close_stdin`].
    ///
    /// # Errors
    /// As there.
    pub async fn close_stdin(&self) -> Result<(), CallError> {
        self.write(None, Some(true)).await
    }

    /// See [`Running::signal`].
    ///
    /// # Errors
    /// As there.
    pub async fn signal(&self, signal: SignalName) -> Result<(), CallError> {
        self.client.exec_signal(ExecSignalArguments { request_id: self.request_id.clone(), signal }).await
    }

    /// See [`Running::cancel`]. [`Client::request_cancel`] waits, and tells whether the request was still running.
    pub fn cancel(&self) {
        self.client.cancel(&self.request_id);
    }

    async fn write(&self, base64: Option<String>, eof: Option<bool>) -> Result<(), CallError> {
        let request_id = self.request_id.clone();
        self.client.exec_write(ExecWriteArguments { request_id, data: None, base64, eof }).await
    }
}
