//! One connection's requests: what runs, what waits, which workspaces it holds. Knows no bytes.
//!
//! A request is answered at once by [`Session::submit`], or later through the [`Outlet`]. Each is answered exactly
//! once, and its id is free again before the answer is out.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use axlr_protocol::decode::Malformed;
use axlr_protocol::tool::{PluginsListOutput, WorkspaceCloseArguments, WorkspaceOpenArguments};
use axlr_protocol::{Call, Code, ErrorBody, Event, EventBody, Output, Request, Response, Tool};
use ractor::MessagingErr;
use tokio::sync::{mpsc, oneshot};

use crate::actors::{Answer, Job, Permit, SupervisorMsg, Work, WorkspaceEntry, WorkspaceMsg, WriterMsg};
use crate::cancel::Cancel;
use crate::capacity::CANCEL_GRACE;
use crate::error::{failure, lost, refusal};
use crate::tools::{self, Edit, Exec, ExecHandle, List, Mutation, Read, Search, Write};

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

struct Held {
    entry: Arc<WorkspaceEntry>,
    opens: u64,
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

enum Plan {
    Work(Work),
    Mutate(Box<Mutation>),
    PluginsList,
    PluginsCall { plugin: String },
    Open(WorkspaceOpenArguments),
    List,
    Close(WorkspaceCloseArguments),
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
        let plan = match plan(call, stream) {
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
        let outcome = match self.try_start(state, &request_id, tool, workspace, stream, plan, began) {
            Ok(Some(output)) => Ok(output),
            Ok(None) => return None,
            Err(error) => Err(error),
        };
        Some(self.response(request_id, tool, began, outcome))
    }

    /// `None` when the answer will come through the outlet.
    #[expect(clippy::too_many_arguments, reason = "the members of one admitted request, taken apart")]
    fn try_start(
        self: &Arc<Self>,
        state: &mut State,
        request_id: &str,
        tool: Tool,
        workspace: Option<String>,
        stream: bool,
        plan: Plan,
        began: Began,
    ) -> Result<Option<Output>, ErrorBody> {
        if !self.runtime.is_running() {
            return Err(shutting_down());
        }
        let ticket = |serial| Ticket { request_id: request_id.to_owned(), tool, serial, began };
        match plan {
            Plan::Work(work) => {
                let entry = self.workspace(state, workspace.as_deref())?;
                if let Work::Read(read) = &work
                    && let Some(result) = tools::read_cached(&entry.root, read)
                {
                    return result.map(|output| Some(Output::Read(output))).map_err(failure);
                }
                self.launch(state, ticket(self.runtime.serial()), entry, Task::Work(work), stream)?;
                Ok(None)
            }
            Plan::Mutate(mutation) => {
                let entry = self.workspace(state, workspace.as_deref())?;
                self.launch(state, ticket(self.runtime.serial()), entry, Task::Mutate(mutation), stream)?;
                Ok(None)
            }
            Plan::PluginsList => {
                self.workspace(state, workspace.as_deref())?;
                Ok(Some(Output::PluginsList(PluginsListOutput::default())))
            }
            Plan::PluginsCall { plugin } => {
                self.workspace(state, workspace.as_deref())?;
                Err(refusal(
                    Code::UnknownPlugin,
                    format!("no plugin {plugin:?} is registered in this workspace"),
                ))
            }
            Plan::Open(arguments) => {
                let permit = self.permit()?;
                let (ticket, cancel) = self.take_off(state, ticket(self.runtime.serial()));
                let session = self.clone();
                tokio::spawn(async move {
                    let answer = session.open(arguments, &cancel).await;
                    drop(permit);
                    session.land(ticket, answer);
                });
                Ok(None)
            }
            Plan::List => {
                let (ticket, _) = self.take_off(state, ticket(self.runtime.serial()));
                let session = self.clone();
                tokio::spawn(async move {
                    let answer = session.list_workspaces().await;
                    session.land(ticket, answer);
                });
                Ok(None)
            }
            Plan::Close(arguments) => {
                let id = self.give_back(state, &arguments.workspace)?;
                let (ticket, _) = self.take_off(state, ticket(self.runtime.serial()));
                let session = self.clone();
                tokio::spawn(async move {
                    let answer = session.close_workspace(id).await;
                    session.land(ticket, answer);
                });
                Ok(None)
            }
        }
    }

