//! Bytes on their way to the daemon.
//!
//! A frame is written by the caller's own task when the daemon takes it at once, which is nearly always: no other task
//! has to wake up for a request. What is not taken waits here for a task that writes the rest. Frames are appended whole
//! under one lock, so a caller that goes away in the middle leaves no half frame.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use axlr_protocol::limits;
use tokio::io::AsyncWrite;
use tokio::sync::Notify;

/// While so much waits, no further call is accepted: as much as the daemon lets wait on its side.
const WAITING_MAX_BYTES: usize = limits::CONNECTION_OUTBOX_MAX_BYTES;
/// An emptied buffer keeps no more than this.
const KEPT_BYTES: usize = 64 * 1024;

pub(crate) struct Outgoing {
    state: Mutex<State>,
    /// Something waits for the writing task.
    waiting: Notify,
    /// There is room again.
    room: Notify,
}

struct State {
    sink: Pin<Box<dyn AsyncWrite + Send>>,
    buffer: Vec<u8>,
    /// Where what is not written begins in `buffer`.
    start: usize,
    /// The task has to come back, so its waker is the one that the sink must keep.
    is_with_task: bool,
    /// What is broken takes nothing and keeps nothing.
    broken: Option<io::ErrorKind>,
}

impl Outgoing {
    pub(crate) fn new(sink: impl AsyncWrite + Send + 'static) -> Outgoing {
        let state =
            State { sink: Box::pin(sink), buffer: Vec::new(), start: 0, is_with_task: false, broken: None };
        Outgoing { state: Mutex::new(state), waiting: Notify::new(), room: Notify::new() }
    }

    /// Waits until a further frame may be sent.
    pub(crate) async fn room(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            // Registered before looking, so that no wake-up falls between the two.
            room.as_mut().enable();
            if self.lock().waiting_bytes() < WAITING_MAX_BYTES {
                return;
            }
            room.await;
        }
    }

    /// Sends one frame that `encode` appends. Never waits; a failure to write is for [`Outgoing::run`] to report.
    pub(crate) fn send<E>(&self, encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        let mut state = self.lock();
        encode(&mut state.buffer)?;
        if state.is_with_task {
            return Ok(());
        }
        // A first attempt without a waker; the task comes back with its own when that was not enough.
        let written = state.write(&mut Context::from_waker(Waker::noop()));
        if !matches!(written, Poll::Ready(Ok(()))) {
            state.is_with_task = true;
            self.waiting.notify_one();
        }
        Ok(())
    }

    /// Writes what callers could not, until the connection breaks.
    pub(crate) async fn run(&self) -> io::Error {
        loop {
            self.waiting.notified().await;
            let written = std::future::poll_fn(|context| {
                let mut state = self.lock();
                let written = state.write(context);
                state.is_with_task = written.is_pending();
                if state.waiting_bytes() < WAITING_MAX_BYTES {
                    self.room.notify_waiters();
                }
                written
            });
            if let Err(error) = written.await {
                return error;
            }
        }
    }

    /// Lets those who wait for room go on to find the connection broken.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        let _ = state.fail(io::ErrorKind::BrokenPipe);
        drop(state);
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    fn write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(kind) = self.broken {
            return self.fail(kind);
        }
        while self.waiting_bytes() > 0 {
            match ready!(self.sink.as_mut().poll_write(context, &self.buffer[self.start..])) {
                Ok(0) => return self.fail(io::ErrorKind::WriteZero),
                Ok(count) => self.start += count,
                Err(error) => return self.fail(error.kind()),
            }
        }
        self.forget();
        self.sink.as_mut().poll_flush(context)
    }

    fn fail(&mut self, kind: io::ErrorKind) -> Poll<io::Result<()>> {
        self.broken = Some(kind);
        self.forget();
        Poll::Ready(Err(kind.into()))
    }

    fn forget(&mut self) {
        self.start = 0;
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
    }
}
