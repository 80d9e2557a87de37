//! One cgroup v2 for each child, taken from a pool of empty ones. cgroups(7).
//!
//! A group that was ever killed is not used again: clone3(2) of Linux 6.14 and later kills a child that is born into
//! one, since it compares the group's count of kills with that of the parent's group.
//!
//! The daemon makes `axlr-PID-RANDOM` below its own cgroup and the children's groups below that. A lock on that
//! directory, which daemon and warden hold together, tells a living daemon's group from one that was left.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::clone;
use super::warden::{Base, Charge, Post};
use crate::process::capacity::{IDLE_GROUPS_MAX, READY_GROUPS};

const PREFIX: &str = "axlr-";
/// Groups inside groups that a child may have made, removed to this depth.
const DEPTH_MAX: usize = 8;
/// How long a dying group is waited for: so many rounds of so many milliseconds.
const END_ROUNDS: usize = 2_000;
const END_ROUND_MS: i64 = 5;
/// The same for the group of a daemon that is long dead, which mostly is empty.
const STALE_ROUNDS: usize = 4;
/// How often a daemon's group is made anew when another daemon that starts takes it for one that was left: between
/// mkdir(2) and flock(2) it looks like that.
const START_ATTEMPTS: usize = 16;
/// How many idle groups are asked whether they are empty before a new one is made.
const IDLE_TRIES: usize = 8;

/// The groups of one daemon.
pub(in crate::process) struct Groups {
    base: Base,
    made: AtomicU32,
    pool: Mutex<Pool>,
    pub(super) post: Post,
}

#[derive(Default)]
struct Pool {
    /// Never killed, and mostly empty.
    idle: VecDeque<Slot>,
    /// To be removed once they are empty.
    killed: Vec<Slot>,
}

/// One child's group. All descriptors are opened with it, so that a daemon without a free one can still kill.
struct Slot {
    name: CString,
    directory: OwnedFd,
    kill: OwnedFd,
    events: OwnedFd,
}

/// A group in use; it goes back to the pool when dropped and is used again once it is empty.
pub(in crate::process) struct Lease {
    /// None only while it is dropped.
    slot: Option<Slot>,
    is_killed: AtomicBool,
    groups: Arc<Groups>,
}

impl Groups {
    /// Makes the daemon's group and its warden, when children can be born and killed there.
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let path = own_group()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::open(&path, flags, Mode::empty())?;
        remove_stale(&parent);
        for _ in 1..START_ATTEMPTS {
            match Self::below(parent.try_clone()?) {
                Err(error) if was_swept(&error) => {}
                other => return other,
            }
        }
        Self::below(parent)
    }

    fn below(parent: OwnedFd) -> io::Result<Arc<Self>> {
        match Self::on(make_base(parent)?) {
            Ok(groups) => Ok(Arc::new(groups)),
            Err((base, error)) => {
                remove(base.parent.as_fd(), &base.name, DEPTH_MAX);
                Err(error)
            }
        }
    }

    fn on(base: Base) -> Result<Self, (Base, io::Error)> {
        let attempt = || {
            let mut pool = Pool::default();
            for number in 0..READY_GROUPS {
                pool.idle.push_back(Slot::make(&base, number as u32)?);
            }
            if let Some(slot) = pool.idle.front() {
                clone::try_cgroup(slot.directory.as_fd()).map_err(|stillborn| stillborn.source())?;
            }
            Ok((pool, Post::man(&Charge::Group(&base))?))
        };
        match attempt() {
            Err(error) => Err((base, error)),
            Ok((pool, post)) => {
                Ok(Self { base, made: AtomicU32::new(READY_GROUPS as u32), pool: Mutex::new(pool), post })
            }
        }
    }

    /// Keeps a warden at its post until the daemon ends.
    pub(super) async fn guard(&self) {
        self.post.guard(&Charge::Group(&self.base)).await;
    }

    /// Takes an empty group, and sees to it that a warden watches.
    pub(super) fn lease(self: &Arc<Self>) -> io::Result<Lease> {
        self.post.keep(&Charge::Group(&self.base))?;
        let slot = match self.take_idle() {
            Some(slot) => slot,
            None => Slot::make(&self.base, self.made.fetch_add(1, Ordering::Relaxed))?,
        };
        Ok(Lease { slot: Some(slot), is_killed: AtomicBool::new(false), groups: Arc::clone(self) })
    }

    fn take_idle(&self) -> Option<Slot> {
        let idle = &mut self.pool().idle;
        for _ in 0..idle.len().min(IDLE_TRIES) {
            let slot = idle.pop_front()?;
            if is_usable(&slot.events) {
                return Some(slot);
            }
            idle.push_back(slot);
        }
        None
    }

    fn give_back(&self, slot: Slot, is_killed: bool) {
        let mut pool = self.pool();
        if is_killed {
            pool.killed.push(slot);
        } else {
            pool.idle.push_back(slot);
        }
        if pool.idle.len() > IDLE_GROUPS_MAX
            && let Some(oldest) = pool.idle.pop_front()
        {
            pool.killed.push(oldest);
        }
        pool.killed.retain(|slot| !remove(self.base.directory.as_fd(), &slot.name, DEPTH_MAX));
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn make(base: &Base, number: u32) -> io::Result<Self> {
        let name = CString::new(format!("e{number}"))?;
        rustix::fs::mkdirat(&base.directory, &name, Mode::from_raw_mode(0o755))?;
        let files = open_group(base.directory.as_fd(), &name);
        if files.is_err() {
            remove(base.directory.as_fd(), &name, 0);
        }
        let (directory, kill, events) = files?;
        Ok(Self { name, directory, kill, events })
    }
}