    /// Sends work to its workspace and waits for the answer in a task of its own.
    fn launch(
        self: &Arc<Self>,
        state: &mut State,
        ticket: Ticket,
        entry: Arc<WorkspaceEntry>,
        mut task: Task,
        stream: bool,
    ) -> Result<(), ErrorBody> {
        let permit = match (&task, self.permit()?) {
            (Task::Work(Work::Exec(..)), _) => Permit::Later(self.runtime.running.clone()),
            (_, permit) => Permit::Held(permit),
        };
        let (ticket, cancel) = self.take_off(state, ticket);
        let (reply, answer) = oneshot::channel();
        // One event ahead: what a slow reader has not taken stays in the child's pipe, or unsearched.
        let (sender, events) = if stream { Some(mpsc::channel(1)).unzip() } else { (None, None) };
        if let Some(flight) = state.flights.get_mut(&ticket.request_id) {
            flight.workspace = Some(entry.id.clone());
            if let Task::Work(Work::Exec(_, controls)) = &mut task {
                let (handle, side) = tools::controls();
                if state.input_ended {
                    // It waited in line while the input ended.
                    handle.end_of_input();
                }
                flight.exec = Some(handle);
                *controls = Some(side);
            }
        }
        let manner = match &task {
            Task::Work(Work::Read(_) | Work::Search(_) | Work::List(_)) => Manner::Abandonable,
            Task::Work(Work::Exec(..)) => Manner::Responsive,
            Task::Mutate(_) => Manner::Ordered,
        };
        let job = Job {
            session: self.id,
            serial: ticket.serial,
            cancel: cancel.clone(),
            events: sender,
            permit,
            reply: reply.into(),
        };
        let flying = Flying { entry, cancel, answer, events, manner };
        // Sent here, under the session's lock, so that the order of requests is the order of their arrival.
        let undelivered = flying.send(task, job);
        tokio::spawn(self.clone().follow(ticket, flying, undelivered));
        Ok(())
    }

    async fn follow(self: Arc<Self>, ticket: Ticket, flying: Flying, undelivered: Option<(Task, Job)>) {
        let in_flight = InFlight::new(flying.entry.clone());
        let answer = match self.deliver(&flying, undelivered).await {
            Ok(()) => flying.answer(&self, &ticket).await,
            Err(error) => Err(error),
        };
        drop(in_flight);
        self.land(ticket, answer);
    }

    /// Delivers what a failed workspace did not take to the one that is born in its place.
    async fn deliver(&self, flying: &Flying, undelivered: Option<(Task, Job)>) -> Result<(), ErrorBody> {
        let Some((task, job)) = undelivered else { return Ok(()) };
        let id = flying.entry.id.clone();
        let revived = self.runtime.supervisor.call(|reply| SupervisorMsg::Revive { id, reply }, None).await;
        let lives = matches!(revived, Ok(ractor::rpc::CallResult::Success(true)));
        if !lives || flying.send(task, job).is_some() {
            return Err(refusal(
                Code::InternalError,
                "the workspace failed too often and is not available; nothing was done",
            ));
        }
        Ok(())
    }

    /// Makes the request one that is in flight.
    fn take_off(&self, state: &mut State, ticket: Ticket) -> (Ticket, Cancel) {
        let cancel = Cancel::new();
        let flight = Flight { serial: ticket.serial, cancel: cancel.clone(), exec: None, workspace: None };
        state.flights.insert(ticket.request_id.clone(), flight);
        state.running += 1;
        self.runtime.stats.running.fetch_add(1, Ordering::Relaxed);
        self.runtime.stats.began(ticket.tool);
        (ticket, cancel)
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

    fn workspace(&self, state: &State, id: Option<&str>) -> Result<Arc<WorkspaceEntry>, ErrorBody> {
        match id {
            None => state.default.as_ref().or(self.runtime.roots.first()).cloned().ok_or_else(|| {
                refusal(
                    Code::UnknownWorkspace,
                    "this connection has no default workspace; open one with workspace.open",
                )
            }),
            Some(id) => {
                let held = state.held.get(id).map(|held| &held.entry);
                held.or_else(|| self.runtime.roots.iter().find(|root| root.id == id)).cloned().ok_or_else(
                    || {
                        refusal(
                            Code::UnknownWorkspace,
                            format!("workspace {} is not open here", tools::quoted(id)),
                        )
                    },
                )
            }
        }
    }

    pub(super) fn hold(&self, entry: Arc<WorkspaceEntry>, as_default: bool) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        if as_default {
            state.default = Some(entry.clone());
        }
        state.held.entry(entry.id.clone()).or_insert(Held { entry, opens: 0 }).opens += 1;
        true
    }

