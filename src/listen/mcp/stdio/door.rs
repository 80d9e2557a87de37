//! The transport: bytes in, lines to the desk (`desk.rs`), and lines out.
//!
//! The SDK polls it for the next message; all reading and all writing happens there, in one task. Whoever else has
//! something to say puts it into [`Flights`].

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axlr_protocol::frame::{Decoder, Frame};
use axlr_protocol::limits;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until, timeout};

use super::desk::Desk;
use super::flights::Flights;
use super::streams::{Input, Output};
use crate::capacity::FAREWELL_CALLS;
use crate::listen::hangup::Hangup;
use crate::listen::mcp::caller::Caller;
use crate::listen::mcp::message;
use crate::listen::mcp::service::Service;

/// Lines taken in a row before others have their turn.
const LINES_IN_A_ROW: usize = 64;
/// A buffer that grew past this is given back when it is empty.
const KEPT_BYTES: usize = 16 * 1024;
/// How long the last lines may take to be written.
const FAREWELL_LINES: Duration = Duration::from_secs(1);

/// The client's end.
pub(super) struct Door<C> {
    desk: Desk<C>,
    flights: Arc<Flights>,
    input: Input,
    state: State,
    decoder: Decoder,
    output: Output,
    /// Being written; the first `written` bytes are.
    lines: Vec<u8>,
    written: usize,
    hangup: Hangup,
}

#[derive(Clone, Copy)]
enum State {
    /// More may come.
    Open,
    /// Nothing more comes; until then the calls may be answered.
    Ended(Instant),
    /// And all that had come is taken.
    Taken(Instant),
}

/// Nobody reads what is written any more.
struct Gone;

/// What became of the input that is here.
enum Taken {
    Message(Box<ClientJsonRpcMessage>),
    Line,
    Nothing,
}

impl<C: Caller> Door<C> {
    pub(super) fn new(service: Arc<Service<C>>, input: Input, output: Output) -> Self {
        let mut decoder = Decoder::new(limits::REQUEST_MAX_BYTES);
        // An empty line says nothing, but that these are lines: a first byte of zero would ask for MessagePack.
        decoder.buffer().push(b'\n');
        let flights = Arc::new(Flights::default());
        Self {
            desk: Desk::new(service, flights.clone()),
            flights,
            input,
            state: State::Open,
            decoder,
            output,
            lines: Vec::new(),
            written: 0,
            hangup: Hangup::watch(rustix::stdio::stdout()),
        }
    }

    /// The next message for the SDK; `None` at the end. Whatever happens on the way is kept in `self`, so that the future
    /// may be dropped where it waits.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let took_all = 'lines: {
                for _ in 0..LINES_IN_A_ROW {
                    match poll_fn(|context| Poll::Ready(self.take(context))).await {
                        Taken::Message(message) => return Some(*message),
                        Taken::Line => {}
                        Taken::Nothing => break 'lines true,
                    }
                }
                false
            };
            if self.flush().await.is_err() {
                return None;
            }
            if !took_all {
                tokio::task::yield_now().await;
                continue;
            }
            if matches!(self.state, State::Taken(_)) && !self.flights.has_calls() && self.is_written() {
                return None;
            }
            if self.wait().await.is_err() {
                return None;
            }
        }
    }

    /// Takes one line.
    fn take(&mut self, context: &mut Context<'_>) -> Taken {
        if !self.flights.has_room() {
            return Taken::Nothing;
        }
        let frame = match self.state {
            State::Open | State::Ended(_) => self.decoder.next(),
            State::Taken(_) => self.decoder.finish(),
        };
        match (frame, self.state) {
            (None, State::Ended(end)) => {
                // Once more, for a last line without its end.
                self.state = State::Taken(end);
                Taken::Line
            }
            (None, State::Open | State::Taken(_)) => Taken::Nothing,
            (Some(Frame::Request(line)), _) => match self.desk.take(line, context) {
                Some(message) => Taken::Message(Box::new(message)),
                None => Taken::Line,
            },
            (Some(refused), _) => {
                let is_last = refused == Frame::Abandon;
                let reason = refused.document().err().map_or_else(String::new, |malformed| malformed.message);
                self.flights
                    .put(|out| message::put_error(out, None, ErrorData::invalid_request(reason, None)));
                if is_last {
                    self.end_of_input();
                }
                Taken::Line
            }
        }
    }

    fn end_of_input(&mut self) {
        if matches!(self.state, State::Open) {
            self.state = State::Ended(Instant::now() + FAREWELL_CALLS);
        }
    }

    /// Writes what is taken without waiting.
    async fn flush(&mut self) -> Result<(), Gone> {
        while self.refill() {
            let rest = &self.lines[self.written..];
            let output = &mut self.output;
            let once = poll_fn(|context| match output.as_mut().poll_write(context, rest) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => Poll::Ready(None),
            });
            match once.await {
                Some(result) => self.wrote(result)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes what waits to be written. `false` when there is nothing.
    fn refill(&mut self) -> bool {
        if self.written == self.lines.len() {
            self.written = 0;
            self.lines.clear();
            if self.lines.capacity() > KEPT_BYTES {
                self.lines = Vec::new();
            }
            self.flights.collect(&mut self.lines);
        }
        !self.lines.is_empty()
    }

    fn is_written(&mut self) -> bool {
        !self.refill()
    }

    fn wrote(&mut self, result: io::Result<usize>) -> Result<(), Gone> {
        match result {
            Ok(bytes) if bytes > 0 => {
                self.written += bytes;
                Ok(())
            }
            _ => Err(Gone),
        }
    }

    /// Waits for whatever comes first.
    async fn wait(&mut self) -> Result<(), Gone> {
        let is_writing = self.written < self.lines.len();
        let may_read = matches!(self.state, State::Open) && self.flights.has_room();
        let end = match self.state {
            State::Open => None,
            State::Ended(end) | State::Taken(end) => Some(end),
        };
        tokio::select! {
            result = self.output.write(&self.lines[self.written..]), if is_writing => self.wrote(result),
            result = self.input.read_buf(self.decoder.buffer()), if may_read => {
                // An input that can't be read has nothing more to say.
                if !matches!(result, Ok(bytes) if bytes > 0) {
                    self.end_of_input();
                }
                Ok(())
            }
            () = self.flights.changed() => Ok(()),
            () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => {
                tracing::info!("the input has ended; calls that are not answered yet are cancelled");
                self.flights.cancel_all();
                Err(Gone)
            }
            () = self.hangup.gone() => Err(Gone),
        }
    }
}

impl<C: Caller> Transport<RoleServer> for Door<C> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.desk.send(&message);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.next().await;
        if message.is_none() {
            self.flights.cancel_all();
        }
        message
    }

    /// Writes what the SDK said last.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.flights.cancel_all();
        let write_all = async {
            while self.refill() {
                let result = self.output.write(&self.lines[self.written..]).await;
                if self.wrote(result).is_err() {
                    return;
                }
            }
        };
        let _ = timeout(FAREWELL_LINES, write_all).await;
        Ok(())
    }
}

impl<C> Drop for Door<C> {
    fn drop(&mut self) {
        self.flights.cancel_all();
    }
}