impl Lease {
    /// For the birth of a child there.
    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.slot().directory.as_fd()
    }

    /// Kills everything in the group, whatever it forks meanwhile.
    pub(super) fn kill(&self) {
        self.is_killed.store(true, Ordering::Relaxed);
        kill(&self.slot().kill);
    }

    /// Whether a process lives in the group or in one that was made in it.
    pub(super) fn is_populated(&self) -> bool {
        is_populated(&self.slot().events)
    }

    /// The same, but not counting a process that has ended and is still on its way out.
    pub(super) fn has_processes(&self) -> bool {
        self.is_populated() && (self.lists_processes() || self.has_groups())
    }

    fn lists_processes(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(&self.slot().directory, c"cgroup.procs", flags, Mode::empty())
        else {
            return true;
        };
        rustix::io::read(&file, &mut [0_u8; 16]).is_ok_and(|length| length > 0)
    }

    fn has_groups(&self) -> bool {
        rustix::fs::fstat(&self.slot().directory).is_ok_and(|stat| stat.st_nlink > 2)
    }

    /// Waits until the last process has left.
    pub(super) async fn emptied(&self) {
        let events = self.slot().events.as_raw_fd();
        // SAFETY: the slot keeps the descriptor open for longer than this registration.
        let watch = unsafe { AsyncFd::register_with_interest(Watched(events), Interest::PRIORITY) };
        let Ok(watch) = watch else {
            while self.is_populated() {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            return;
        };
        while self.is_populated() {
            let Ok(mut ready) = watch.ready(Interest::PRIORITY).await else { return };
            if self.is_populated() {
                ready.clear_ready();
            }
        }
    }

    #[expect(clippy::expect_used, reason = "only drop takes it")]
    fn slot(&self) -> &Slot {
        self.slot.as_ref().expect("a lease holds its slot")
    }
}

/// The events file as the reactor knows it.
struct Watched(RawFd);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.groups.give_back(slot, *self.is_killed.get_mut());
        }
    }
}

/// Kills all of a daemon's groups and removes them. The warden calls it: no allocation.
pub(super) fn end(base: &Base) {
    end_group(&base.kill, &base.events, END_ROUNDS);
    remove(base.parent.as_fd(), &base.name, DEPTH_MAX);
}

fn end_group(kill_file: &OwnedFd, events: &OwnedFd, rounds: usize) {
    let pause = Timespec { tv_sec: 0, tv_nsec: END_ROUND_MS * 1_000_000 };
    for _ in 0..rounds {
        kill(kill_file);
        if !is_populated(events) {
            return;
        }
        let mut polled = [PollFd::new(events, PollFlags::PRI)];
        let _ = rustix::event::poll(&mut polled, Some(&pause));
    }
}

fn kill(file: &OwnedFd) {
    let _ = rustix::io::write(file, b"1");
}

fn is_populated(events: &OwnedFd) -> bool {
    says(events, b"populated 1")
}

/// Empty, and not frozen by whoever was in it.
fn is_usable(events: &OwnedFd) -> bool {
    says(events, b"populated 0") && says(events, b"frozen 0")
}

