//! What is not answered yet, and what waits to be written.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axlr_protocol::limits;
use rmcp::model::RequestId;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::capacity::{CALLS_MAX, CALLS_MAX_BYTES};

/// Shared by the door and the tasks of its calls.
#[derive(Debug, Default)]
pub(super) struct Flights {
    state: Mutex<State>,
    /// Something waits to be written, or a request was answered.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    requests: HashMap<RequestId, Request>,
    /// Bytes of those requests.
    bytes: usize,
    output: Vec<u8>,
}

#[derive(Debug)]
struct Request {
    bytes: usize,
    /// The task of a call; `None` for what the SDK answers.
    task: Option<AbortHandle>,
}

impl Flights {
    /// Takes a request. `false` when one with that id is not answered yet.
    pub(super) fn begin(&self, id: &RequestId, bytes: usize) -> bool {
        let mut state = self.lock();
        if state.requests.contains_key(id) {
            return false;
        }
        state.requests.insert(id.clone(), Request { bytes, task: None });
        state.bytes += bytes;
        true
    }

    /// Tells which task carries a request out. One that has ended meanwhile is not there any more.
    pub(super) fn carried_by(&self, id: &RequestId, task: AbortHandle) {
        if let Some(request) = self.lock().requests.get_mut(id) {
            request.task = Some(task);
        }
    }

    /// Ends a request with a line. One that was cancelled is not answered.
    pub(super) fn end(&self, id: &RequestId, put: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.lock();
        let Some(request) = state.requests.remove(id) else { return };
        state.bytes -= request.bytes;
        put(&mut state.output);
        drop(state);
        self.changed.notify_one();
    }

    /// Forgets a request, and cancels it when it is a call. `false` when it is the SDK's to cancel: that does not answer
    /// what was cancelled, so nobody would end the request later.
    pub(super) fn cancel(&self, id: &RequestId) -> bool {
        let mut state = self.lock();
        let Some(request) = state.requests.remove(id) else { return false };
        state.bytes -= request.bytes;
        request.task.iter().for_each(AbortHandle::abort);
        drop(state);
        self.changed.notify_one();
        request.task.is_some()
    }

    /// Cancels every call.
    pub(super) fn cancel_all(&self) {
        let mut state = self.lock();
        let State { requests, bytes, .. } = &mut *state;
        requests.retain(|_, request| {
            let Some(task) = &request.task else { return true };
            task.abort();
            *bytes -= request.bytes;
            false
        });
        drop(state);
        self.changed.notify_one();
    }

    /// Puts lines out that answer no request of ours.
    pub(super) fn put(&self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.lock().output);
        self.changed.notify_one();
    }

    /// Moves what waits to the end of `output`.
    pub(super) fn collect(&self, output: &mut Vec<u8>) {
        let mut state = self.lock();
        if output.is_empty() {
            std::mem::swap(output, &mut state.output);
        } else {
            output.append(&mut state.output);
        }
    }

    /// Whether more may be read: a client that does not read is not read either.
    pub(super) fn has_room(&self) -> bool {
        let state = self.lock();
        state.requests.len() < CALLS_MAX
            && state.bytes < CALLS_MAX_BYTES
            && state.output.len() < limits::CONNECTION_OUTBOX_MAX_BYTES
    }

    /// Whether a call is not answered yet. What the SDK has to answer it looks after itself.
    pub(super) fn has_calls(&self) -> bool {
        self.lock().requests.values().any(|request| request.task.is_some())
    }

    /// Returns when something changed since it was last asked.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
