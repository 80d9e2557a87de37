//! The keeper's own life: a small subreaper that holds one program's tree at a time.
//!
//! All that the program starts descends from the keeper and stays so, whatever it does with setsid(2) or a double
//! fork. The keeper kills it when told, or when the daemon's end of the socket is gone; then it leaves too.

use std::ffi::c_char;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr;
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::clone::{self, Place};
use super::forked;
use super::slay::{self, Prey};
use super::wire::{self, CHUNK_BYTES, Received, Reply, Request};
use crate::process::ExitStatus;
use crate::process::command::Counts;
use crate::process::error::{Stage, Stillborn};

/// How long the process group's members get to die before `/proc` is searched for others.
const GROUP_DEATH: Duration = Duration::from_millis(2);
/// The longest pause between two passes over a tree that will not die.
const PASS_PAUSE_MAX_MS: i64 = 50;
/// Priority while a tree is killed: a fork storm must not starve the one who ends it. setpriority(2).
const HASTY: i32 = -20;

/// Lives as a keeper on `socket`.
pub(super) fn live(socket: OwnedFd) -> ! {
    forked::live(c"axlr-keeper", &mut [socket.as_raw_fd()], move || {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let Some(signals) = forked::child_signals() else { return };
        Keeper { socket, signals, program: None, group: None, is_busy: false }.serve();
    })
}

struct Keeper {
    socket: OwnedFd,
    signals: OwnedFd,
    /// The program, until it is reaped.
    program: Option<Pid>,
    /// The process group that the last program led.
    group: Option<Pid>,
    /// Whether the tree has a living member.
    is_busy: bool,
}

impl Keeper {
    fn serve(&mut self) {
        loop {
            let is_asked = forked::wait(Some(self.socket.as_fd()), self.signals.as_fd(), None);
            self.reap();
            if !is_asked {
                continue;
            }
            let Some((request, received)) = Request::receive(self.socket.as_fd()) else {
                self.slay();
                return;
            };
            match request {
                Request::Start { bytes, counts, descriptors } => {
                    let Some(strings) = Strings::receive(&self.socket, bytes, counts) else { return };
                    self.start(&strings, received, descriptors);
                }
                Request::Signal(signal) => self.signal(signal),
                Request::KillGroup => self.kill_group(),
                Request::Kill => self.slay(),
            }
        }
    }

    fn start(&mut self, strings: &Strings, received: Received, descriptors: Option<rustix::process::Rlimit>) {
        let reply = match birth(strings, &received, descriptors) {
            Ok(pid) => {
                self.program = Some(pid);
                self.group = Some(pid);
                self.is_busy = true;
                Reply::Started(pid.as_raw_nonzero().get())
            }
            Err(stillborn) => Reply::Stillborn(stillborn),
        };
        reply.send(&self.socket);
    }

    fn signal(&self, signal: i32) {
        if let Some(program) = self.program {
            // SAFETY: a plain system call. The program is not reaped, so the number is still its group's.
            unsafe { libc::kill(-program.as_raw_nonzero().get(), signal) };
        }
    }

    fn kill_group(&self) {
        match (self.program, self.group) {
            (Some(program), _) => {
                let _ = rustix::process::kill_process_group(program, Signal::KILL);
            }
            // The number may mean another group by now, so only descendants are looked at.
            (None, Some(group)) => {
                slay::pass(Prey::Group(group));
            }
            (None, None) => {}
        }
    }

