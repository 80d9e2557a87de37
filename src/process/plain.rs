//! The plain fallback, for systems without clone(2), cgroups and subreapers: only the process group holds a tree.

use std::ffi::c_char;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::ptr;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::watch;

use super::command::Order;
use super::error::{Stage, StartError, Stillborn};
use super::{ExitStatus, Preference, descriptors};

/// How trees are held: by their process group.
#[derive(Clone)]
pub(super) struct Mechanism;

/// A started program and its process group. Dropped, it is killed.
pub(super) struct Tree {
    pid: Pid,
    /// Told by a thread that waits for the program and leaves it a zombie, so that its number stays its own.
    exit: watch::Receiver<Option<ExitStatus>>,
}

/// A process group cannot say what a program left running.
pub(super) enum Leftover {}

impl Mechanism {
    pub(super) fn start(preference: Preference) -> io::Result<Self> {
        match preference {
            Preference::Best | Preference::Group => Ok(Self),
            Preference::Cgroup | Preference::Keeper => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(super) fn group() -> Self {
        Self
    }

    /// Each group is held by its own child alone.
    /// There is no warden.
    pub(super) async fn guard(&self) {}

    pub(super) fn kill_all(&self) {}

    pub(super) fn name(&self) -> &'static str {
        "group"
    }

    pub(super) async fn spawn(&self, order: Order) -> Result<Tree, StartError> {
        let start = move || start(&order);
        tokio::task::spawn_blocking(start).await.map_err(io::Error::other)?
    }
}

impl Tree {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) async fn exited(&mut self) -> ExitStatus {
        match self.exit.wait_for(Option::is_some).await.map(|status| *status) {
            Ok(Some(status)) => status,
            Ok(None) | Err(_) => ExitStatus::Signal(libc::SIGKILL),
        }
    }

    pub(super) fn signal(&mut self, number: i32) -> bool {
        let has_ended = self.exit.borrow().is_some();
        Signal::from_named_raw(number)
            .is_some_and(|signal| !has_ended && rustix::process::kill_process_group(self.pid, signal).is_ok())
    }

    pub(super) fn kill_group(&mut self) {
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
    }

    pub(super) fn kill(&mut self) {
        self.kill_group();
    }

    pub(super) async fn dead(&mut self) {
        self.exited().await;
    }

    /// The group of a program that ended is left alone.
    pub(super) fn settle(self) -> Option<Leftover> {
        if self.exit.borrow().is_some() {
            reap(self.pid);
            std::mem::forget(self);
        }
        None
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill_group();
        let (pid, has_ended) = (self.pid, self.exit.borrow().is_some());
        if has_ended {
            reap(pid);
        } else {
            let _ = std::thread::Builder::new().spawn(move || reap(pid));
        }
    }
}

impl Leftover {
    pub(super) async fn ended(&mut self) {
        match *self {}
    }

    pub(super) fn kill(&mut self) {
        match *self {}
    }
}

fn start(order: &Order) -> Result<Tree, StartError> {
    let counts = order.block.counts;
    let mut strings = order.block.strings.split_inclusive(|byte| *byte == 0);
    let programs: Vec<&[u8]> = strings.by_ref().take(counts.programs).collect();
    let program = choose(&programs)
        .ok_or_else(|| order.explain(Stillborn { stage: Stage::Lookup, errno: libc::ENOENT }))?;
    let argv = Pointers::to(strings.by_ref().take(counts.arguments));
    let envp = Pointers::to(strings);
    let program = Pointers(vec![program.as_ptr().cast()]);
    let directory = order.directory.as_raw_fd();
    let limit = descriptors::before();
    // The name and the environment here are not used: what is executed is what the closure below executes.
    let mut command = Command::new("/");
    let [stdin, stdout, stderr] = &order.stdio;
    command
        .process_group(0)
        .stdin(Stdio::from(stdin.try_clone()?))
        .stdout(Stdio::from(stdout.try_clone()?))
        .stderr(Stdio::from(stderr.try_clone()?));
    let execute = move || {
        if let Some(limit) = &limit {
            let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, *limit);
        }
        // SAFETY: async-signal-safe calls; the strings and the directory are borrowed until the spawn has ended. The
        // standard library would hand a file without a format to a shell, which this does not.
        unsafe {
            if libc::fchdir(directory) == 0 {
                libc::execve(*program.all(), argv.all(), envp.all());
            }
        }
        Err(io::Error::last_os_error())
    };
    // SAFETY: the closure keeps to async-signal-safe calls and allocates nothing.
    let spawned = unsafe { command.pre_exec(execute) }.spawn();
    let child = spawned.map_err(|error| {
        order
            .explain(Stillborn { stage: Stage::Execute, errno: error.raw_os_error().unwrap_or(libc::EINVAL) })
    })?;
    let pid = Pid::from_child(&child);
    let (tell, exit) = watch::channel(None);
    let tree = Tree { pid, exit };
    std::thread::Builder::new().name("axlr-wait".to_owned()).spawn(move || {
        let status = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        let status = status.ok().flatten();
        let code = status.as_ref().and_then(|status| status.exit_status()).map(ExitStatus::Code);
        let signal = status.as_ref().and_then(|status| status.terminating_signal()).map(ExitStatus::Signal);
        tell.send(code.or(signal).or(Some(ExitStatus::Signal(libc::SIGKILL))))
    })?;
    Ok(tree)
}

/// The first regular file with an execute bit; one path alone is left to execve(2) to judge.
fn choose<'a>(programs: &[&'a [u8]]) -> Option<&'a [u8]> {
    if let [only] = programs {
        return Some(only);
    }
    programs.iter().copied().find(|path| {
        rustix::fs::stat(&path[..path.len() - 1])
            .is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_mode & 0o111 != 0)
    })
}

/// Pointers to strings that end with NUL, and a null pointer at the end.
struct Pointers(Vec<*const c_char>);

// SAFETY: they are only read, in the child, and point into an order that outlives the spawn.
unsafe impl Send for Pointers {}
// SAFETY: as above.
unsafe impl Sync for Pointers {}

impl Pointers {
    fn all(&self) -> *const *const c_char {
        self.0.as_ptr()
    }

    fn to<'a>(strings: impl Iterator<Item = &'a [u8]>) -> Self {
        Self(strings.map(|string| string.as_ptr().cast()).chain([ptr::null()]).collect())
    }
}

fn reap(pid: Pid) {
    let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
}

#[cfg(test)]
mod tests;
