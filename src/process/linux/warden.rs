//! The warden: a fork of the daemon, made at its start, that outlives it by a moment.
//!
//! In cgroup mode it waits for the end of the daemon, kills the daemon's whole cgroup and removes it. In keeper mode it
//! makes keepers (so that they are small, whatever the daemon has grown to) and ends what a dead keeper left behind.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use tokio::io::Interest;

use super::clone;
use super::slay::{self, Prey};
use super::{cgroup, forked, keeper, wire};
use crate::process::capacity::{WARDEN_DEATH_WAIT, WARDEN_WATCH_PAUSE};

/// Most keepers at once; far above the daemon's bound on children and detached trees together.
const KEEPERS_MAX: usize = 4_096;
/// Pause between two passes over what a dead keeper left.
const STRAYS_PAUSE_MS: i64 = 2;
/// How long the warden stays for trees that will not die after the daemon is gone.
const FAREWELL_ROUNDS: usize = 1_000;
const FAREWELL_ROUND_MS: i64 = 10;

/// What the warden watches over.
pub(super) enum Charge<'a> {
    Group(&'a Base),
    Keepers,
}

/// The daemon's own cgroup, below which each child has one.
pub(super) struct Base {
    pub(super) directory: OwnedFd,
    pub(super) kill: OwnedFd,
    pub(super) events: OwnedFd,
    /// Where it lies, and its name there: the way to remove it.
    pub(super) parent: OwnedFd,
    pub(super) name: CString,
}

/// The daemon's side: where a warden stands, and another if somebody kills it.
pub(super) struct Post(Mutex<Option<Warden>>);

struct Warden {
    /// None only while it is dropped.
    socket: Option<OwnedFd>,
    pidfd: OwnedFd,
}

impl Post {
    pub(super) fn man(charge: &Charge) -> io::Result<Self> {
        Ok(Self(Mutex::new(Some(Warden::start(charge)?))))
    }

    /// Sees to it that there is a warden. One that somebody killed is replaced, by a fork of what the daemon is now.
    pub(super) fn keep(&self, charge: &Charge) -> io::Result<()> {
        let mut warden = self.lock();
        match &*warden {
            None => Err(io::Error::other("the daemon is ending")),
            Some(alive) if alive.is_alive() => Ok(()),
            Some(_) => {
                *warden = Some(Warden::start(charge)?);
                Ok(())
            }
        }
    }

    /// Replaces the warden as soon as somebody kills it, until the daemon ends: only a living one sees that end.
    pub(super) async fn guard(&self, charge: &Charge<'_>) {
        while let Some(pidfd) = self.pidfd() {
            let watch = pidfd.and_then(|pidfd| crate::readiness::register(pidfd, Interest::READABLE));
            match &watch {
                Ok(watch) => drop(watch.readable().await),
                Err(_) => tokio::time::sleep(WARDEN_WATCH_PAUSE).await,
            }
            drop(watch);
            if self.keep(charge).is_err() {
                tokio::time::sleep(WARDEN_WATCH_PAUSE).await;
            }
        }
    }

    /// The warden's own; nothing when it was let go.
    fn pidfd(&self) -> Option<io::Result<OwnedFd>> {
        self.lock().as_ref().map(|warden| warden.pidfd.try_clone())
    }

    /// Has the warden make a keeper, who will hold this end of a connection.
    pub(super) fn make_keeper(&self, end: &OwnedFd) -> io::Result<()> {
        let warden = self.lock();
        let socket =
            warden.as_ref().and_then(|warden| warden.socket.as_ref()).ok_or(io::ErrorKind::NotConnected)?;
        Ok(wire::send(socket.as_fd(), &[1], &[end.as_fd()])?)
    }

