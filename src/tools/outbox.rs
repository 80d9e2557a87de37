//! Where a page's items go: kept for the answer, or sent as events while the tool runs. SPEC §4 of the socket rules.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use axlr_protocol::{EventBody, limits};
use tokio::sync::mpsc::error::TrySendError;

use crate::cancel::Cancel;
use crate::capacity::{STREAM_BATCH_BYTES, STREAM_BATCH_TIME};
use crate::tools::tour::cancelled;
use crate::tools::{Error, Events};

/// The items of one page, in order.
pub(super) struct Outbox<'c, T> {
    stream: Option<Stream<'c>>,
    wrap: fn(Vec<T>) -> EventBody,
    items: Vec<T>,
    bytes: u64,
}

struct Stream<'c> {
    events: &'c Events,
    cancel: &'c Cancel,
    /// When an event was last sent; at first, when the tool began.
    last: Instant,
    /// The first items go out at once.
    is_fresh: bool,
}

impl<'c, T> Outbox<'c, T> {
    /// `wrap` makes the event of a batch.
    pub(super) fn new(events: Option<&'c Events>, cancel: &'c Cancel, wrap: fn(Vec<T>) -> EventBody) -> Self {
        let stream = events.map(|events| Stream { events, cancel, last: Instant::now(), is_fresh: true });
        Self { stream, wrap, items: Vec::new(), bytes: 0 }
    }

    /// Takes an item; `size` is what it counts in its page.
    pub(super) fn push(&mut self, item: T, size: u64) {
        self.items.push(item);
        self.bytes += size;
    }

    /// Sends what is due: waiting items, or progress when nothing else was sent for a while.
    ///
    /// # Errors
    /// `cancelled` when nobody listens any more, or the request was cancelled while the reader was slow.
    pub(super) fn tick(&mut self, progress: impl FnOnce() -> EventBody) -> Result<(), Error> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let waited = stream.last.elapsed();
        if self.items.is_empty() {
            if waited * limits::PROGRESS_PER_SECOND >= Duration::from_secs(1) {
                stream.offer(progress())?;
            }
            return Ok(());
        }
        if stream.is_fresh || waited >= STREAM_BATCH_TIME || self.bytes >= STREAM_BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends what still waits, or hands the items over for the answer when nothing is streamed.
    ///
    /// # Errors
    /// As [`Outbox::tick`].
    pub(super) fn finish(mut self) -> Result<Vec<T>, Error> {
        self.flush()?;
        Ok(self.items)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        if self.items.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        stream.send((self.wrap)(std::mem::take(&mut self.items)))
    }
}

impl Stream<'_> {
    /// Sends progress, or nothing when the reader is slow: it has enough to read.
    fn offer(&mut self, body: EventBody) -> Result<(), Error> {
        self.last = Instant::now();
        match self.events.try_send(body) {
            Ok(()) | Err(TrySendError::Full(_)) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(cancelled()),
        }
    }

    /// Sends items, waiting for a slow reader until the request is cancelled.
    fn send(&mut self, body: EventBody) -> Result<(), Error> {
        let sent = match self.events.try_send(body) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(body)) => block_on(async {
                tokio::select! {
                    sent = self.events.send(body) => sent.is_ok(),
                    () = self.cancel.cancelled() => false,
                }
            }),
        };
        self.last = Instant::now();
        self.is_fresh = false;
        if sent { Ok(()) } else { Err(cancelled()) }
    }
}

/// Waits on this thread. The channel and the cancellation need no runtime, and a blocking thread may have none.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests;
