//! Calls carried out by the runtime of this process: one session of it for one session of the protocol, so that the
//! bounds of a connection and the fairness among connections hold here too.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axlr_protocol::tool::RequestCancelArguments;
use axlr_protocol::{Call, Code, ErrorBody, Event, Request, Response};
use tokio::sync::oneshot;

use super::caller::{Answer, Caller, Job};
use super::watch::Watch;
use crate::runtime::{Outlet, Runtime, Session};

/// A session of the runtime.
pub struct Local {
    session: Session,
    flights: Arc<Flights>,
    next: AtomicU64,
}

impl Local {
    /// Begins a session. Dropping it cancels what runs in it.
    pub fn new(runtime: &Runtime) -> Self {
        let flights = Arc::new(Flights::default());
        Self { session: runtime.session(flights.clone()), flights, next: AtomicU64::new(1) }
    }

    fn submit(&self, request: Request, bytes: usize) -> Option<Answer> {
        self.session.submit(Ok(request), bytes).map(|response| response.outcome)
    }

    fn cancel(&self, id: u64) {
        // The answer comes at once, and is nobody's.
        let call = Call::RequestCancel(RequestCancelArguments { request_id: id.to_string() });
        let request_id = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        self.submit(Request { request_id, workspace: None, stream: false, call }, 0);
    }
}

impl Caller for Local {
    async fn call(&self, job: Job) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let Job { call, workspace, watch, bytes } = job;
        let stream = watch.is_some();
        let answer = self.flights.add(id, watch);
        let mut flying = Flying { local: self, id, is_answered: false };
        let request = Request { request_id: id.to_string(), workspace, stream, call };
        let answered = match self.submit(request, bytes) {
            Some(answer) => {
                self.flights.remove(id);
                answer
            }
            None => answer.await.unwrap_or_else(|_| Err(lost())),
        };
        flying.is_answered = true;
        answered
    }
}

/// A call that is not answered. Dropped before it is, it is cancelled.
struct Flying<'l> {
    local: &'l Local,
    id: u64,
    is_answered: bool,
}

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        if !self.is_answered && self.local.flights.remove(self.id).is_some() {
            self.local.cancel(self.id);
        }
    }
}

fn lost() -> ErrorBody {
    let message =
        "the answer was lost to a fault of axlr; whether the call had effects is unknown".to_owned();
    ErrorBody { code: Code::InternalError, message }
}

/// The session's outlet: hands each answer to the one who waits for it.
#[derive(Default)]
struct Flights(Mutex<HashMap<u64, Flight>>);

struct Flight {
    answer: oneshot::Sender<Answer>,
    watch: Option<Arc<Watch>>,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Flight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: u64, watch: Option<Arc<Watch>>) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id, Flight { answer: sender, watch });
        receiver
    }

    fn remove(&self, id: u64) -> Option<Flight> {
        self.lock().remove(&id)
    }
}

impl Outlet for Flights {
    fn respond(&self, _: u64, response: &Response) {
        let flight = response.request_id.parse().ok().and_then(|id| self.remove(id));
        if let Some(flight) = flight {
            // An error here means that the caller has left.
            let _ = flight.answer.send(response.outcome.clone());
        }
    }

    fn event(&self, _: u64, event: &Event) {
        let watch = event.request_id.parse().ok().and_then(|id: u64| self.lock().get(&id)?.watch.clone());
        if let Some(watch) = watch {
            watch.tell(&event.body);
        }
    }

    /// Nothing waits here: answers go to their callers, and what a watch keeps is bounded.
    fn has_room(&self) -> bool {
        true
    }

    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}
