//! The one actor that orders work: every mutation of a root, across all connections and workspaces.
//!
//! Commits (check, rename) happen one at a time in order of arrival. What can be done ahead is: the temporary files of
//! later writes are made and synced meanwhile. Folder syncs come after the commit, outside the order, and are shared by
//! the commits that wait for the same folder.
//!
//! Owned by the supervisor; ends when the last workspace on its root ends. It knows the root's handle and nothing of
//! who asked. A mutation that failed *while others were ahead of it* is prepared again at its turn: what it saw may be
//! what its predecessors have changed by then.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::folder_syncs::FolderSyncs;
use super::job::Job;
use crate::error::failure;
use crate::tools::{self, Committed, Durability, Error, Kind, Mutation, Prepared};
use crate::workspace::{Identity, Sweeper, Workspace};

#[derive(Debug)]
pub(crate) enum WriterMsg {
    /// Applies a mutation; its place in the order is the order of these messages.
    Apply { mutation: Box<Mutation>, job: Job },
    /// The request was cancelled: if it has not committed it need not.
    Withdraw { serial: u64 },
    /// What could be done ahead of its turn is done.
    PreparedAhead { serial: u64, result: Box<Result<Prepared, Error>> },
    /// The mutations that had the turn have committed, or failed.
    TurnEnded,
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
    /// In order of arrival; those at the front have the turn.
    queue: VecDeque<Entry>,
    /// How many at the front are at work on their commit.
    committing: usize,
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
            committing: 0,
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
            WriterMsg::TurnEnded => state.turn_ended(),
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
        if index < self.committing {
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

    fn turn_ended(&mut self) {
        self.queue.drain(..self.committing);
        self.committing = 0;
    }

    /// Starts the turn of the front, and what can be done ahead of the others'.
    fn advance(&mut self, me: &ActorRef<WriterMsg>) {
        if self.committing == 0 {
            self.take_turn(me);
        }
        for index in self.committing.max(1)..self.queue.len() {
            self.prepare_ahead(me, index);
        }
    }

    /// Gives the turn to the front, and with it to all that are ready right behind it: their commits follow each other
    /// on one thread and share a folder sync. A hand-over for each would cost more than the rename, and each would
    /// wait for the journal anew.
    fn take_turn(&mut self, me: &ActorRef<WriterMsg>) {
        let mut commits = Vec::new();
        for entry in &mut self.queue {
            let prepared = match std::mem::replace(&mut entry.stage, Stage::Preparing) {
                Stage::Ready(prepared) => Some(*prepared),
                Stage::Fresh | Stage::AtItsTurn if commits.is_empty() => None,
                other => {
                    entry.stage = other;
                    break;
                }
            };
            let is_alone = prepared.is_none();
            let Some(job) = entry.job.take() else { break };
            commits.push(Commit { mutation: entry.mutation.clone(), prepared, job });
            if is_alone {
                break;
            }
        }
        if commits.is_empty() {
            return;
        }
        self.committing = commits.len();
        let turn = Turn {
            root: self.arguments.root.clone(),
            durability: self.arguments.durability,
            lease: self.arguments.lease.clone(),
            syncs: self.syncs.clone(),
            sweeper: self.sweeper.clone(),
            writer: me.clone(),
        };
        tokio::task::spawn_blocking(move || turn.run(commits));
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
            let prepare = || tools::prepare(&root, &mutation, durability, &cancel);
            let result = catch_unwind(AssertUnwindSafe(prepare))
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

/// A mutation at its turn.
struct Commit {
    mutation: Arc<Mutation>,
    /// `None` when nothing was done ahead.
    prepared: Option<Prepared>,
    job: Job,
}

/// A change that is made and waits for its folder.
struct Made {
    committed: Committed,
    job: Job,
}

/// One turn, on a blocking thread.
struct Turn {
    root: Arc<Workspace>,
    durability: Durability,
    lease: Arc<Mutex<()>>,
    syncs: Arc<FolderSyncs>,
    sweeper: Arc<Sweeper>,
    writer: ActorRef<WriterMsg>,
}

impl Turn {
    fn run(self, commits: Vec<Commit>) {
        let mut folders: BTreeMap<Identity, Vec<Made>> = BTreeMap::new();
        {
            // Tells the writer even when this panics, so that those behind go on.
            let _turn = EndOfTurn(&self.writer);
            let _lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
            for commit in commits {
                if let Some(made) = self.commit(commit) {
                    folders.entry(made.committed.folder.identity()).or_default().push(made);
                }
            }
        }
        let turn = Arc::new(self);
        let last = folders.pop_last();
        for (_, made) in folders {
            let turn = turn.clone();
            tokio::task::spawn_blocking(move || turn.finish(made));
        }
        if let Some((_, made)) = last {
            turn.finish(made);
        }
    }

    /// Commits one mutation. A failure is answered at once; a panic is this request's alone.
    fn commit(&self, commit: Commit) -> Option<Made> {
        let Commit { mutation, prepared, job } = commit;
        let attempt = || {
            let prepared = match prepared {
                Some(prepared) => prepared,
                None => tools::prepare(&self.root, &mutation, self.durability, &job.cancel)?,
            };
            prepared.commit(&self.root, &mutation, &job.cancel)
        };
        match catch_unwind(AssertUnwindSafe(attempt)) {
            Ok(Ok(committed)) => Some(Made { committed, job }),
            Ok(Err(error)) => {
                answer(job, Err(failure(error)));
                None
            }
            // Dropped, the reply port tells that the request was lost.
            Err(_) => None,
        }
    }

    /// Syncs the folder of these changes once, answers them, and sweeps behind them.
    fn finish(&self, made: Vec<Made>) {
        let mut is_synced = self.durability == Durability::Atomic;
        let (mut swept, mut displaced) = (None, Vec::new());
        for Made { committed: Committed { output, folder, replaced }, job } in made {
            let outcome = if is_synced { Ok(()) } else { self.syncs.sync(&folder) };
            // Those that follow share a sync that worked; otherwise each tries for itself.
            is_synced |= outcome.is_ok();
            answer(job, outcome.map(|()| output).map_err(failure));
            swept = Some(folder);
            displaced.push(replaced);
        }
        // Everybody has his answer: now the file system may take its time.
        drop(displaced);
        if let Some(folder) = swept {
            folder.sweep(&self.sweeper);
        }
    }
}

/// The permit goes home before the answer is out.
fn answer(job: Job, answer: super::Answer) {
    let Job { permit, reply, .. } = job;
    drop(permit);
    // A caller that left is ordinary.
    let _ = reply.send(answer);
}

struct EndOfTurn<'a>(&'a ActorRef<WriterMsg>);

impl Drop for EndOfTurn<'_> {
    fn drop(&mut self) {
        let _ = self.0.cast(WriterMsg::TurnEnded);
    }
}
