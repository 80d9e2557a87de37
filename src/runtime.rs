//! The facade: start, open a session, submit requests, shut down.
//!
//! What cannot wait (a small read from the page cache, a ping) runs in the caller's task; the rest goes to the actors.
//! Doors (`crate::listen`) meet [`Session`] and [`Outlet`] and nothing behind them. The one-request worker enters
//! through [`once`].

pub mod command;
mod control;
pub mod environment;
mod info;
mod once;
pub mod plugin_sources;
mod session;
mod stats;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use ractor::{Actor, ActorRef, SpawnErr};
use tokio::sync::{Notify, Semaphore, watch};

use crate::actors::{Settings, Supervisor, SupervisorArguments, SupervisorMsg, WorkspaceEntry};
use crate::cancel::Cancel;
use crate::capacity::{Capacity, PLUGIN_CLOSE_MAX, STOP_GRACE};
use crate::plugins;
use crate::workspace::sweep_tree;

pub use crate::plugins::{ByPlugin, PluginSetup, SetupError};
pub use crate::process::{Capture, Containment, Source, raise_descriptor_limit};
pub use crate::tools::Durability;
pub use crate::workspace::Workspace;
pub use once::{Once, Remains, once};
pub use session::{Outlet, Session};
pub use stats::Traffic;

/// How a runtime is set up.
pub struct Config {
    /// Directories that every connection may use; the first is the default workspace.
    pub roots: Vec<std::path::PathBuf>,
    /// The complete environment of exec children, where a workspace brings none of its own.
    pub env: BTreeMap<String, String>,
    /// The plugins, where a workspace brings none of its own.
    pub plugins: PluginSetup,
    /// Whether a mutation is on stable storage before it is answered.
    pub durability: Durability,
    /// How long running requests may finish after a stop.
    pub drain: Duration,
    /// How children are held.
    pub containment: Arc<Containment>,
    /// Bounds.
    pub capacity: Capacity,
}

/// Why a runtime did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A root could not be opened.
    #[error("--root {path}")]
    Root {
        /// As it was given.
        path: String,
        /// What open(2) says.
        source: std::io::Error,
    },
    /// The actors could not be started.
    #[error("the actors could not be started: {0}")]
    Actors(#[from] SpawnErr),
}

/// Where the runtime is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Serving.
    Running,
    /// Somebody asked for a stop; running requests may finish for so long.
    Draining(Duration),
    /// Nothing more will be answered; connections write what waits and close.
    Stopped,
}

/// A running runtime. Clones are one runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    started: Instant,
    config: Config,
    supervisor: ActorRef<SupervisorMsg>,
    roots: Vec<Arc<WorkspaceEntry>>,
    running: Arc<Semaphore>,
    children: Arc<AtomicUsize>,
    detached: Arc<AtomicUsize>,
    plugin_sessions: plugins::Running,
    stats: stats::Stats,
    /// Told when the last request that ran is answered.
    landed: Notify,
    phase: watch::Sender<Phase>,
    sessions: Mutex<Vec<Weak<session::Inner>>>,
    next_session: AtomicU64,
    next_serial: AtomicU64,
    /// Ends every command.
    commands: Cancel,
    /// Ends sweeps and everything else that works for no request.
    background: Cancel,
}

impl Runtime {
    /// Starts the actors and opens the roots.
    ///
    /// # Errors
    /// A root that is no directory, or actors that do not start.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let (children, detached) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let plugin_sessions = plugins::Running::default();
        let arguments = SupervisorArguments {
            capacity: config.capacity.clone(),
            containment: config.containment.clone(),
            durability: config.durability,
            children: children.clone(),
            detached: detached.clone(),
            sessions: plugin_sessions.clone(),
        };
        let (supervisor, _) = Actor::spawn(None, Supervisor, arguments).await?;
        let background = Cancel::new();
        let mut roots = Vec::new();
        for path in &config.roots {
            let failed = |source| StartError::Root { path: path.display().to_string(), source };
            let root = Arc::new(Workspace::open(path).map_err(failed)?);
            let path = std::fs::canonicalize(path).map_err(failed)?.display().to_string();
            let settings = Settings { env: config.env.clone(), plugins: config.plugins.plugins() };
            roots.push(open(&supervisor, &background, root, path, None, settings).await?);
        }
        let containment = config.containment.clone();
        tokio::spawn(async move { containment.guard().await });
        let running = Arc::new(Semaphore::new(config.capacity.running));
        Ok(Self(Arc::new(Inner {
            started: Instant::now(),
            config,
            supervisor,
            roots,
            running,
            children,
            detached,
            plugin_sessions,
            stats: stats::Stats::default(),
            landed: Notify::new(),
            phase: watch::Sender::new(Phase::Running),
            sessions: Mutex::default(),
            next_session: AtomicU64::new(1),
            next_serial: AtomicU64::new(1),
            commands: Cancel::new(),
            background,
        })))
    }

    /// Begins a session: one connection's requests, in flight and waiting.
    pub fn session(&self, outlet: Arc<dyn Outlet>) -> Session {
        let session = Session::new(self.0.clone(), outlet);
        let mut sessions = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(session.downgrade());
        session
    }

    /// The roots that every connection may use: workspace and path of each, the default first.
    pub fn roots(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.roots.iter().map(|root| (root.id.as_str(), root.path.as_str()))
    }

    /// A number for one client in the line for children, where clients take turns.
    pub fn client(&self) -> u64 {
        self.0.next_session.fetch_add(1, Ordering::Relaxed)
    }

    /// Bytes and connections, counted by the doors.
    pub fn traffic(&self) -> &Traffic {
        &self.0.stats.traffic
    }

    /// What the daemon counts, as `server.stats` has it.
    pub fn stats(&self) -> axlr_protocol::tool::ServerStatsOutput {
        self.0.stats()
    }

    /// How many connections may be open.
    pub fn connections_max(&self) -> usize {
        self.0.config.capacity.connections
    }

    /// Follows the runtime's life.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.0.phase.subscribe()
    }

    /// Returns when a stop was asked for.
    pub async fn stopping(&self) {
        self.0.stopping().await;
    }

    /// Asks for a stop, as SIGTERM does. `false` when one was asked for already; that changes nothing.
    pub fn request_stop(&self, drain: Option<Duration>) -> bool {
        self.0.request_stop(drain)
    }

    /// Waits for a requested stop to run its course: running requests finish or, when the drain or `hurry` ends, are
    /// cancelled; then the actors end, and with them every child.
    pub async fn stopped(&self, hurry: impl Future<Output = ()>) {
        tokio::pin!(hurry);
        let drain = tokio::select! {
            drain = self.0.asked_to_stop() => drain,
            () = &mut hurry => Duration::ZERO,
        };
        self.0.refuse_waiting();
        tokio::select! {
            () = self.0.idle() => {}
            () = tokio::time::sleep(drain) => {}
            () = &mut hurry, if !drain.is_zero() => {}
        }
        self.0.cancel_all();
        self.0.background.cancel();
        if tokio::time::timeout(STOP_GRACE, self.0.idle()).await.is_err() {
            tracing::warn!("requests did not end in time; the daemon ends without them");
        }
        self.0.phase.send_replace(Phase::Stopped);
        // The last answers are on their way.
        let _ = tokio::time::timeout(STOP_GRACE, self.traffic().all_closed()).await;
        self.0.supervisor.stop_children_and_wait(None, Some(STOP_GRACE)).await;
        self.0.supervisor.stop(None);
        // Their sessions were theirs; each is closed by a task of its own, which asks before it kills.
        self.0.plugin_sessions.ended(PLUGIN_CLOSE_MAX).await;
        self.0.config.containment.kill_all();
    }
}

