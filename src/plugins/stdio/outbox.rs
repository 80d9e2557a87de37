//! What waits for a server's stdin. A line that is here will be written whole, whoever forgets about it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::capacity::PLUGIN_STDIN_WAITING_BYTES;
use crate::process::PipeWriter;

/// Written by everybody who has a line, emptied by the session's task.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    /// There is something to write.
    filled: Notify,
    /// There is room again.
    emptied: Notify,
}

#[derive(Default)]
struct State {
    /// None before the start and after the end.
    pipe: Option<Arc<PipeWriter>>,
    bytes: Vec<u8>,
    /// How many of them are written.
    written: usize,
}

impl Outbox {
    /// Begins to write to this pipe.
    pub(super) fn open(&self, pipe: Option<PipeWriter>) {
        self.lock().pipe = pipe.map(Arc::new);
    }

    /// Adds a line. What the pipe takes at once is written here and now: it saves the session's task a turn.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        let Some(pipe) = &state.pipe else { return };
        let taken = if state.bytes.is_empty() { pipe.try_write(line).unwrap_or(0) } else { 0 };
        if taken < line.len() {
            // A fault of the pipe is met again, and heard, by the task.
            state.bytes.extend_from_slice(&line[taken..]);
            self.filled.notify_one();
        }
    }

    /// Adds a line if there is room for it.
    pub(super) fn offer(&self, line: &[u8]) -> bool {
        let has_room = self.lock().has_room();
        if has_room {
            self.push(line);
        }
        has_room
    }

    /// Returns when there is room for a line.
    pub(super) async fn room(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            // Registered before the question, so that no word falls between the two.
            emptied.as_mut().enable();
            if self.lock().has_room() {
                return;
            }
            emptied.await;
        }
    }

    /// Waits until there is something to write and the pipe takes some of it. May be given up: nothing is lost.
    ///
    /// # Errors
    /// Nobody reads the pipe any more.
    pub(super) async fn write(&self) -> io::Result<()> {
        let pipe = loop {
            let filled = self.filled.notified();
            match self.waiting() {
                Some(pipe) => break pipe,
                None => filled.await,
            }
        };
        pipe.writable().await?;
        let mut state = self.lock();
        let State { bytes, written, .. } = &mut *state;
        match pipe.try_write(&bytes[*written..]) {
            Ok(length) => *written += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if state.written == state.bytes.len() {
            // A large line is not remembered by its room.
            state.bytes = Vec::new();
            state.written = 0;
        }
        if state.has_room() {
            self.emptied.notify_waiters();
        }
        Ok(())
    }

    /// Whether everything is written.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting().is_none()
    }

    /// Closes the pipe. Nothing is taken any more.
    pub(super) fn close(&self) {
        *self.lock() = State::default();
        self.emptied.notify_waiters();
    }

    /// The pipe, when something waits for it.
    fn waiting(&self) -> Option<Arc<PipeWriter>> {
        let state = self.lock();
        state.pipe.clone().filter(|_| state.written < state.bytes.len())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.bytes.len() - self.written < PLUGIN_STDIN_WAITING_BYTES
    }
}
