//! One workspace: routes its requests to where they run, and owns what its execs left behind.
//!
//! Owned by the supervisor. It awaits nothing: each request leaves for a blocking thread or a task with the reply port
//! in its hand. When it ends, the processes that detached from its execs end with it, and so do its plugins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axlr_protocol::{Code, Output, limits};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::time::Instant;

use super::Rebirths;
use super::exec_pool::{ChildPlace, ExecPoolMsg};
use super::job::{Answer, Job, Permit, Work};
use super::plugin_session::{PluginSession, PluginSessionArguments, PluginSessionMsg};
use crate::capacity::Capacity;
use crate::error::{failure, lost, refusal};
use crate::plugins::{self, Home, Plugin, PluginCall, Running, Session};
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
    /// The plugins, in the order of their registration.
    pub(crate) plugins: Vec<Plugin>,
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
    /// Bounds.
    pub(crate) capacity: Capacity,
    /// How many execs left processes that still live.
    pub(crate) detached: Arc<AtomicUsize>,
    /// How many plugin sessions are not closed yet.
    pub(crate) sessions: Running,
}

pub(crate) struct WorkspaceState {
    arguments: WorkspaceArguments,
    plugins: Vec<Registered>,
    detached: BTreeMap<u64, tokio::task::AbortHandle>,
    next_detached: u64,
}

/// A plugin and the actor that holds its session.
struct Registered {
    plugin: Arc<Plugin>,
    session: ActorRef<PluginSessionMsg>,
    rebirths: Rebirths,
}

impl Actor for Workspace {
    type Msg = WorkspaceMsg;
    type State = WorkspaceState;
    type Arguments = WorkspaceArguments;

    async fn pre_start(
        &self,
        me: ActorRef<WorkspaceMsg>,
        mut arguments: WorkspaceArguments,
    ) -> Result<WorkspaceState, ActorProcessingErr> {
        let mut plugins = Vec::new();
        for plugin in std::mem::take(&mut arguments.plugins) {
            let plugin = Arc::new(plugin);
            let session = spawn_session(&me, &arguments, plugin.clone()).await?;
            let rebirths = Rebirths::new(&arguments.shared.capacity);
            plugins.push(Registered { plugin, session, rebirths });
        }
        Ok(WorkspaceState { arguments, plugins, detached: BTreeMap::new(), next_detached: 0 })
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

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<WorkspaceMsg>,
        event: SupervisionEvent,
        state: &mut WorkspaceState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, error) => {
                tracing::error!(actor = %who.get_id(), %error, "the actor of a plugin failed");
                state.replace_failed(&me, &who).await;
            }
            SupervisionEvent::ActorStarted(_)
            | SupervisionEvent::ActorTerminated(..)
            | SupervisionEvent::ProcessGroupChanged(_) => {}
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
                let (patterns, threads) = (shared.patterns.clone(), shared.capacity.search_threads);
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
            Work::ListPlugins => {
                let sessions = self.plugins.iter().map(|plugin| plugin.session.clone()).collect();
                tokio::spawn(list_plugins(sessions, job));
            }
            Work::CallPlugin(call) => match self.plugin_for(&call) {
                Ok(session) => drop(tokio::spawn(call_plugin(session, *call, job))),
                Err(error) => answer(job, Err(failure(error))),
            },
        }
    }

    /// The session of the plugin that is called, before anything is started for it.
    fn plugin_for(&self, call: &PluginCall) -> Result<ActorRef<PluginSessionMsg>, Error> {
        let found = self.plugins.iter().find(|registered| registered.plugin.id() == call.plugin_id);
        let Registered { plugin, session, .. } =
            found.ok_or_else(|| plugins::unknown_plugin(&call.plugin_id))?;
        if !plugin.manifest.allows(&call.tool_name) {
            return Err(plugins::not_allowed(&call.plugin_id, &call.tool_name));
        }
        Ok(session.clone())
    }

    async fn replace_failed(&mut self, me: &ActorRef<WorkspaceMsg>, who: &ActorCell) {
        let failed = self.plugins.iter_mut().find(|plugin| plugin.session.get_id() == who.get_id());
        if let Some(failed) = failed
            && failed.rebirths.allow()
            && let Ok(session) = spawn_session(me, &self.arguments, failed.plugin.clone()).await
        {
            failed.session = session;
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

async fn spawn_session(
    me: &ActorRef<WorkspaceMsg>,
    arguments: &WorkspaceArguments,
    plugin: Arc<Plugin>,
) -> Result<ActorRef<PluginSessionMsg>, SpawnErr> {
    let root = arguments.root.clone();
    let home = Home {
        containment: arguments.shared.containment.clone(),
        directory: Arc::new(move || root.handle().try_clone_to_owned()),
        running: arguments.shared.sessions.clone(),
    };
    let arguments = PluginSessionArguments { plugin, home };
    Ok(Actor::spawn_linked(None, PluginSession, arguments, me.get_cell()).await?.0)
}

/// The session of a plugin; `None` when its actor is gone, or went meanwhile.
async fn open_session(session: &ActorRef<PluginSessionMsg>) -> Result<Option<Arc<Session>>, Error> {
    match session.call(|reply| PluginSessionMsg::Use { reply }, None).await {
        Ok(ractor::rpc::CallResult::Success(opened)) => opened.map(Some),
        _ => Ok(None),
    }
}

async fn call_plugin(session: ActorRef<PluginSessionMsg>, call: PluginCall, mut job: Job) {
    let deadline = Instant::now() + call.timeout;
    let outcome = async {
        let opening = open_session(&session);
        let Some(session) = plugins::within(call.timeout, deadline, &job.cancel, opening).await? else {
            return Ok(None);
        };
        let events = job.events.take();
        session.call(call, deadline, &job.cancel, events).await.map(Some)
    };
    match outcome.await.transpose() {
        Some(outcome) => answer(job, outcome.map(Output::PluginsCall).map_err(failure)),
        // Whoever waits knows whether the workspace was closed or failed.
        None => drop(job),
    }
}

async fn list_plugins(sessions: Vec<ActorRef<PluginSessionMsg>>, job: Job) {
    let timeout = Duration::from_millis(limits::PLUGIN_TIMEOUT_DEFAULT_MS);
    let lists = sessions.into_iter().map(|session| async move {
        match open_session(&session).await? {
            Some(session) => session.list().await,
            None => Err(Error::new(
                Kind::PluginUnavailable,
                "the session of a plugin was lost to a fault of axlrd",
            )),
        }
    });
    let joined = plugins::within(timeout, Instant::now() + timeout, &job.cancel, plugins::join_lists(lists));
    let outcome = joined.await;
    answer(job, outcome.map(Output::PluginsList).map_err(failure));
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
