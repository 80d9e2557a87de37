//! The root of the tree: owns the exec pool, a writer for each root, and the workspaces.
//!
//! It opens, finds and closes workspaces and starts anew what failed, at most n times in t seconds. It opens no path:
//! roots come to it as handles. It ends when the runtime shuts down, and everything below ends with it.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axlr_protocol::tool::WorkspaceInfo;
use axlr_protocol::{Code, ErrorBody};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, RpcReplyPort, SpawnErr, SupervisionEvent};

use super::Rebirths;
use super::exec_pool::{ChildPlace, ExecPool, ExecPoolArguments, ExecPoolMsg, LineFull};
use super::workspace::{Shared, Workspace, WorkspaceArguments, WorkspaceMsg};
use super::writer::{Writer, WriterArguments, WriterMsg};
use crate::capacity::Capacity;
use crate::error::{lost, refusal};
use crate::plugins::{Plugin, Running};
use crate::process::Containment;
use crate::tools::{Durability, Patterns};
use crate::workspace::{Identity, Workspace as Root};

/// What makes two opens of one root the same workspace.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Settings {
    /// The complete environment of exec children.
    pub(crate) env: BTreeMap<String, String>,
    /// The plugins: what their manifests said, and their environments and headers.
    pub(crate) plugins: Vec<Plugin>,
}

/// Without the values: they may be secrets.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { env, plugins } = self;
        f.debug_struct("Settings").field("env", &env.keys()).field("plugins", plugins).finish()
    }
}

/// One open workspace, as its users hold it.
#[derive(Debug)]
pub(crate) struct WorkspaceEntry {
    /// The id on the wire.
    pub(crate) id: String,
    /// The root's path, for people.
    pub(crate) path: String,
    /// The root, for what needs no actor.
    pub(crate) root: Arc<Root>,
    /// Requests that run in it.
    pub(crate) in_flight: AtomicUsize,
    actor: Mutex<ActorRef<WorkspaceMsg>>,
    writer: Mutex<ActorRef<WriterMsg>>,
    /// Whether its last open was given back.
    has_ended: AtomicBool,
}

impl WorkspaceEntry {
    /// The answer to a request whose actor is gone: the workspace was closed, or it failed.
    pub(crate) fn lost(&self) -> ErrorBody {
        if self.has_ended.load(Ordering::Acquire) {
            return refusal(Code::Cancelled, "cancelled: its workspace was closed");
        }
        lost()
    }

