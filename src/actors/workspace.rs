//! One workspace: routes its requests to where they run, and owns what its execs left behind.
//!
//! Owned by the supervisor. It awaits nothing: each request leaves for a blocking thread or a task with the reply port
//! in its hand. When it ends, the processes that detached from its execs end with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axlr_protocol::{Code, Output};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::exec_pool::{ChildPlace, ExecPoolMsg};
use super::job::{Answer, Job, Permit, Work};
use crate::error::{failure, lost, refusal};
use crate::process::{Containment, Detached};
use crate::tools::{self, Controls, Error, Exec, Kind, Patterns};
use crate::workspace::Workspace as Root;

#[derive(Debug)]
pub(crate) enum WorkspaceMsg {
    /// Does the work and answers through the job's reply port.
    Run { work: Work, job: Job },
    /// An exec completed and left processes that live on with this workspace.
    Detached { detached: Detached },
    /// The last process of one such exec has ended.
    DetachedEnded { id: u64 },
    /// The exec pool failed and was started anew.
    PoolReplaced { pool: ActorRef<ExecPoolMsg> },
}

pub(crate) struct Workspace;

pub(crate) struct WorkspaceArguments {
    /// The root.
    pub(crate) root: Arc<Root>,
    /// The complete environment of exec children.
    pub(crate) env: Arc<BTreeMap<String, String>>,
    /// Shared by all workspaces.
    pub(crate) shared: Shared,
}

/// What every workspace of a runtime uses together.
#[derive(Clone)]
pub(crate) struct Shared {
    /// Places for children.
    pub(crate) pool: ActorRef<ExecPoolMsg>,
    /// How children are held.
    pub(crate) containment: Arc<Containment>,
    /// The last compiled patterns.
    pub(crate) patterns: Arc<Patterns>,
    /// Threads that one search may use.
    pub(crate) search_threads: usize,
    /// How many execs left processes that still live.
    pub(crate) detached: Arc<AtomicUsize>,
}

pub(crate) struct WorkspaceState {
    arguments: WorkspaceArguments,
    detached: BTreeMap<u64, tokio::task::AbortHandle>,
    next_detached: u64,
}

impl Actor for Workspace {
    type Msg = WorkspaceMsg;
    type State = WorkspaceState;
    type Arguments = WorkspaceArguments;

    async fn pre_start(
        &self,
        _: ActorRef<WorkspaceMsg>,
        arguments: WorkspaceArguments,
    ) -> Result<WorkspaceState, ActorProcessingErr> {
        Ok(WorkspaceState { arguments, detached: BTreeMap::new(), next_detached: 0 })
    }

    async fn handle(
        &self,
        me: ActorRef<WorkspaceMsg>,
        message: WorkspaceMsg,
        state: &mut WorkspaceState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WorkspaceMsg::Run { work, job } => state.run(me, work, job),
            WorkspaceMsg::Detached { detached } => state.keep(me, detached),
            WorkspaceMsg::DetachedEnded { id } => state.detached_ended(id),
            WorkspaceMsg::PoolReplaced { pool } => state.arguments.shared.pool = pool,
        }
        Ok(())
    }
}

impl WorkspaceState {
    fn run(&mut self, me: ActorRef<WorkspaceMsg>, work: Work, job: Job) {
        let WorkspaceArguments { root, shared, .. } = &self.arguments;
        let root = root.clone();
        match work {
            Work::Read(read) => {
                blocking(job, move |job| tools::read(&root, &read, &job.cancel).map(Output::Read))
            }
            Work::List(list) => blocking(job, move |job| {
                tools::list(&root, &list, &job.cancel, job.events.as_ref()).map(Output::List)
            }),
            Work::Search(search) => {
                let (patterns, threads) = (shared.patterns.clone(), shared.search_threads);
                blocking(job, move |job| {
                    tools::search(&root, &search, &patterns, threads, &job.cancel, job.events.as_ref())
                        .map(Output::Search)
                });
            }
            Work::Exec(exec, controls) => {
                let task = ExecTask {
                    setting: tools::ExecSetting {
                        workspace: root,
                        env: self.arguments.env.clone(),
                        containment: shared.containment.clone(),
                    },
                    pool: shared.pool.clone(),
                    workspace: me,
                };
                tokio::spawn(task.run(*exec, controls, job));
            }
        }
    }