    /// Reaps whoever has ended, and says so when it is the program or the last one.
    fn reap(&mut self) {
        let mut exited = None;
        let is_empty = loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.program => {
                    self.program = None;
                    exited = Some(exit(status));
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        if let Some(status) = exited {
            Reply::Exited { status, empty: is_empty }.send(&self.socket);
        } else if is_empty && self.is_busy {
            Reply::Empty.send(&self.socket);
        }
        self.is_busy &= !is_empty;
    }

    /// Kills the tree and stays with it until nobody is left.
    fn slay(&mut self) {
        self.kill_group();
        self.reap();
        // Mostly that was all of it, and a search through `/proc` would take longer than the deaths.
        let begun = Instant::now();
        while self.is_busy && begun.elapsed() < GROUP_DEATH {
            self.wait_and_reap(1);
        }
        let haste = Haste::begin();
        let mut pause = 1;
        while self.is_busy {
            let nobody_found = slay::pass(Prey::All) == 0;
            pause = if nobody_found { (pause * 2).min(PASS_PAUSE_MAX_MS) } else { 1 };
            self.wait_and_reap(pause);
        }
        drop(haste);
    }

    fn wait_and_reap(&mut self, milliseconds: i64) {
        forked::wait(None, self.signals.as_fd(), Some(milliseconds));
        self.reap();
    }
}

/// Starts the program of a request.
fn birth(
    strings: &Strings,
    received: &Received,
    descriptors: Option<rustix::process::Rlimit>,
) -> Result<Pid, Stillborn> {
    // Fewer arrive when this process has no room for them.
    let [Some(directory), Some(input), Some(output), Some(errors)] = received else {
        return Err(Stillborn { stage: Stage::Resources, errno: libc::EMFILE });
    };
    let place = Place {
        directory: directory.as_fd(),
        stdio: [input.as_fd(), output.as_fd(), errors.as_fd()],
        descriptors,
        cgroup: None,
    };
    strings.with(|vectors| Ok(clone::start(vectors, &place)?.pid))
}

fn exit(status: WaitStatus) -> ExitStatus {
    match status.exit_status() {
        Some(code) => ExitStatus::Code(code),
        None => ExitStatus::Signal(status.terminating_signal().unwrap_or(libc::SIGKILL)),
    }
}

/// The strings of one birth and room for the pointers to them, in a mapping that goes away with it: a fork must not
/// use the allocator.
struct Strings {
    base: *mut u8,
    length: usize,
    bytes: usize,
    counts: Counts,
}

impl Strings {
    fn receive(socket: &OwnedFd, bytes: usize, counts: Counts) -> Option<Self> {
        let length = bytes.next_multiple_of(size_of::<usize>())
            + clone::pointer_count(counts) * size_of::<*const c_char>();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, placed by the kernel.
        let base = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), length, protection, MapFlags::PRIVATE).ok()?
        };
        let strings = Self { base: base.cast(), length, bytes, counts };
        // SAFETY: the mapping is at least this long, zeroed, and nobody else's.
        let buffer = unsafe { std::slice::from_raw_parts_mut(strings.base, bytes) };
        for chunk in buffer.chunks_mut(CHUNK_BYTES) {
            let (received, _) = wire::receive(socket.as_fd(), chunk).ok()?;
            (received == chunk.len()).then_some(())?;
        }
        Some(strings)
    }

    fn with<T>(&self, then: impl FnOnce(&clone::Vectors) -> Result<T, Stillborn>) -> Result<T, Stillborn> {
        let offset = self.bytes.next_multiple_of(size_of::<usize>());
        // SAFETY: strings and table are apart from each other in the mapping, inside it, and aligned (a mapping begins
        // at a page); only this method, which borrows `self`, makes references to them.
        let (strings, table) = unsafe {
            (
                std::slice::from_raw_parts(self.base, self.bytes),
                std::slice::from_raw_parts_mut(
                    self.base.add(offset).cast::<*const c_char>(),
                    clone::pointer_count(self.counts),
                ),
            )
        };
        let vectors = clone::lay_out(strings, self.counts, table)
            .ok_or(Stillborn { stage: Stage::Resources, errno: libc::EINVAL })?;
        then(&vectors)
    }
}

impl Drop for Strings {
    fn drop(&mut self) {
        // SAFETY: our own mapping, with no reference left.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.length) };
    }
}

/// A higher priority for a while, where it is permitted.
struct Haste(i32);

impl Haste {
    fn begin() -> Self {
        let before = rustix::process::getpriority_process(None).unwrap_or(0);
        let _ = rustix::process::setpriority_process(None, HASTY);
        Self(before)
    }
}

impl Drop for Haste {
    fn drop(&mut self) {
        let _ = rustix::process::setpriority_process(None, self.0);
    }
}