    /// Takes one open out of the session's hands.
    fn give_back(&self, state: &mut State, id: &str) -> Result<String, ErrorBody> {
        let Some(held) = state.held.get_mut(id) else {
            return Err(refusal(
                Code::UnknownWorkspace,
                format!("workspace {} was not opened by this connection", tools::quoted(id)),
            ));
        };
        held.opens -= 1;
        if held.opens == 0 {
            state.held.remove(id);
            if state.default.as_ref().is_some_and(|entry| entry.id == id) {
                state.default = None;
            }
        }
        Ok(id.to_owned())
    }

    /// Cancels what runs in a workspace that has ended.
    pub(super) fn cancel_workspace(&self, id: &str) {
        let state = self.lock();
        state
            .flights
            .values()
            .filter(|flight| flight.workspace.as_deref() == Some(id))
            .for_each(|flight| flight.cancel.cancel());
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

enum Planned {
    Control(Call),
    Plan(Plan),
}

/// Checks the arguments, as far as that reads no file, and tells control requests from the rest.
fn plan(call: Call, stream: bool) -> Result<Planned, tools::Error> {
    let work = match call {
        Call::Read(arguments) => Work::Read(Read::parse(arguments)?),
        Call::Write(arguments) => return Ok(mutation(Mutation::Write(Write::parse(arguments)?))),
        Call::Edit(arguments) => return Ok(mutation(Mutation::Edit(Edit::parse(arguments)?))),
        Call::Exec(arguments) => Work::Exec(Box::new(Exec::parse(arguments, stream)?), None),
        Call::Search(arguments) => Work::Search(Box::new(Search::parse(arguments)?)),
        Call::List(arguments) => Work::List(List::parse(arguments)?),
        Call::PluginsList(_) => return Ok(Planned::Plan(Plan::PluginsList)),
        Call::PluginsCall(arguments) => {
            crate::plugins::check_call(&arguments)?;
            return Ok(Planned::Plan(Plan::PluginsCall { plugin: arguments.plugin_id }));
        }
        Call::WorkspaceOpen(arguments) => {
            super::control::check_open(&arguments)?;
            return Ok(Planned::Plan(Plan::Open(arguments)));
        }
        Call::WorkspaceList(_) => return Ok(Planned::Plan(Plan::List)),
        Call::WorkspaceClose(arguments) => return Ok(Planned::Plan(Plan::Close(arguments))),
        Call::ServerPing(_)
        | Call::ServerInfo(_)
        | Call::ServerStats(_)
        | Call::ServerStop(_)
        | Call::RequestCancel(_)
        | Call::ExecWrite(_)
        | Call::ExecSignal(_) => return Ok(Planned::Control(call)),
    };
    Ok(Planned::Plan(Plan::Work(work)))
}

fn mutation(mutation: Mutation) -> Planned {
    Planned::Plan(Plan::Mutate(Box::new(mutation)))
}

/// How a request reacts to its cancellation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Without effects: when the file system hangs it is answered without its own word.
    Abandonable,
    /// Has a turn in the writer's order, which it may have to give back.
    Ordered,
    /// Answers for itself at once.
    Responsive,
}

/// What an actor is to do.
enum Task {
    Work(Work),
    Mutate(Box<Mutation>),
}

/// A request on its way through the actors.
struct Flying {
    entry: Arc<WorkspaceEntry>,
    cancel: Cancel,
    answer: oneshot::Receiver<Answer>,
    events: Option<mpsc::Receiver<EventBody>>,
    manner: Manner,
}

impl Flying {
    /// `Some` gives back what could not be delivered: the actor has died.
    fn send(&self, task: Task, job: Job) -> Option<(Task, Job)> {
        match task {
            Task::Work(work) => match self.entry.actor().cast(WorkspaceMsg::Run { work, job }) {
                Err(MessagingErr::SendErr(WorkspaceMsg::Run { work, job })) => Some((Task::Work(work), job)),
                _ => None,
            },
            Task::Mutate(mutation) => match self.entry.writer().cast(WriterMsg::Apply { mutation, job }) {
                Err(MessagingErr::SendErr(WriterMsg::Apply { mutation, job })) => {
                    Some((Task::Mutate(mutation), job))
                }
                _ => None,
            },
        }
    }

