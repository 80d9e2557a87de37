//! Where the programs of a workspace's plugins live, and who knows whether one still does.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::process::Containment;

/// Opens the working directory of a program anew.
pub(crate) type Directory = Arc<dyn Fn() -> io::Result<OwnedFd> + Send + Sync>;

/// Where plugins are started.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) containment: Arc<Containment>,
    /// The working directory: the workspace.
    pub(crate) directory: Directory,
    /// Counts the sessions that are not closed yet.
    pub(crate) running: Running,
}

/// How many sessions are open or being closed.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Tally>);

#[derive(Default)]
struct Tally {
    sessions: AtomicUsize,
    none: Notify,
}

/// One of them. Dropped, it is closed.
pub(super) struct Counted(Arc<Tally>);

impl Running {
    pub(super) fn enter(&self) -> Counted {
        self.0.sessions.fetch_add(1, Ordering::AcqRel);
        Counted(self.0.clone())
    }

    /// Returns when none is left, or when that took too long.
    pub(crate) async fn ended(&self, most: Duration) {
        let none = async {
            loop {
                let notified = self.0.none.notified();
                tokio::pin!(notified);
                // Registered before the question, so that no word falls between the two.
                notified.as_mut().enable();
                if self.0.sessions.load(Ordering::Acquire) == 0 {
                    return;
                }
                notified.await;
            }
        };
        let _ = tokio::time::timeout(most, none).await;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.sessions.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}
