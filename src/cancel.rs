//! One request's cancellation, heard by blocking loops and by tasks alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Whether a request is still wanted. Clones share one state; once cancelled it stays so.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    /// A flag that somebody else sets, who can do no more than that.
    flag: Option<Arc<AtomicBool>>,
    notify: Notify,
}

impl Cancel {
    /// A request that is wanted.
    pub fn new() -> Self {
        Self::default()
    }

    /// A request that is also cancelled once `flag` is set, by a signal handler say. Only loops hear the flag:
    /// [`Cancel::cancelled`] needs a call of [`Cancel::cancel`].
    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Self(Arc::new(State { flag: Some(flag), ..State::default() }))
    }

    /// Tells everybody who works for the request to stop.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.notify.notify_waiters();
    }

    /// For loops on blocking threads: ask once a file or a chunk.
    pub fn is_cancelled(&self) -> bool {
        let State { cancelled, flag, .. } = &*self.0;
        cancelled.load(Ordering::Acquire) || flag.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    /// For tasks: returns when the request is cancelled.
    pub async fn cancelled(&self) {
        let notified = self.0.notify.notified();
        tokio::pin!(notified);
        // Registered before the flag is read, so that no cancellation falls between the two.
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }
}
