//! The one actor that orders work: every mutation of a root, across all connections and workspaces.
//!
//! Commits (check, rename) happen one at a time in order of arrival. What can be done ahead is: the temporary files of
//! later writes are made and synced meanwhile. Folder syncs come after the commit, outside the order, and are shared by
//! the commits that wait for the same folder.
//!
//! Owned by the supervisor; ends when the last workspace on its root ends. It knows the root's handle and nothing of
//! who asked. A mutation that failed *while others were ahead of it* is prepared again at its turn: what it saw may be
//! what its predecessors have changed by then.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::folder_syncs::FolderSyncs;
use super::job::Job;
use crate::error::failure;
use crate::tools::{self, Committed, Durability, Error, Kind, Mutation, Prepared};
use crate::workspace::{Sweeper, Workspace};

#[derive(Debug)]
pub(crate) enum WriterMsg {
    /// Applies a mutation; its place in the order is the order of these messages.
    Apply { mutation: Box<Mutation>, job: Job },
    /// The request was cancelled: if it has not committed it need not.
    Withdraw { serial: u64 },
    /// What could be done ahead of its turn is done.
    PreparedAhead { serial: u64, result: Box<Result<Prepared, Error>> },
    /// The mutation that had the turn has committed, or failed.
    TurnEnded { serial: u64 },
}

pub(crate) struct Writer;

pub(crate) struct WriterArguments {
    /// The root.
    pub(crate) root: Arc<Workspace>,
    /// Whether commits are on stable storage before they are answered.
    pub(crate) durability: Durability,
    /// Held during each commit. It outlives this actor, so that one that is started anew can't overlap the last
    /// commit of its predecessor.
    pub(crate) lease: Arc<Mutex<()>>,
}

pub(crate) struct WriterState {
    arguments: WriterArguments,
    syncs: Arc<FolderSyncs>,
    sweeper: Arc<Sweeper>,
    /// In order of arrival; the front has the turn.
    queue: VecDeque<Entry>,
    /// Whether the front is at work on its commit.
    committing: bool,
}

struct Entry {
    mutation: Arc<Mutation>,
    serial: u64,
    /// Taken when the commit starts.
    job: Option<Job>,
    stage: Stage,
}

enum Stage {
    /// Nothing done yet.
    Fresh,
    /// A blocking thread is at it.
    Preparing,
    /// Ready to commit.
    Ready(Box<Prepared>),
    /// Failed while others were ahead, which proves nothing: to be prepared again at its turn.
    AtItsTurn,
}

impl Actor for Writer {
    type Msg = WriterMsg;
    type State = WriterState;
    type Arguments = WriterArguments;

    async fn pre_start(
        &self,
        _: ActorRef<WriterMsg>,
        arguments: WriterArguments,
    ) -> Result<WriterState, ActorProcessingErr> {
        Ok(WriterState {
            arguments,
            syncs: Arc::default(),
            sweeper: Arc::default(),
            queue: VecDeque::new(),
            committing: false,
        })
    }

    async fn handle(
        &self,
        me: ActorRef<WriterMsg>,
        message: WriterMsg,
        state: &mut WriterState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WriterMsg::Apply { mutation, job } => state.apply(mutation, job),
            WriterMsg::Withdraw { serial } => state.withdraw(serial),
            WriterMsg::PreparedAhead { serial, result } => state.prepared_ahead(serial, *result),
            WriterMsg::TurnEnded { serial } => state.turn_ended(serial),
        }
        state.advance(&me);
        Ok(())
    }
}

impl WriterState {
    fn apply(&mut self, mutation: Box<Mutation>, job: Job) {
        let entry =
            Entry { mutation: Arc::from(mutation), serial: job.serial, job: Some(job), stage: Stage::Fresh };
        self.queue.push_back(entry);
    }

    fn withdraw(&mut self, serial: u64) {
        let Some(index) = self.queue.iter().position(|entry| entry.serial == serial) else { return };
        if index == 0 && self.committing {
            return;
        }
        let Some(mut entry) = self.queue.remove(index) else { return };
        let Some(job) = entry.job.take() else { return };
        let error = Error::new(Kind::Cancelled, "cancelled before it was applied; nothing was written");
        // Dropping a prepared mutation removes its temporary file, which may wait for the disk.
        tokio::task::spawn_blocking(move || drop(entry));
        let _ = job.reply.send(Err(failure(error)));
    }

    fn prepared_ahead(&mut self, serial: u64, result: Result<Prepared, Error>) {
        match self.queue.iter_mut().find(|entry| entry.serial == serial) {
            Some(entry) => {
                entry.stage = result.map_or(Stage::AtItsTurn, |prepared| Stage::Ready(Box::new(prepared)));
            }
            None => drop(tokio::task::spawn_blocking(move || drop(result))),
        }
    }