fn says(events: &OwnedFd, line: &[u8]) -> bool {
    let mut text = [0; 64];
    let Ok(length) = rustix::io::pread(events, &mut text, 0) else { return false };
    text[..length].split(|byte| *byte == b'\n').any(|found| found == line)
}

/// Removes a group and those inside it, when all are empty.
fn remove(parent: BorrowedFd, name: &CStr, depth: usize) -> bool {
    if rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).is_ok() {
        return true;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = rustix::fs::openat(parent, name, flags, Mode::empty()) else { return false };
    let mut names = [MaybeUninit::uninit(); 1024];
    let mut listing = RawDir::new(&directory, &mut names);
    while let Some(Ok(entry)) = listing.next() {
        let is_group =
            entry.file_type() == FileType::Directory && !entry.file_name().to_bytes().starts_with(b".");
        if is_group && depth > 0 {
            remove(directory.as_fd(), entry.file_name(), depth - 1);
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).is_ok()
}

type Files = (OwnedFd, OwnedFd, OwnedFd);

/// A group's directory, `cgroup.kill` (since Linux 5.14) and `cgroup.events`.
fn open_group(parent: BorrowedFd, name: &CStr) -> io::Result<Files> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    let open =
        |name: &CStr, flags| rustix::fs::openat(&directory, name, flags | OFlags::CLOEXEC, Mode::empty());
    let kill = open(c"cgroup.kill", OFlags::WRONLY)?;
    let events = open(c"cgroup.events", OFlags::RDONLY)?;
    Ok((directory, kill, events))
}

/// Whether a new group was locked or removed by another daemon's [`remove_stale`].
fn was_swept(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NODEV | Errno::WOULDBLOCK))
}

fn make_base(parent: OwnedFd) -> io::Result<Base> {
    let pid = std::process::id();
    let mut random = [0_u8; 4];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    let name = CString::new(format!("{PREFIX}{pid}-{:08x}", u32::from_ne_bytes(random)))?;
    rustix::fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o755))?;
    let files = open_group(parent.as_fd(), &name).and_then(|files| {
        rustix::fs::flock(&files.0, FlockOperation::NonBlockingLockExclusive)?;
        Ok(files)
    });
    if files.is_err() {
        remove(parent.as_fd(), &name, 0);
    }
    let (directory, kill, events) = files?;
    Ok(Base { directory, kill, events, parent, name })
}

/// Ends and removes what daemons left that died together with their wardens: groups that nobody has locked.
fn remove_stale(parent: &OwnedFd) {
    let mut names = [MaybeUninit::uninit(); 4096];
    let mut listing = RawDir::new(parent, &mut names);
    while let Some(Ok(entry)) = listing.next() {
        let name = entry.file_name();
        if entry.file_type() != FileType::Directory || !name.to_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok((directory, kill, events)) = open_group(parent.as_fd(), name) else { continue };
        if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            end_group(&kill, &events, STALE_ROUNDS);
            remove(parent.as_fd(), name, DEPTH_MAX);
        }
    }
}

/// The directory of this process's own cgroup, wherever the unified hierarchy is mounted.
fn own_group() -> io::Result<PathBuf> {
    let mounts = std::fs::read("/proc/self/mountinfo")?;
    let group = std::fs::read("/proc/self/cgroup")?;
    locate(&mounts, &group).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no cgroup v2 is mounted"))
}

/// Joins the mount point of the unified hierarchy and the group's path in it. proc_pid_mountinfo(5), cgroups(7).
fn locate(mounts: &[u8], groups: &[u8]) -> Option<PathBuf> {
    let group = groups.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::"))?;
    mounts.split(|byte| *byte == b'\n').find_map(|line| {
        let separator = memchr::memmem::find(line, b" - ")?;
        line[separator + 3..].starts_with(b"cgroup2 ").then_some(())?;
        let mut fields = line.split(|byte| *byte == b' ').skip(3);
        let (root, mount_point) = (unescape(fields.next()?), unescape(fields.next()?));
        // A mount may show a part of the hierarchy only; the group must lie in that part.
        let below = Path::new(std::str::from_utf8(group).ok()?).strip_prefix(&root).ok()?;
        Some(mount_point.join(below))
    })
}

/// Space, tab, line feed and backslash are octal in mountinfo.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let octal = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let decoded = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match decoded {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests;
