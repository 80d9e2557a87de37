//! One connection's requests: what runs, what waits, which workspaces it holds. Knows no bytes.
//!
//! A request is answered at once by [`Session::submit`], or later through the [`Outlet`]. Each is answered exactly
//! once, and its id is free again before the answer is out.

mod flying;
mod holdings;
mod plan;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use axlr_protocol::decode::Malformed;
use axlr_protocol::{Code, ErrorBody, Event, Output, Request, Response, Tool};

use self::holdings::Held;
use self::plan::{Plan, Planned, Task};
use crate::actors::{Answer, Work, WorkspaceEntry};
use crate::cancel::Cancel;
use crate::error::{failure, lost, refusal};
use crate::tools::{self, ExecHandle};

/// Where a session's answers and events go: the door's side of it.
pub trait Outlet: Send + Sync + 'static {
    /// Takes the last word on a request. `stream` tells requests apart for as long as the outlet lives.
    fn respond(&self, stream: u64, response: &Response);
    /// Takes an event of a request; its response comes later.
    fn event(&self, stream: u64, event: &Event);
    /// Whether what waits to be written is below the bound.
    fn has_room(&self) -> bool;
    /// Returns when it is.
    fn room(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// A connection's session. Dropping it cancels what runs and gives back the workspaces that it opened.
pub struct Session(Arc<Inner>);

pub(super) struct Inner {
    id: u64,
    pub(super) runtime: Arc<super::Inner>,
    outlet: Arc<dyn Outlet>,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// Every request that is not answered yet, by its id.
    pub(super) flights: HashMap<String, Flight>,
    running: usize,
    line: VecDeque<Waiting>,
    line_bytes: usize,
    held: BTreeMap<String, Held>,
    default: Option<Arc<WorkspaceEntry>>,
    /// No request will follow those that were received.
    input_ended: bool,
    closed: bool,
}

/// A request that is not answered yet.
pub(super) struct Flight {
    serial: u64,
    pub(super) cancel: Cancel,
    /// The controls of a running exec.
    pub(super) exec: Option<ExecHandle>,
    workspace: Option<String>,
}

struct Waiting {
    admitted: Admitted,
    bytes: usize,
}

/// A well-formed request with its arguments checked.
struct Admitted {
    request_id: String,
    tool: Tool,
    workspace: Option<String>,
    stream: bool,
    plan: Plan,
}

/// When a request's work began.
#[derive(Clone, Copy)]
pub(super) struct Began {
    at: SystemTime,
    instant: Instant,
}

impl Began {
    pub(super) fn now() -> Self {
        Self { at: SystemTime::now(), instant: Instant::now() }
    }

    fn took(self) -> Duration {
        self.instant.elapsed()
    }
}

/// What names a running request.
#[derive(Clone)]
pub(super) struct Ticket {
    pub(super) request_id: String,
    pub(super) tool: Tool,
    pub(super) serial: u64,
    pub(super) began: Began,
}

impl Session {
    pub(super) fn new(runtime: Arc<super::Inner>, outlet: Arc<dyn Outlet>) -> Self {
        let id = runtime.next_session.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(Inner { id, runtime, outlet, state: Mutex::default() }))
    }

    pub(super) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    /// Takes one request of `bytes` as it was decoded. `Some` is its answer; `None` means that the outlet gets it.
    pub fn submit(&self, received: Result<Request, Malformed>, bytes: usize) -> Option<Response> {
        self.0.submit(received, bytes)
    }

    /// Starts requests that wait, as far as there is room. To be called when the outlet has written.
    pub fn pump(&self) {
        self.0.pump();
    }

    /// Whether another request may be read: the waiting line has room.
    pub fn may_read(&self) -> bool {
        let capacity = &self.0.runtime.config.capacity;
        let state = self.0.lock();
        state.line.len() < capacity.waiting_per_session
            && state.line_bytes < capacity.waiting_bytes_per_session
    }

    /// Whether every request is answered.
    pub fn is_idle(&self) -> bool {
        self.0.lock().flights.is_empty()
    }

    /// No request will follow: the stdin of execs that are open to `exec.write` ends, of those that still wait too.
    pub fn end_of_input(&self) {
        let mut state = self.0.lock();
        state.input_ended = true;
        state.flights.values().filter_map(|flight| flight.exec.as_ref()).for_each(ExecHandle::end_of_input);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let inner = &self.0;
        inner.cancel_all();
        let held = {
            let mut state = inner.lock();
            state.closed = true;
            state.default = None;
            let waiting: Vec<Waiting> = state.line.drain(..).collect();
            inner.runtime.stats.queued.fetch_sub(waiting.len(), Ordering::Relaxed);
            std::mem::take(&mut state.held)
        };
        // Without a runtime the actors have ended, and with them every workspace.
        if held.is_empty() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let runtime = inner.runtime.clone();
        tokio::spawn(async move {
            for (id, held) in held {
                for _ in 0..held.opens {
                    runtime.give_back(id.clone()).await;
                }
            }
        });
    }
}

