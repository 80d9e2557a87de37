//! A child of the daemon itself, seen through its pidfd.

use std::ffi::c_char;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::cgroup::Lease;
use super::clone::{self, Place};
use crate::process::capacity::{TREE_DEATH_STEP, TREE_DEATH_WAIT};
use crate::process::command::Order;
use crate::process::error::{Stage, StartError, Stillborn};
use crate::process::{ExitStatus, descriptors};

/// A child of the daemon, and the cgroup that it was born into.
///
/// It stays a zombie until [`Own::settle`] or drop, so that its process group's number cannot come to mean another.
pub(in crate::process) struct Own {
    pid: Pid,
    /// Registered with the reactor on first use; declared, and so dropped, before the descriptor.
    watch: Option<AsyncFd<Watched>>,
    /// None once it is reaped.
    pidfd: Option<OwnedFd>,
    lease: Option<Lease>,
    status: Option<ExitStatus>,
}

/// The pidfd as the reactor knows it.
struct Watched(RawFd);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Own {
    /// Starts a child of this process. Blocks until its program runs, which may take a millisecond.
    pub(super) fn start(order: &Order, lease: Option<Lease>) -> Result<Self, StartError> {
        let counts = order.block.counts;
        let mut table: Vec<*const c_char> = vec![ptr::null(); clone::pointer_count(counts)];
        let vectors = clone::lay_out(&order.block.strings, counts, &mut table)
            .ok_or(Stillborn { stage: Stage::Resources, errno: libc::EINVAL })
            .map_err(|stillborn| order.explain(stillborn))?;
        let place = Place {
            directory: order.directory.as_fd(),
            stdio: order.stdio.each_ref().map(AsFd::as_fd),
            descriptors: descriptors::before(),
            cgroup: lease.as_ref().map(Lease::directory),
        };
        let born = clone::start(&vectors, &place).map_err(|stillborn| order.explain(stillborn))?;
        Ok(Self { pid: born.pid, watch: None, pidfd: Some(born.pidfd), lease, status: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Waits until the program has ended. May be asked again.
    pub(super) async fn exited(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        let status = match self.watched().await {
            Ok(status) => status,
            // The reactor has no memory for it, so the kernel is asked now and then.
            Err(_) => loop {
                if let Some(status) = self.peek() {
                    break status;
                }
                tokio::time::sleep(TREE_DEATH_STEP).await;
            },
        };
        self.status = Some(status);
        status
    }

    async fn watched(&mut self) -> io::Result<ExitStatus> {
        if self.watch.is_none() {
            let pidfd = self.pidfd.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            // SAFETY: the descriptor is closed only after the registration is dropped.
            let watch = unsafe { AsyncFd::register_with_interest(Watched(pidfd), Interest::READABLE) };
            self.watch = Some(watch?);
        }
        loop {
            let watch = self.watch.as_ref().ok_or(io::ErrorKind::NotFound)?;
            let mut ready = watch.readable().await?;
            if let Some(status) = self.peek() {
                return Ok(status);
            }
            ready.clear_ready();
        }
    }

    /// How it ended, when it has. It stays a zombie.
    fn peek(&self) -> Option<ExitStatus> {
        self.wait(WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT)
    }

    fn wait(&self, options: WaitIdOptions) -> Option<ExitStatus> {
        let pidfd = self.pidfd.as_ref()?;
        rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), options)
            .ok()
            .flatten()
            .map(|status| exit(&status))
    }

    /// Sends a signal to the process group; false when the program has ended.
    pub(super) fn signal(&mut self, signal: Signal) -> bool {
        self.status.is_none()
            && self.peek().is_none()
            && rustix::process::kill_process_group(self.pid, signal).is_ok()
    }

    /// Kills the process group, ended or not: the zombie keeps its number.
    pub(super) fn kill_group(&mut self) {
        if self.pidfd.is_some() {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Kills the whole tree at once.
    pub(super) fn kill(&mut self) {
        match &self.lease {
            Some(lease) => lease.kill(),
            None => self.kill_group(),
        }
    }

    /// Waits until a killed tree is gone, for [`TREE_DEATH_WAIT`] at most.
    pub(super) async fn dead(&mut self) {
        let gone = async {
            self.exited().await;
            let Some(lease) = &self.lease else { return };
            while lease.is_populated() {
                // The kernel tells a young group's end up to 10 ms late, so it is also asked.
                let _ = tokio::time::timeout(TREE_DEATH_STEP, lease.emptied()).await;
            }
        };
        let _ = tokio::time::timeout(TREE_DEATH_WAIT, gone).await;
    }

    /// Reaps a program that has ended; what it left running comes back with its cgroup.
    pub(super) fn settle(mut self) -> Option<Lease> {
        if self.status.is_some() && self.reap() {
            self.lease.take().filter(Lease::has_processes)
        } else {
            None
        }
    }

    fn reap(&mut self) -> bool {
        let reaped = self.wait(WaitIdOptions::EXITED | WaitIdOptions::NOHANG).is_some();
        if reaped {
            self.watch = None;
            self.pidfd = None;
        }
        reaped
    }
}

impl Drop for Own {
    /// Whoever forgets a child ends it: nothing is left running, and no zombie either.
    fn drop(&mut self) {
        if self.pidfd.is_none() {
            return;
        }
        self.kill();
        if self.reap() {
            return;
        }
        self.watch = None;
        let Some(pidfd) = self.pidfd.take() else { return };
        let pidfd = Arc::new(pidfd);
        let wait = |pidfd: Arc<OwnedFd>| {
            let _ = rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
        };
        // A rare way to end, and a short wait; but it should not hold up a reactor, unless there is no thread.
        let another = Arc::clone(&pidfd);
        let thread = std::thread::Builder::new().name("axlr-reaper".to_owned());
        if thread.spawn(move || wait(another)).is_err() {
            wait(pidfd);
        }
    }
}

fn exit(status: &WaitIdStatus) -> ExitStatus {
    match status.exit_status() {
        Some(code) => ExitStatus::Code(code),
        None => ExitStatus::Signal(status.terminating_signal().unwrap_or(libc::SIGKILL)),
    }
}