    /// Lets the warden end everything, and waits for that.
    pub(super) fn leave(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Warden>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Warden {
    fn start(charge: &Charge) -> io::Result<Self> {
        let (ours, theirs) = wire::pair()?;
        let Some(born) = clone::fork()? else { live(&theirs, charge) };
        Ok(Self { socket: Some(ours), pidfd: born.pidfd })
    }

    /// Whether it lives. A dead one is reaped.
    fn is_alive(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        matches!(rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options), Ok(None))
    }
}

impl Drop for Warden {
    /// Lets it do its work and waits for it, so that a daemon which ends in order leaves nothing.
    fn drop(&mut self) {
        self.socket = None;
        let timeout = Timespec::try_from(WARDEN_DEATH_WAIT).ok();
        let mut polled = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let _ = rustix::event::poll(&mut polled, timeout.as_ref());
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let _ = rustix::process::waitid(WaitId::PidFd(self.pidfd.as_fd()), options);
    }
}

fn live(socket: &OwnedFd, charge: &Charge) -> ! {
    const NAME: &CStr = c"axlr-warden";
    match charge {
        Charge::Group(base) => {
            let descriptors = [socket, &base.directory, &base.kill, &base.events, &base.parent];
            let mut keep: [RawFd; 5] = descriptors.map(AsRawFd::as_raw_fd);
            forked::live(NAME, &mut keep, || watch_group(socket, base))
        }
        Charge::Keepers => forked::live(NAME, &mut [socket.as_raw_fd()], || {
            // A keeper's orphans come here.
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
            let Some(signals) = forked::child_signals() else { return };
            Keepers { socket, signals, pids: [None; KEEPERS_MAX], has_strays: false }.serve();
        }),
    }
}

/// Waits for the end of the daemon, then ends and removes its cgroup.
fn watch_group(socket: &OwnedFd, base: &Base) {
    let mut packet = [0];
    while wire::receive(socket.as_fd(), &mut packet).is_ok_and(|(bytes, _)| bytes > 0) {}
    cgroup::end(base);
}

struct Keepers<'a> {
    socket: &'a OwnedFd,
    signals: OwnedFd,
    pids: [Option<Pid>; KEEPERS_MAX],
    /// Whether a keeper died with a tree.
    has_strays: bool,
}

impl Keepers<'_> {
    fn serve(&mut self) {
        loop {
            let pause = self.has_strays.then_some(STRAYS_PAUSE_MS);
            let is_asked = forked::wait(Some(self.socket.as_fd()), self.signals.as_fd(), pause);
            self.reap();
            if self.has_strays {
                self.has_strays = slay::pass(Prey::Strays(&self.pids)) > 0;
            }
            if !is_asked {
                continue;
            }
            let mut packet = [0];
            match wire::receive(self.socket.as_fd(), &mut packet) {
                Ok((1.., [Some(end), ..])) => self.make(end),
                Ok((1.., _)) => {}
                _ => break,
            }
        }
        self.farewell();
    }

    /// Whom a failed fork leaves without a keeper sees the end of the connection.
    fn make(&mut self, end: OwnedFd) {
        let Some(place) = self.pids.iter_mut().find(|pid| pid.is_none()) else { return };
        match clone::fork() {
            Ok(None) => keeper::live(end),
            Ok(Some(born)) => *place = Some(born.pid),
            Err(_) => {}
        }
    }

    /// Reaps whoever has ended; false when nobody is left. A keeper that somebody stopped, its own tree perhaps, goes on.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) if status.stopped() => {
                    if self.pids.contains(&Some(pid)) {
                        let _ = rustix::process::kill_process(pid, Signal::CONT);
                    }
                }
                Ok(Some((pid, status))) => {
                    if let Some(place) = self.pids.iter_mut().find(|place| **place == Some(pid)) {
                        *place = None;
                        self.has_strays |= status.signaled();
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// The daemon is gone, or says that it is the end. The keepers see it too, but nobody is waited for.
    fn farewell(&mut self) {
        for _ in 0..FAREWELL_ROUNDS {
            slay::pass(Prey::All);
            if !self.reap() {
                return;
            }
            forked::wait(None, self.signals.as_fd(), Some(FAREWELL_ROUND_MS));
        }
    }
}