    /// Waits in a task of its own until the processes have ended; ending the task ends them.
    fn keep(&mut self, me: ActorRef<WorkspaceMsg>, detached: Detached) {
        let id = self.next_detached;
        self.next_detached += 1;
        let counted = Counted::new(self.arguments.shared.detached.clone());
        let task = tokio::spawn(async move {
            let _counted = counted;
            detached.ended().await;
            let _ = me.cast(WorkspaceMsg::DetachedEnded { id });
        });
        self.detached.insert(id, task.abort_handle());
    }

    fn detached_ended(&mut self, id: u64) {
        self.detached.remove(&id);
    }
}

impl Drop for WorkspaceState {
    fn drop(&mut self) {
        for task in self.detached.values() {
            task.abort();
        }
    }
}

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(counter: Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::AcqRel);
        Self(counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Runs a tool on a blocking thread. When it panics the reply port is dropped, and the caller answers for it.
fn blocking(job: Job, tool: impl FnOnce(&Job) -> Result<Output, Error> + Send + 'static) {
    tokio::task::spawn_blocking(move || {
        let result = if job.cancel.is_cancelled() {
            Err(Error::new(Kind::Cancelled, "cancelled before it began"))
        } else {
            tool(&job)
        };
        answer(job, result.map_err(failure));
    });
}

/// The events' channel closes and the permit goes home before the answer is out.
fn answer(job: Job, answer: Answer) {
    let Job { events, permit, reply, .. } = job;
    drop((events, permit));
    // A caller that left is ordinary.
    let _ = reply.send(answer);
}

struct ExecTask {
    setting: tools::ExecSetting,
    pool: ActorRef<ExecPoolMsg>,
    workspace: ActorRef<WorkspaceMsg>,
}

impl ExecTask {
    async fn run(self, exec: Exec, controls: Option<Controls>, mut job: Job) {
        let outcome = self.exec(exec, controls, &mut job).await;
        answer(job, outcome);
    }

    async fn exec(&self, exec: Exec, controls: Option<Controls>, job: &mut Job) -> Answer {
        let _place = self.place(job).await?;
        let events = job.events.take();
        let finished =
            tools::exec(&self.setting, exec, &job.cancel, events, controls).await.map_err(failure)?;
        if let Some(detached) = finished.detached {
            // A workspace that is gone drops the message, and with it ends the processes.
            let _ = self.workspace.cast(WorkspaceMsg::Detached { detached });
        }
        Ok(Output::Exec(finished.output))
    }

    /// Waits for a child's place, and for one among the running requests of the daemon.
    async fn place(&self, job: &mut Job) -> Result<ChildPlace, axlr_protocol::ErrorBody> {
        let session = job.session;
        let entered = async {
            let entered = self.pool.call(|reply| ExecPoolMsg::Enter { session, reply }, None).await;
            if let (Ok(ractor::rpc::CallResult::Success(Ok(_))), Permit::Later(running)) =
                (&entered, &job.permit)
            {
                // Places are few, so this waits only while the daemon is full of other work.
                let permit = running.clone().acquire_owned().await.map_err(|_| lost())?;
                job.permit = Permit::Held(permit);
            }
            Ok(entered)
        };
        let entered = tokio::select! {
            entered = entered => entered?,
            () = job.cancel.cancelled() => {
                return Err(refusal(Code::Cancelled, "cancelled while it waited for a child's place; nothing was started"));
            }
        };
        match entered {
            Ok(ractor::rpc::CallResult::Success(Ok(place))) => Ok(place),
            Ok(ractor::rpc::CallResult::Success(Err(super::exec_pool::LineFull))) => Err(refusal(
                Code::Overloaded,
                "all places for exec children are taken and the line for them is full; try again later",
            )),
            _ => Err(lost()),
        }
    }
}
