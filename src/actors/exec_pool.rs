//! Places for exec children: a bound on how many live at once, and a fair, bounded line for those that wait.
//!
//! Owned by the supervisor and shared by every workspace. It counts and grants; it starts nothing.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

/// A place for one child. Dropping it lets the next in line start.
#[derive(Debug)]
pub(crate) struct ChildPlace {
    children: Arc<AtomicUsize>,
    pool: ActorRef<ExecPoolMsg>,
}

impl Drop for ChildPlace {
    fn drop(&mut self) {
        self.children.fetch_sub(1, Ordering::AcqRel);
        // The pool may be gone already at shutdown; then nobody waits either.
        let _ = self.pool.cast(ExecPoolMsg::PlaceFreed);
    }
}

/// The line is full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineFull;

#[derive(Debug)]
pub(crate) enum ExecPoolMsg {
    /// Asks for a place. The reply comes when there is one; a dropped reply port leaves the line.
    Enter { session: u64, reply: RpcReplyPort<Result<ChildPlace, LineFull>> },
    /// A place was given back.
    PlaceFreed,
}

pub(crate) struct ExecPool;

pub(crate) struct ExecPoolArguments {
    /// Children that may live at once.
    pub(crate) places: usize,
    /// Execs that may wait.
    pub(crate) line: usize,
    /// How many live; shared, so that a pool that is started anew goes on counting.
    pub(crate) children: Arc<AtomicUsize>,
}

pub(crate) struct ExecPoolState {
    arguments: ExecPoolArguments,
    /// Who waits, by connection.
    waiting: HashMap<u64, VecDeque<RpcReplyPort<Result<ChildPlace, LineFull>>>>,
    /// The connections that wait, in turn.
    turn: VecDeque<u64>,
}

impl Actor for ExecPool {
    type Msg = ExecPoolMsg;
    type State = ExecPoolState;
    type Arguments = ExecPoolArguments;

    async fn pre_start(
        &self,
        _: ActorRef<ExecPoolMsg>,
        arguments: ExecPoolArguments,
    ) -> Result<ExecPoolState, ActorProcessingErr> {
        Ok(ExecPoolState { arguments, waiting: HashMap::new(), turn: VecDeque::new() })
    }

    async fn handle(
        &self,
        me: ActorRef<ExecPoolMsg>,
        message: ExecPoolMsg,
        state: &mut ExecPoolState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ExecPoolMsg::Enter { session, reply } => state.enter(&me, session, reply),
            ExecPoolMsg::PlaceFreed => state.grant(&me),
        }
        Ok(())
    }
}

impl ExecPoolState {
    fn enter(
        &mut self,
        me: &ActorRef<ExecPoolMsg>,
        session: u64,
        reply: RpcReplyPort<Result<ChildPlace, LineFull>>,
    ) {
        if self.waiting() >= self.arguments.line {
            self.forget_those_who_left();
        }
        if self.waiting() >= self.arguments.line && !self.has_place() {
            let _ = reply.send(Err(LineFull));
            return;
        }
        let line = self.waiting.entry(session).or_default();
        if line.is_empty() {
            self.turn.push_back(session);
        }
        line.push_back(reply);
        self.grant(me);
    }

    /// Gives every free place to the connections in turn.
    fn grant(&mut self, me: &ActorRef<ExecPoolMsg>) {
        while self.has_place() {
            let Some(session) = self.turn.pop_front() else { return };
            let Some(line) = self.waiting.get_mut(&session) else { continue };
            let next = line.pop_front();
            if line.is_empty() {
                self.waiting.remove(&session);
            } else {
                self.turn.push_back(session);
            }
            let Some(reply) = next.filter(|reply| !reply.is_closed()) else { continue };
            self.arguments.children.fetch_add(1, Ordering::AcqRel);
            let place = ChildPlace { children: self.arguments.children.clone(), pool: me.clone() };
            // A caller that left in this very moment drops the place, which frees it again.
            let _ = reply.send(Ok(place));
        }
    }

    fn has_place(&self) -> bool {
        self.arguments.children.load(Ordering::Acquire) < self.arguments.places
    }

    fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }

    fn forget_those_who_left(&mut self) {
        self.waiting.retain(|_, line| {
            line.retain(|reply| !reply.is_closed());
            !line.is_empty()
        });
        self.turn.retain(|session| self.waiting.contains_key(session));
    }
}

#[cfg(test)]
mod tests;