impl Inner {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(self: &Arc<Self>, received: Result<Request, Malformed>, bytes: usize) -> Option<Response> {
        let began = Began::now();
        let request = match received {
            Ok(request) => request,
            Err(malformed) => return Some(self.malformed(malformed, began)),
        };
        let (request_id, tool) = (request.request_id.clone(), request.call.tool());
        // What runs right here must not take the connection with it.
        let taken = catch_unwind(AssertUnwindSafe(|| self.take(request, bytes, began)));
        taken.unwrap_or_else(|_| Some(self.response(request_id, tool, began, Err(lost()))))
    }

    fn take(self: &Arc<Self>, request: Request, bytes: usize, began: Began) -> Option<Response> {
        let Request { request_id, workspace, stream, call } = request;
        let tool = call.tool();
        let plan = match plan::plan(call, stream) {
            Ok(Planned::Control(call)) => return self.control(request_id, call, began),
            Ok(Planned::Plan(plan)) => plan,
            Err(error) => return Some(self.response(request_id, tool, began, Err(failure(error)))),
        };
        if !self.runtime.is_running() {
            return Some(self.response(request_id, tool, began, Err(shutting_down())));
        }
        let admitted = Admitted { request_id, tool, workspace, stream, plan };
        let mut state = self.lock();
        if state.flights.contains_key(&admitted.request_id) {
            drop(state);
            return Some(self.in_use(admitted.request_id, tool, began));
        }
        if state.line.is_empty() && self.may_start(&state) {
            return self.start(&mut state, admitted, began);
        }
        let flight =
            Flight { serial: self.runtime.serial(), cancel: Cancel::new(), exec: None, workspace: None };
        state.flights.insert(admitted.request_id.clone(), flight);
        state.line_bytes += bytes;
        state.line.push_back(Waiting { admitted, bytes });
        self.runtime.stats.queued.fetch_add(1, Ordering::Relaxed);
        None
    }

    fn may_start(&self, state: &State) -> bool {
        state.running < self.runtime.config.capacity.running_per_session && self.outlet.has_room()
    }

    fn pump(self: &Arc<Self>) {
        loop {
            let mut state = self.lock();
            if state.closed || !self.may_start(&state) {
                return;
            }
            let Some(Waiting { admitted, bytes }) = state.line.pop_front() else { return };
            state.line_bytes -= bytes;
            self.runtime.stats.queued.fetch_sub(1, Ordering::Relaxed);
            let serial = state.flights.remove(&admitted.request_id).map_or(0, |flight| flight.serial);
            if let Some(response) = self.start(&mut state, admitted, Began::now()) {
                // Before the lock is let go: see `settle`.
                self.outlet.respond(serial, &response);
            }
        }
    }

