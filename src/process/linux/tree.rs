//! The mechanisms behind one face.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rustix::process::Signal;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::cgroup::{Groups, Lease};
use super::kept::{Keepers, Kept};
use super::own::Own;
use super::warden::Charge;
use crate::process::command::Order;
use crate::process::error::StartError;
use crate::process::{ExitStatus, Preference};

/// How trees are held.
#[derive(Clone)]
pub(in crate::process) enum Mechanism {
    Cgroup(Arc<Groups>),
    Keeper(Arc<Keepers>),
    Group,
}

/// A started program and all that descends from it. Dropped, it is killed.
pub(in crate::process) enum Tree {
    Own(Own),
    Kept(Kept),
}

/// What a program that ended left running. Dropped, it is killed.
pub(in crate::process) enum Leftover {
    Lease(Lease),
    Kept(Kept),
}

impl Mechanism {
    pub(in crate::process) fn start(preference: Preference) -> io::Result<Self> {
        let cgroup = || Groups::start().map(Self::Cgroup);
        let keeper = || Keepers::start().map(Self::Keeper);
        match preference {
            Preference::Cgroup => cgroup(),
            Preference::Keeper => keeper(),
            Preference::Group => Ok(Self::Group),
            // The orphans of process 1 are its own to reap; keepers take that from it.
            Preference::Best if std::process::id() == 1 => keeper().or(Ok(Self::Group)),
            Preference::Best => cgroup()
                .inspect_err(|error| tracing::debug!(%error, "no cgroup can be made here"))
                .or_else(|_| keeper())
                .inspect_err(
                    |error| tracing::warn!(%error, "no keeper can be made; only process groups hold"),
                )
                .or(Ok(Self::Group)),
        }
    }

    pub(in crate::process) fn group() -> Self {
        Self::Group
    }

    pub(in crate::process) fn kill_all(&self) {
        match self {
            Self::Cgroup(groups) => groups.post.leave(),
            Self::Keeper(keepers) => keepers.post.leave(),
            Self::Group => {}
        }
    }

    pub(in crate::process) async fn guard(&self) {
        match self {
            Self::Cgroup(groups) => groups.guard().await,
            Self::Keeper(keepers) => keepers.post.guard(&Charge::Keepers).await,
            Self::Group => {}
        }
    }

    pub(in crate::process) fn name(&self) -> &'static str {
        match self {
            Self::Cgroup(_) => "cgroup",
            Self::Keeper(_) => "keeper",
            Self::Group => "group",
        }
    }

    pub(in crate::process) async fn spawn(&self, order: Order) -> Result<Tree, StartError> {
        if let Self::Keeper(keepers) = self {
            return Kept::start(keepers, &order).await.map(Tree::Kept);
        }
        let mechanism = self.clone();
        let start = move || {
            let lease = match mechanism {
                Self::Cgroup(groups) => Some(groups.lease()?),
                Self::Keeper(_) | Self::Group => None,
            };
            Own::start(&order, lease).map(Tree::Own)
        };
        // The birth holds its thread for up to a millisecond, which a runtime with one thread has nobody to miss it.
        if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            return start();
        }
        // It panics where the system has no thread to give, as in somebody's fork storm.
        let started = catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(start)));
        let started = started.map_err(|_| io::Error::from_raw_os_error(libc::EAGAIN))?;
        started.await.map_err(io::Error::other)?
    }
}

impl Tree {
    pub(in crate::process) fn pid(&self) -> u32 {
        match self {
            Self::Own(own) => own.pid(),
            Self::Kept(kept) => kept.pid(),
        }
    }

    pub(in crate::process) async fn exited(&mut self) -> ExitStatus {
        match self {
            Self::Own(own) => own.exited().await,
            Self::Kept(kept) => kept.exited().await,
        }
    }

    pub(in crate::process) fn signal(&mut self, number: i32) -> bool {
        let Some(signal) = Signal::from_named_raw(number) else { return false };
        match self {
            Self::Own(own) => own.signal(signal),
            Self::Kept(kept) => kept.signal(signal),
        }
    }

    pub(in crate::process) fn kill_group(&mut self) {
        match self {
            Self::Own(own) => own.kill_group(),
            Self::Kept(kept) => kept.kill_group(),
        }
    }

    pub(in crate::process) fn kill(&mut self) {
        match self {
            Self::Own(own) => own.kill(),
            Self::Kept(kept) => kept.kill(),
        }
    }

    pub(in crate::process) async fn dead(&mut self) {
        match self {
            Self::Own(own) => own.dead().await,
            Self::Kept(kept) => kept.dead().await,
        }
    }

    pub(in crate::process) fn settle(self) -> Option<Leftover> {
        match self {
            Self::Own(own) => own.settle().map(Leftover::Lease),
            Self::Kept(kept) => kept.settle().map(Leftover::Kept),
        }
    }
}

impl Leftover {
    pub(in crate::process) async fn ended(&mut self) {
        match self {
            Self::Lease(lease) => lease.emptied().await,
            Self::Kept(kept) => kept.emptied().await,
        }
    }

    pub(in crate::process) fn kill(&mut self) {
        match self {
            // An empty group stays fit for use.
            Self::Lease(lease) if lease.is_populated() => lease.kill(),
            Self::Lease(_) => {}
            Self::Kept(kept) => kept.kill(),
        }
    }
}
