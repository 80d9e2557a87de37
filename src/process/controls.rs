//! What reaches a running program from outside: more stdin, and signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axlr_protocol::limits;
use axlr_protocol::tool::SignalName;
use tokio::sync::{mpsc, oneshot};

/// Why a control had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The program has ended, or its stdin is not open.
    #[error("not running, or its stdin is not open")]
    NotRunning,
    /// Too many bytes wait for its stdin.
    #[error("over {} bytes wait for its stdin", limits::EXEC_STDIN_WAITING_MAX_BYTES)]
    Overloaded,
}

/// The outer end: for whoever passes on `exec.write` and `exec.signal`. When the last one is dropped, an open stdin
/// ends.
#[derive(Debug, Clone)]
pub struct ExecHandle {
    sender: mpsc::UnboundedSender<Control>,
    waiting: Arc<AtomicUsize>,
}

/// The inner end, for [`super::run`].
#[derive(Debug)]
pub struct Controls(pub(super) mpsc::UnboundedReceiver<Control>);

/// A pair of connected ends.
pub fn controls() -> (ExecHandle, Controls) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (ExecHandle { sender, waiting: Arc::default() }, Controls(receiver))
}

#[derive(Debug)]
pub(super) enum Control {
    Write { piece: Piece, eof: bool },
    EndOfInput,
    Signal { signal: SignalName, reply: oneshot::Sender<()> },
}

/// Bytes for stdin. Dropped before all are written, it tells its writer that nobody reads them.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) bytes: Vec<u8>,
    /// None for the stdin that came with the request.
    pub(super) reply: Option<Reply>,
}

/// Answers a writer, and counts its bytes as waiting until then.
#[derive(Debug)]
pub(super) struct Reply {
    sender: Option<oneshot::Sender<()>>,
    bytes: usize,
    waiting: Arc<AtomicUsize>,
}

impl ExecHandle {
    /// Writes to the program's stdin, after all earlier calls; with `eof` that was the last. The future is ready when
    /// the pipe took it; the order is that of the calls, not of the futures.
    ///
    /// # Errors
    /// `NotRunning` when stdin is not open (any more); `Overloaded` when too much waits already.
    ///
    /// Source: SPEC §7, `exec.write`.
    pub fn write(
        &self,
        bytes: Vec<u8>,
        eof: bool,
    ) -> impl Future<Output = Result<(), ControlError>> + Send + use<> {
        let answer = self.enqueue(bytes, eof);
        async move { answer?.await.map_err(|_| ControlError::NotRunning) }
    }

    fn enqueue(&self, bytes: Vec<u8>, eof: bool) -> Result<oneshot::Receiver<()>, ControlError> {
        let length = bytes.len();
        let admit = |waiting: usize| {
            let sum = waiting.saturating_add(length);
            (sum <= limits::EXEC_STDIN_WAITING_MAX_BYTES).then_some(sum)
        };
        self.waiting
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, admit)
            .map_err(|_| ControlError::Overloaded)?;
        let (sender, answer) = oneshot::channel();
        let reply = Reply { sender: Some(sender), bytes: length, waiting: Arc::clone(&self.waiting) };
        self.send(Control::Write { piece: Piece { bytes, reply: Some(reply) }, eof })?;
        Ok(answer)
    }

    /// Ends stdin after what was written: no more will come.
    pub fn end_of_input(&self) {
        // Who has ended needs no end of input.
        let _ = self.send(Control::EndOfInput);
    }

    /// Sends a signal to the program's process group.
    ///
    /// # Errors
    /// `NotRunning` when the program has ended.
    ///
    /// Source: SPEC §7, `exec.signal`.
    pub async fn signal(&self, signal: SignalName) -> Result<(), ControlError> {
        let (reply, answer) = oneshot::channel();
        self.send(Control::Signal { signal, reply })?;
        answer.await.map_err(|_| ControlError::NotRunning)
    }

    fn send(&self, control: Control) -> Result<(), ControlError> {
        self.sender.send(control).map_err(|_| ControlError::NotRunning)
    }
}

impl Piece {
    /// Whether its writer was cancelled.
    pub(super) fn is_given_up(&self) -> bool {
        self.reply.as_ref().and_then(|reply| reply.sender.as_ref()).is_some_and(oneshot::Sender::is_closed)
    }
}

impl Reply {
    pub(super) fn written(mut self) {
        if let Some(sender) = self.sender.take() {
            // Nobody listens when the writer's request was given up.
            let _ = sender.send(());
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}