    fn turn_ended(&mut self, serial: u64) {
        self.committing = false;
        if self.queue.front().is_some_and(|entry| entry.serial == serial) {
            self.queue.pop_front();
        }
    }

    /// Starts the front's turn, and what can be done ahead of the others'.
    fn advance(&mut self, me: &ActorRef<WriterMsg>) {
        if !self.committing {
            self.take_turn(me);
        }
        for index in 1..self.queue.len() {
            self.prepare_ahead(me, index);
        }
    }

    fn take_turn(&mut self, me: &ActorRef<WriterMsg>) {
        let Some(front) = self.queue.front_mut() else { return };
        let prepared = match std::mem::replace(&mut front.stage, Stage::Preparing) {
            Stage::Preparing => return,
            Stage::Fresh | Stage::AtItsTurn => None,
            Stage::Ready(prepared) => Some(*prepared),
        };
        let Some(job) = front.job.take() else { return };
        self.committing = true;
        let turn = Turn {
            serial: job.serial,
            root: self.arguments.root.clone(),
            mutation: front.mutation.clone(),
            durability: self.arguments.durability,
            lease: self.arguments.lease.clone(),
            syncs: self.syncs.clone(),
            sweeper: self.sweeper.clone(),
            writer: me.clone(),
        };
        tokio::task::spawn_blocking(move || turn.run(prepared, job));
    }

    fn prepare_ahead(&mut self, me: &ActorRef<WriterMsg>, index: usize) {
        let entry = &self.queue[index];
        let Some(job) = &entry.job else { return };
        if !matches!(entry.stage, Stage::Fresh) || !self.is_worth_preparing(index) {
            return;
        }
        let (root, mutation, durability) =
            (self.arguments.root.clone(), entry.mutation.clone(), self.arguments.durability);
        let (serial, cancel, me) = (entry.serial, job.cancel.clone(), me.clone());
        self.queue[index].stage = Stage::Preparing;
        tokio::task::spawn_blocking(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                tools::prepare(&root, &mutation, durability, &cancel)
            }))
            .unwrap_or_else(|_| Err(Error::new(Kind::Filesystem, "preparing panicked")));
            let _ = me.cast(WriterMsg::PreparedAhead { serial, result: Box::new(result) });
        });
    }

    /// An edit is computed after its predecessors on that file; ahead of them it would be computed twice.
    fn is_worth_preparing(&self, index: usize) -> bool {
        let entry = &self.queue[index];
        !matches!(*entry.mutation, Mutation::Edit(_))
            || !self.queue.iter().take(index).any(|other| other.mutation.path() == entry.mutation.path())
    }
}

/// One mutation at its turn, on a blocking thread.
struct Turn {
    serial: u64,
    root: Arc<Workspace>,
    mutation: Arc<Mutation>,
    durability: Durability,
    lease: Arc<Mutex<()>>,
    syncs: Arc<FolderSyncs>,
    sweeper: Arc<Sweeper>,
    writer: ActorRef<WriterMsg>,
}

impl Turn {
    fn run(self, prepared: Option<Prepared>, job: Job) {
        let Job { cancel, reply, permit, .. } = job;
        let committed = {
            // Tells the writer even when the commit panics, so that those behind it go on.
            let _turn = EndOfTurn(&self);
            let _lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
            self.commit(prepared, &cancel)
        };
        let (answer, folder) = match committed {
            Ok(Committed { output, folder }) => (self.sync(&folder).map(|()| output), Some(folder)),
            Err(error) => (Err(error), None),
        };
        drop(permit);
        let _ = reply.send(answer.map_err(failure));
        if let Some(folder) = folder {
            folder.sweep(&self.sweeper);
        }
    }

    fn commit(&self, prepared: Option<Prepared>, cancel: &crate::cancel::Cancel) -> Result<Committed, Error> {
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => tools::prepare(&self.root, &self.mutation, self.durability, cancel)?,
        };
        prepared.commit(&self.root, &self.mutation, cancel)
    }

    fn sync(&self, folder: &tools::Folder) -> Result<(), Error> {
        match self.durability {
            Durability::Synced => self.syncs.sync(folder),
            Durability::Atomic => Ok(()),
        }
    }
}

struct EndOfTurn<'a>(&'a Turn);

impl Drop for EndOfTurn<'_> {
    fn drop(&mut self) {
        let _ = self.0.writer.cast(WriterMsg::TurnEnded { serial: self.0.serial });
    }
}
