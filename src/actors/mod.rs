//! Order, ownership and failure. This room knows no socket, no bytes and no codec.
//!
//! ```text
//! Supervisor ─┬─ ExecPool             places for children, shared by all
//!             ├─ Writer (one a root)  one commit at a time
//!             └─ Workspace (0..n)     routes requests, owns what execs left behind
//!                  └─ PluginSession (0..n)  one server, opened when it is needed
//! ```
//!
//! A root's writer hangs below the supervisor, not below a workspace, because workspaces with other settings on the
//! same root share it; mutations go to it directly, since the order of their arrival is the root's. Routers never await work: they hand the reply port on and return.

mod exec_pool;
mod folder_syncs;
mod job;
mod plugin_session;
mod supervisor;
mod workspace;
mod writer;

pub(crate) use exec_pool::{ChildPlace, LineFull};
pub(crate) use job::{Answer, Job, Permit, Work};
pub(crate) use supervisor::{Settings, Supervisor, SupervisorArguments, SupervisorMsg, WorkspaceEntry};
pub(crate) use workspace::WorkspaceMsg;
pub(crate) use writer::WriterMsg;

/// Whether a supervised actor may be started once more: at most n times in t.
#[derive(Debug)]
struct Rebirths {
    most: usize,
    window: std::time::Duration,
    recent: std::collections::VecDeque<std::time::Instant>,
}

impl Rebirths {
    fn new(capacity: &crate::capacity::Capacity) -> Self {
        Self { most: capacity.rebirths, window: capacity.rebirth_window, recent: Default::default() }
    }

    fn allow(&mut self) -> bool {
        let now = std::time::Instant::now();
        while self.recent.front().is_some_and(|&at| now - at > self.window) {
            self.recent.pop_front();
        }
        let allowed = self.recent.len() < self.most;
        if allowed {
            self.recent.push_back(now);
        }
        allowed
    }
}