impl Inner {
    fn request_stop(&self, drain: Option<Duration>) -> bool {
        let drain = drain.unwrap_or(self.config.drain);
        self.phase.send_if_modified(|phase| {
            let is_first = *phase == Phase::Running;
            if is_first {
                *phase = Phase::Draining(drain);
            }
            is_first
        })
    }

    /// Returns how long the drain may take, when there is to be one.
    async fn asked_to_stop(&self) -> Duration {
        let mut phase = self.phase.subscribe();
        let asked = phase.wait_for(|phase| *phase != Phase::Running).await;
        match asked.as_deref() {
            Ok(Phase::Draining(drain)) => *drain,
            _ => Duration::ZERO,
        }
    }

    async fn stopping(&self) {
        let _ = self.phase.subscribe().wait_for(|phase| *phase != Phase::Running).await;
    }

    fn is_running(&self) -> bool {
        *self.phase.borrow() == Phase::Running
    }

    fn serial(&self) -> u64 {
        self.next_serial.fetch_add(1, Ordering::Relaxed)
    }

    fn each_session(&self, act: impl Fn(&session::Inner)) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).clone();
        sessions.iter().filter_map(Weak::upgrade).for_each(|session| act(&session));
    }

    fn refuse_waiting(&self) {
        self.each_session(session::Inner::refuse_waiting);
    }

    fn cancel_all(&self) {
        self.each_session(session::Inner::cancel_all);
        self.commands.cancel();
    }

    /// Gives back one open of a workspace. The last one ends what runs there, also for connections that gave back
    /// theirs before. `false` when the supervisor is gone, and with it every workspace.
    async fn give_back(&self, id: String) -> bool {
        let message = |reply| SupervisorMsg::Close { id: id.clone(), reply };
        let Ok(ractor::rpc::CallResult::Success(ended)) = self.supervisor.call(message, None).await else {
            return false;
        };
        if ended {
            self.each_session(|session| session.cancel_workspace(&id));
        }
        true
    }

    /// Returns when every request that ran has been answered.
    async fn idle(&self) {
        until(&self.landed, || self.stats.running.load(Ordering::Acquire) == 0).await;
    }
}

/// Returns when something is so; `notify` tells when it may have become so.
async fn until(notify: &Notify, is_so: impl Fn() -> bool) {
    loop {
        let notified = notify.notified();
        tokio::pin!(notified);
        // Registered before the question, so that no word falls between the two.
        notified.as_mut().enable();
        if is_so() {
            return;
        }
        notified.await;
    }
}

/// Opens a workspace on a root that was opened, and sweeps it in the background.
async fn open(
    supervisor: &ActorRef<SupervisorMsg>,
    background: &Cancel,
    root: Arc<Workspace>,
    path: String,
    name: Option<String>,
    settings: Settings,
) -> Result<Arc<WorkspaceEntry>, SpawnErr> {
    let message = |reply| SupervisorMsg::Open { root, path, name, settings, reply };
    let entry = match supervisor.call(message, None).await {
        Ok(ractor::rpc::CallResult::Success(opened)) => opened?,
        _ => return Err(SpawnErr::StartupFailed("the supervisor is gone".into())),
    };
    let (root, background) = (entry.root.clone(), background.clone());
    tokio::task::spawn_blocking(move || sweep_tree(&root, &background));
    Ok(entry)
}