    /// Starts a request: answers it, or makes it a flight.
    fn start(self: &Arc<Self>, state: &mut State, admitted: Admitted, began: Began) -> Option<Response> {
        let Admitted { request_id, tool, workspace, stream, plan } = admitted;
        let ticket = Ticket { request_id, tool, serial: self.runtime.serial(), began };
        let outcome = match self.carry_out(state, &ticket, workspace.as_deref(), stream, plan) {
            Ok(Some(output)) => Ok(output),
            Ok(None) => return None,
            Err(error) => Err(error),
        };
        Some(self.response(ticket.request_id, tool, began, outcome))
    }

    /// `None` when the answer will come through the outlet.
    fn carry_out(
        self: &Arc<Self>,
        state: &mut State,
        ticket: &Ticket,
        workspace: Option<&str>,
        stream: bool,
        plan: Plan,
    ) -> Result<Option<Output>, ErrorBody> {
        if !self.runtime.is_running() {
            return Err(shutting_down());
        }
        match plan {
            Plan::Task(task) => {
                let entry = self.workspace(state, workspace)?;
                if let Task::Work(Work::Read(read)) = &task
                    && let Some(result) = tools::read_cached(&entry.root, read)
                {
                    return result.map(|output| Some(Output::Read(output))).map_err(failure);
                }
                self.launch(state, ticket, entry, task, stream)?;
            }
            Plan::Open(arguments) => {
                let permit = self.permit()?;
                self.fly(state, ticket, async move |session, cancel| {
                    let answer = session.open(arguments, &cancel).await;
                    drop(permit);
                    answer
                });
            }
            Plan::List => self.fly(state, ticket, async |session, _| session.list_workspaces().await),
            Plan::Close(arguments) => {
                let id = self.give_back(state, &arguments.workspace)?;
                self.fly(state, ticket, async move |session, _| session.close_workspace(id).await);
            }
        }
        Ok(None)
    }

    /// Answers a request in a task of its own.
    fn fly<F>(
        self: &Arc<Self>,
        state: &mut State,
        ticket: &Ticket,
        answer: impl FnOnce(Arc<Self>, Cancel) -> F,
    ) where
        F: Future<Output = Answer> + Send + 'static,
    {
        let cancel = self.take_off(state, ticket);
        let (session, ticket) = (self.clone(), ticket.clone());
        let answer = answer(self.clone(), cancel);
        tokio::spawn(async move { session.land(ticket, answer.await) });
    }

    /// Makes the request one that is in flight.
    fn take_off(&self, state: &mut State, ticket: &Ticket) -> Cancel {
        let cancel = Cancel::new();
        let flight = Flight { serial: ticket.serial, cancel: cancel.clone(), exec: None, workspace: None };
        state.flights.insert(ticket.request_id.clone(), flight);
        state.running += 1;
        self.runtime.stats.running.fetch_add(1, Ordering::Relaxed);
        self.runtime.stats.began(ticket.tool);
        cancel
    }