    /// The actor of this moment; one that failed is replaced by [`SupervisorMsg::Revive`].
    pub(crate) fn actor(&self) -> ActorRef<WorkspaceMsg> {
        self.actor.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The root's writer of this moment. Mutations go to it without a stop at the workspace: two workspaces on one
    /// root would each keep their own order, and the order is the root's.
    pub(crate) fn writer(&self) -> ActorRef<WriterMsg> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The answer to an open.
pub(crate) type Opened = Result<Arc<WorkspaceEntry>, SpawnErr>;

#[derive(Debug)]
pub(crate) enum SupervisorMsg {
    /// Finds or makes the workspace of a root with these settings, and counts one more holder.
    Open {
        root: Arc<Root>,
        path: String,
        name: Option<String>,
        settings: Settings,
        reply: RpcReplyPort<Opened>,
    },
    /// Gives back one open; the last one ends the workspace. The reply is whether it was the last.
    Close { id: String, reply: RpcReplyPort<bool> },
    /// Asks the exec pool of this moment for a place: for commands, which belong to no workspace.
    EnterPool { session: u64, reply: RpcReplyPort<Result<ChildPlace, LineFull>> },
    /// Lists what is open.
    List { reply: RpcReplyPort<Vec<WorkspaceInfo>> },
    /// Starts a workspace's failed actor anew. The reply is whether it lives now.
    Revive { id: String, reply: RpcReplyPort<bool> },
}

pub(crate) struct Supervisor;

pub(crate) struct SupervisorArguments {
    pub(crate) capacity: Capacity,
    pub(crate) containment: Arc<Containment>,
    pub(crate) durability: Durability,
    /// Exec children alive, counted by the pool.
    pub(crate) children: Arc<AtomicUsize>,
    /// Execs that left processes which still live.
    pub(crate) detached: Arc<AtomicUsize>,
    /// Plugin sessions that are not closed yet.
    pub(crate) sessions: Running,
}

pub(crate) struct SupervisorState {
    capacity: Capacity,
    durability: Durability,
    children: Arc<AtomicUsize>,
    shared: Shared,
    roots: HashMap<Identity, RootEntry>,
    /// The leases of roots that were closed; one lives for as long as a last commit there runs.
    leases: HashMap<Identity, Weak<Mutex<()>>>,
    workspaces: BTreeMap<String, Held>,
    next_id: u64,
    pool_rebirths: Rebirths,
}

struct RootEntry {
    root: Arc<Root>,
    writer: ActorRef<WriterMsg>,
    lease: Arc<Mutex<()>>,
    rebirths: Rebirths,
}

struct Held {
    entry: Arc<WorkspaceEntry>,
    settings: Settings,
    name: Option<String>,
    holders: u64,
    rebirths: Rebirths,
}

impl Actor for Supervisor {
    type Msg = SupervisorMsg;
    type State = SupervisorState;
    type Arguments = SupervisorArguments;

    async fn pre_start(
        &self,
        me: ActorRef<SupervisorMsg>,
        arguments: SupervisorArguments,
    ) -> Result<SupervisorState, ActorProcessingErr> {
        let SupervisorArguments { capacity, containment, durability, children, detached, sessions } =
            arguments;
        let pool = spawn_pool(&me, &capacity, children.clone()).await?;
        let shared = Shared {
            pool,
            containment,
            patterns: Arc::new(Patterns::default()),
            capacity: capacity.clone(),
            detached,
            sessions,
        };
        Ok(SupervisorState {
            pool_rebirths: Rebirths::new(&capacity),
            capacity,
            durability,
            children,
            shared,
            roots: HashMap::new(),
            leases: HashMap::new(),
            workspaces: BTreeMap::new(),
            next_id: 1,
        })
    }

    async fn handle(
        &self,
        me: ActorRef<SupervisorMsg>,
        message: SupervisorMsg,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SupervisorMsg::Open { root, path, name, settings, reply } => {
                let opened = state.open(&me, root, path, name, settings).await;
                if let Err(ractor::MessagingErr::SendErr(Ok(entry))) = reply.send(opened) {
                    let _ = state.close(&entry.id);
                }
            }
            SupervisorMsg::Close { id, reply } => {
                let _ = reply.send(state.close(&id));
            }
            SupervisorMsg::EnterPool { session, reply } => {
                // A pool that failed drops the reply port, which its caller reads as a fault of the daemon.
                let _ = state.shared.pool.cast(ExecPoolMsg::Enter { session, reply });
            }
            SupervisorMsg::List { reply } => {
                let _ = reply.send(state.list());
            }
            SupervisorMsg::Revive { id, reply } => {
                let lives = state.revive(&me, &id).await;
                let _ = reply.send(lives);
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        me: ActorRef<SupervisorMsg>,
        event: SupervisionEvent,
        state: &mut SupervisorState,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, error) => {
                tracing::error!(actor = %who.get_id(), %error, "an actor failed");
                state.replace_failed(&me, &who).await;
            }
            SupervisionEvent::ActorStarted(_)
            | SupervisionEvent::ActorTerminated(..)
            | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl SupervisorState {
    async fn open(
        &mut self,
        me: &ActorRef<SupervisorMsg>,
        root: Arc<Root>,
        path: String,
        name: Option<String>,
        settings: Settings,
    ) -> Opened {
        let identity = root.identity();
        let same = |held: &&mut Held| held.entry.root.identity() == identity && held.settings == settings;
        if let Some(held) = self.workspaces.values_mut().find(same) {
            held.holders += 1;
            held.name = held.name.take().or(name);
            return Ok(held.entry.clone());
        }
        let (root, writer) = self.root(me, root).await?;
        let actor = self.spawn_workspace(me, &root, &settings).await?;
        let id = format!("w{}", self.next_id);
        self.next_id += 1;
        let entry = Arc::new(WorkspaceEntry {
            id: id.clone(),
            path,
            root,
            in_flight: AtomicUsize::new(0),
            actor: Mutex::new(actor),
            writer: Mutex::new(writer),
            has_ended: AtomicBool::new(false),
        });
        let rebirths = Rebirths::new(&self.capacity);
        self.workspaces.insert(id, Held { entry: entry.clone(), settings, name, holders: 1, rebirths });
        Ok(entry)
    }

    /// The root's handle and writer, made when it is the first workspace on it.
    async fn root(
        &mut self,
        me: &ActorRef<SupervisorMsg>,
        root: Arc<Root>,
    ) -> Result<(Arc<Root>, ActorRef<WriterMsg>), SpawnErr> {
        let identity = root.identity();
        if let Some(known) = self.roots.get(&identity) {
            return Ok((known.root.clone(), known.writer.clone()));
        }
        let lease = self.leases.remove(&identity).and_then(|lease| lease.upgrade()).unwrap_or_default();
        let writer = spawn_writer(me, &root, self.durability, &lease).await?;
        let rebirths = Rebirths::new(&self.capacity);
        self.roots
            .insert(identity, RootEntry { root: root.clone(), writer: writer.clone(), lease, rebirths });
        Ok((root, writer))
    }

    async fn spawn_workspace(
        &self,
        me: &ActorRef<SupervisorMsg>,
        root: &Arc<Root>,
        settings: &Settings,
    ) -> Result<ActorRef<WorkspaceMsg>, SpawnErr> {
        let arguments = WorkspaceArguments {
            root: root.clone(),
            env: Arc::new(settings.env.clone()),
            plugins: settings.plugins.clone(),
            shared: self.shared.clone(),
        };
        Ok(Actor::spawn_linked(None, Workspace, arguments, me.get_cell()).await?.0)
    }

    /// Whether that was the last open, so that the workspace has ended.
    fn close(&mut self, id: &str) -> bool {
        let Some(held) = self.workspaces.get_mut(id) else { return false };
        held.holders -= 1;
        if held.holders > 0 {
            return false;
        }
        let Some(held) = self.workspaces.remove(id) else { return false };
        held.entry.has_ended.store(true, Ordering::Release);
        held.entry.actor().stop(None);
        let identity = held.entry.root.identity();
        if self.workspaces.values().all(|other| other.entry.root.identity() != identity)
            && let Some(root) = self.roots.remove(&identity)
        {
            root.writer.stop(None);
            // Opened again at once, the root must not commit beside what its last writer still does.
            self.leases.retain(|_, lease| lease.strong_count() > 0);
            self.leases.insert(identity, Arc::downgrade(&root.lease));
        }
        true
    }

    fn list(&self) -> Vec<WorkspaceInfo> {
        let info = |held: &Held| WorkspaceInfo {
            workspace: held.entry.id.clone(),
            root: held.entry.path.clone(),
            name: held.name.clone(),
            handles: held.holders,
            in_flight: held.entry.in_flight.load(Ordering::Acquire) as u64,
        };
        self.workspaces.values().map(info).collect()
    }

    async fn revive(&mut self, me: &ActorRef<SupervisorMsg>, id: &str) -> bool {
        let Some(held) = self.workspaces.get_mut(id) else { return false };
        if is_alive(&held.entry.actor()) {
            return true;
        }
        if !held.rebirths.allow() {
            return false;
        }
        let (entry, settings) = (held.entry.clone(), held.settings.clone());
        match self.spawn_workspace(me, &entry.root, &settings).await {
            Ok(actor) => {
                *entry.actor.lock().unwrap_or_else(PoisonError::into_inner) = actor;
                true
            }
            Err(error) => {
                tracing::error!(workspace = id, %error, "could not be started anew");
                false
            }
        }
    }

    /// A workspace waits for its next request to be reborn; a writer or the pool is needed by others at once.
    async fn replace_failed(&mut self, me: &ActorRef<SupervisorMsg>, who: &ActorCell) {
        if self.shared.pool.get_id() == who.get_id() {
            if self.pool_rebirths.allow()
                && let Ok(pool) = spawn_pool(me, &self.capacity, self.children.clone()).await
            {
                self.shared.pool = pool.clone();
                for held in self.workspaces.values() {
                    let _ = held.entry.actor().cast(WorkspaceMsg::PoolReplaced { pool: pool.clone() });
                }
            }
            return;
        }
        let failed = self.roots.iter_mut().find(|(_, root)| root.writer.get_id() == who.get_id());
        let Some((identity, root)) = failed else { return };
        if root.rebirths.allow()
            && let Ok(writer) = spawn_writer(me, &root.root, self.durability, &root.lease).await
        {
            root.writer = writer.clone();
            for held in self.workspaces.values().filter(|held| held.entry.root.identity() == *identity) {
                *held.entry.writer.lock().unwrap_or_else(PoisonError::into_inner) = writer.clone();
            }
        }
    }
}

async fn spawn_pool(
    me: &ActorRef<SupervisorMsg>,
    capacity: &Capacity,
    children: Arc<AtomicUsize>,
) -> Result<ActorRef<ExecPoolMsg>, SpawnErr> {
    let arguments =
        ExecPoolArguments { places: capacity.children, line: capacity.children_waiting, children };
    Ok(Actor::spawn_linked(None, ExecPool, arguments, me.get_cell()).await?.0)
}

async fn spawn_writer(
    me: &ActorRef<SupervisorMsg>,
    root: &Arc<Root>,
    durability: Durability,
    lease: &Arc<Mutex<()>>,
) -> Result<ActorRef<WriterMsg>, SpawnErr> {
    let arguments = WriterArguments { root: root.clone(), durability, lease: lease.clone() };
    Ok(Actor::spawn_linked(None, Writer, arguments, me.get_cell()).await?.0)
}

fn is_alive(actor: &ActorRef<WorkspaceMsg>) -> bool {
    matches!(
        actor.get_status(),
        ractor::ActorStatus::Running | ractor::ActorStatus::Starting | ractor::ActorStatus::Unstarted
    )
}

#[cfg(test)]
mod tests;
