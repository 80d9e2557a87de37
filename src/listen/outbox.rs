//! What waits to be written on one connection.
//!
//! Responses overtake the events of other requests, never those of their own. What waits is bounded by backpressure,
//! not by refusal: streams stop, no request starts and nothing is read while it is over the bound.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use axlr_protocol::{Encoding, Event, Response, codec, limits};
use tokio::sync::Notify;

use crate::runtime::Outlet;

/// How much is copied together for one write: enough to make the call cheap, little enough to overtake.
const BATCH_BYTES: usize = 128 * 1024;

/// The queue between the tasks that answer and the one that writes.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    encoding: OnceLock<Encoding>,
    queue: Mutex<Queue>,
    /// Bytes queued here or copied for the write that is under way.
    waiting: AtomicUsize,
    filled: Notify,
    drained: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    /// Responses that no event of their own holds back.
    urgent: VecDeque<Vec<u8>>,
    /// Events, and the responses behind them.
    stream: VecDeque<(u64, Vec<u8>)>,
    /// How many frames of each request stand in `stream`.
    behind: HashMap<u64, usize>,
}

impl Outbox {
    /// Fixed by the first byte of the connection; before it there is nothing to answer.
    pub(super) fn set_encoding(&self, encoding: Encoding) {
        let _ = self.encoding.set(encoding);
    }

    pub(super) fn encoding(&self) -> Encoding {
        *self.encoding.get_or_init(|| Encoding::Json)
    }

    /// Returns when something was put in since the last [`Outbox::collect`].
    pub(super) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Moves frames to the end of `output`, responses first, until it holds a batch.
    pub(super) fn collect(&self, output: &mut Vec<u8>) {
        let mut queue = self.lock();
        while output.len() < BATCH_BYTES {
            let frame = match queue.urgent.pop_front() {
                Some(frame) => frame,
                None => match queue.pop_stream() {
                    Some(frame) => frame,
                    None => return,
                },
            };
            if output.is_empty() {
                *output = frame;
            } else {
                output.extend_from_slice(&frame);
            }
        }
    }

    /// Counts bytes that the connection put into its output itself.
    pub(super) fn add(&self, bytes: usize) {
        self.waiting.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Counts bytes that were written. `true` when that made room where there was none.
    pub(super) fn written(&self, bytes: usize) -> bool {
        let before = self.waiting.fetch_sub(bytes, Ordering::AcqRel);
        let limit = limits::CONNECTION_OUTBOX_MAX_BYTES;
        let made_room = before >= limit && before - bytes < limit;
        if made_room {
            self.drained.notify_waiters();
        }
        made_room
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn pop_stream(&mut self) -> Option<Vec<u8>> {
        let (stream, frame) = self.stream.pop_front()?;
        if let Some(behind) = self.behind.get_mut(&stream) {
            *behind -= 1;
            if *behind == 0 {
                self.behind.remove(&stream);
            }
        }
        Some(frame)
    }

    fn push_stream(&mut self, stream: u64, frame: Vec<u8>) {
        *self.behind.entry(stream).or_default() += 1;
        self.stream.push_back((stream, frame));
    }
}

impl Outlet for Outbox {
    fn respond(&self, stream: u64, response: &Response) {
        let mut frame = Vec::new();
        codec::response(self.encoding(), response, &mut frame);
        self.add(frame.len());
        let mut queue = self.lock();
        if queue.behind.contains_key(&stream) {
            queue.push_stream(stream, frame);
        } else {
            queue.urgent.push_back(frame);
        }
        drop(queue);
        self.filled.notify_one();
    }

    fn event(&self, stream: u64, event: &Event) {
        let mut frame = Vec::new();
        codec::event(self.encoding(), event, &mut frame);
        self.add(frame.len());
        self.lock().push_stream(stream, frame);
        self.filled.notify_one();
    }

    fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Acquire) < limits::CONNECTION_OUTBOX_MAX_BYTES
    }

    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            loop {
                let drained = self.drained.notified();
                tokio::pin!(drained);
                drained.as_mut().enable();
                if self.has_room() {
                    return;
                }
                drained.await;
            }
        })
    }
}

#[cfg(test)]
mod tests;