    /// Answers a request that was in flight and starts those that waited for its place.
    fn land(self: &Arc<Self>, ticket: Ticket, answer: Answer) {
        let Ticket { request_id, tool, serial, began } = ticket;
        self.runtime.stats.ended(tool);
        let response = self.response(request_id, tool, began, answer);
        {
            let mut state = self.lock();
            state.running -= 1;
            self.settle(&mut state, serial, &response);
        }
        if self.runtime.stats.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.runtime.landed.notify_waiters();
        }
        self.pump();
    }

    /// Frees the id of a request that was in flight or waited, and hands its answer out, both under the session's lock:
    /// in between the session would be idle with an answer to come, and a connection whose input has ended would close
    /// without it.
    fn settle(&self, state: &mut State, serial: u64, response: &Response) {
        state.flights.remove(&response.request_id);
        self.outlet.respond(serial, response);
    }

    /// A control request that waits for something: in flight, but outside the count of those that run.
    pub(super) fn spawn_control(
        self: &Arc<Self>,
        request_id: String,
        tool: Tool,
        began: Began,
        answer: impl Future<Output = Answer> + Send + 'static,
    ) {
        let serial = self.runtime.serial();
        let cancel = Cancel::new();
        let flight = Flight { serial, cancel: cancel.clone(), exec: None, workspace: None };
        self.lock().flights.insert(request_id.clone(), flight);
        let session = self.clone();
        tokio::spawn(async move {
            let answer = tokio::select! {
                biased;
                answer = answer => answer,
                () = cancel.cancelled() => Err(refusal(
                    Code::Cancelled,
                    "cancelled; bytes of which the program's stdin has taken none are not written",
                )),
            };
            let response = session.response(request_id, tool, began, answer);
            session.settle(&mut session.lock(), serial, &response);
        });
    }

    fn permit(&self) -> Result<tokio::sync::OwnedSemaphorePermit, ErrorBody> {
        self.runtime.running.clone().try_acquire_owned().map_err(|_| {
            let bound = self.runtime.config.capacity.running;
            refusal(Code::Overloaded, format!("the daemon runs {bound} requests already; try again later"))
        })
    }

    pub(super) fn cancel_all(&self) {
        self.lock().flights.values().for_each(|flight| flight.cancel.cancel());
    }

    /// Cancels one request. `false` when there is none with that id.
    pub(super) fn cancel(&self, request_id: &str) -> bool {
        let mut state = self.lock();
        let Some(flight) = state.flights.get(request_id) else { return false };
        flight.cancel.cancel();
        let serial = flight.serial;
        let Some(index) = state.line.iter().position(|waiting| waiting.admitted.request_id == request_id)
        else {
            return true;
        };
        let Some(Waiting { admitted, bytes }) = state.line.remove(index) else { return true };
        state.line_bytes -= bytes;
        let error = refusal(Code::Cancelled, "cancelled while it waited; nothing was done");
        self.answer_waiting(&mut state, serial, admitted, error);
        true
    }

    pub(super) fn refuse_waiting(&self) {
        let mut state = self.lock();
        state.line_bytes = 0;
        while let Some(Waiting { admitted, .. }) = state.line.pop_front() {
            let serial = state.flights.get(&admitted.request_id).map_or(0, |flight| flight.serial);
            self.answer_waiting(&mut state, serial, admitted, shutting_down());
        }
    }

    fn answer_waiting(&self, state: &mut State, serial: u64, admitted: Admitted, error: ErrorBody) {
        self.runtime.stats.queued.fetch_sub(1, Ordering::Relaxed);
        let response = self.response(admitted.request_id, admitted.tool, Began::now(), Err(error));
        self.settle(state, serial, &response);
    }

    pub(super) fn in_use(&self, request_id: String, tool: Tool, began: Began) -> Response {
        let message = format!("request_id {} is in flight on this connection", tools::quoted(&request_id));
        self.response(request_id, tool, began, Err(refusal(Code::RequestIdInUse, message)))
    }

    pub(super) fn response(&self, request_id: String, tool: Tool, began: Began, outcome: Answer) -> Response {
        let took = began.took();
        // A malformed request did nothing, so it took no time: SPEC §1.
        let is_malformed = matches!(&outcome, Err(error) if error.code == Code::InvalidRequest);
        let shown = if is_malformed { Duration::ZERO } else { took };
        let response = Response {
            request_id,
            tool: Some(tool),
            started_at: began.at,
            finished_at: began.at + shown,
            duration_ms: u64::try_from(shown.as_millis()).unwrap_or(u64::MAX),
            outcome,
        };
        self.runtime.stats.answered(tool, response.status(), took);
        response
    }

    fn malformed(&self, malformed: Malformed, began: Began) -> Response {
        let Malformed { request_id, tool, message } = malformed;
        if let Some(tool) = tool {
            self.runtime.stats.answered(tool, axlr_protocol::Status::Rejected, began.took());
        }
        Response {
            request_id,
            tool,
            started_at: began.at,
            finished_at: began.at,
            duration_ms: 0,
            outcome: Err(refusal(Code::InvalidRequest, message)),
        }
    }
}

fn shutting_down() -> ErrorBody {
    refusal(Code::ShuttingDown, "the daemon is shutting down")
}