    async fn answer(mut self, session: &Inner, ticket: &Ticket) -> Answer {
        let mut stream = Stream { session, ticket, seq: 0, unsent: Vec::new() };
        let answer = loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return self.after_cancel(stream).await,
                event = next(&mut self.events) => match event {
                    Some(body) => stream.send(body, &self.cancel).await,
                    None => self.events = None,
                },
                answer = &mut self.answer => break answer,
            }
        };
        // The tool has dropped its end; what it sent before is still to be passed on.
        while let Some(events) = &mut self.events
            && let Some(body) = events.recv().await
        {
            stream.send(body, &self.cancel).await;
        }
        stream.end(answer.unwrap_or_else(|_| Err(self.entry.lost())))
    }

    async fn after_cancel(mut self, mut stream: Stream<'_>) -> Answer {
        // Nobody takes events any more: a tool that waits to send one ends. One that won the race has sent all of its.
        let mut events = self.events.take();
        events.iter_mut().for_each(mpsc::Receiver::close);
        let answer = self.cancelled(stream.ticket.serial).await;
        while let Some(body) = events.as_mut().and_then(|events| events.try_recv().ok()) {
            stream.unsent.push(body);
        }
        stream.end(answer)
    }

    async fn cancelled(self, serial: u64) -> Answer {
        if self.manner == Manner::Ordered {
            let _ = self.entry.writer().cast(WriterMsg::Withdraw { serial });
        }
        if self.manner == Manner::Abandonable {
            return match tokio::time::timeout(CANCEL_GRACE, self.answer).await {
                Ok(answer) => answer.unwrap_or_else(|_| Err(self.entry.lost())),
                Err(_) => Err(refusal(Code::Cancelled, "cancelled; the file system has not answered yet")),
            };
        }
        self.answer.await.unwrap_or_else(|_| Err(self.entry.lost()))
    }
}

/// The next event; never, when there is no stream.
async fn next(events: &mut Option<mpsc::Receiver<EventBody>>) -> Option<EventBody> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

struct Stream<'a> {
    session: &'a Inner,
    ticket: &'a Ticket,
    seq: u64,
    /// What had no room before the cancel: a few events, since the tools are one ahead.
    unsent: Vec<EventBody>,
}

impl Stream<'_> {
    /// Hands an event out when there is room for it, or keeps it when the request is cancelled first.
    async fn send(&mut self, body: EventBody, cancel: &Cancel) {
        tokio::select! {
            biased;
            () = self.session.outlet.room(), if self.unsent.is_empty() => self.hand_out(body),
            () = cancel.cancelled() => self.unsent.push(body),
        }
    }

    fn hand_out(&mut self, body: EventBody) {
        let event = Event { request_id: self.ticket.request_id.clone(), seq: self.seq, body };
        self.session.outlet.event(self.ticket.serial, &event);
        self.seq += 1;
    }

    /// The answer, after the events that it speaks of: one that was cancelled too late is whole.
    fn end(mut self, answer: Answer) -> Answer {
        if answer.is_ok() {
            std::mem::take(&mut self.unsent).into_iter().for_each(|body| self.hand_out(body));
        }
        answer
    }
}

/// Counts a request in its workspace.
struct InFlight(Arc<WorkspaceEntry>);

impl InFlight {
    fn new(entry: Arc<WorkspaceEntry>) -> Self {
        entry.in_flight.fetch_add(1, Ordering::AcqRel);
        Self(entry)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}
