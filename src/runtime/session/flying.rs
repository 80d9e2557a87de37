//! A request on its way through the actors: sent, followed until its answer, cancelled on the way.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axlr_protocol::{Code, ErrorBody, Event, EventBody};
use ractor::MessagingErr;
use tokio::sync::{mpsc, oneshot};

use super::plan::Task;
use super::{Inner, State, Ticket};
use crate::actors::{Answer, Job, Permit, SupervisorMsg, Work, WorkspaceEntry, WorkspaceMsg, WriterMsg};
use crate::cancel::Cancel;
use crate::capacity::CANCEL_GRACE;
use crate::error::refusal;
use crate::tools;

impl Inner {
    /// Sends work to its workspace and waits for the answer in a task of its own.
    pub(super) fn launch(
        self: &Arc<Self>,
        state: &mut State,
        ticket: &Ticket,
        entry: Arc<WorkspaceEntry>,
        mut task: Task,
        stream: bool,
    ) -> Result<(), ErrorBody> {
        let permit = match (&task, self.permit()?) {
            (Task::Work(Work::Exec(..)), _) => Permit::Later(self.runtime.running.clone()),
            (_, permit) => Permit::Held(permit),
        };
        let cancel = self.take_off(state, ticket);
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
            Task::Work(Work::Exec(..) | Work::ListPlugins | Work::CallPlugin(_)) => Manner::Responsive,
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
        tokio::spawn(self.clone().follow(ticket.clone(), flying, undelivered));
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
