//! Killing every descendant of this process, when it is a subreaper: whoever loses a parent becomes its child, so
//! nobody slips out of the tree, and a few passes over `/proc` reach all of it.

use std::ffi::CStr;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::process::{Pid, Signal};

/// Most descendants killed in one pass; the rest are the next one's.
const FOUND_MAX: usize = 16_384;
/// Enough of `/proc/PID/stat` for its first fields.
const STAT_BYTES: usize = 256;
/// A buffer for the names in `/proc`.
const NAMES_BYTES: usize = 4_096;

/// Which descendants die.
#[derive(Clone, Copy)]
pub(super) enum Prey<'a> {
    All,
    /// Those in this process group.
    Group(Pid),
    /// All but these children and what descends from them.
    Strays(&'a [Option<Pid>]),
}

/// Sends KILL to each descendant that there is now and says how many were found. A process with a KILL pending cannot
/// fork, so a pass gains on a fork storm.
///
/// A number that was read a moment ago is not a stranger's yet: the kernel gives numbers out in a ring.
pub(super) fn pass(prey: Prey) -> usize {
    let me = rustix::process::getpid();
    let my_group = rustix::process::getpgrp();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = rustix::fs::open(c"/proc", flags, Mode::empty()) else { return 0 };
    // The kernel lists numbers in ascending order, and a child's is mostly above its parent's: one look at each is
    // enough, and the list of those found is sorted.
    let mut found = [0_i32; FOUND_MAX];
    let mut count = 0;
    let mut killed = 0;
    let mut names = [MaybeUninit::uninit(); NAMES_BYTES];
    let mut listing = RawDir::new(&proc, &mut names);
    while let Some(Ok(entry)) = listing.next() {
        let Some(pid) = parse(entry.file_name().to_bytes()) else { continue };
        let Some(process) = Process::read(&proc, pid) else { continue };
        let is_child = process.parent == me.as_raw_nonzero().get();
        if count == FOUND_MAX || !(is_child || found[..count].binary_search(&process.parent).is_ok()) {
            continue;
        }
        if let Prey::Strays(spared) = prey
            && is_child
            && spared.iter().flatten().any(|spared| spared.as_raw_nonzero().get() == pid)
        {
            continue;
        }
        found[count] = pid;
        count += 1;
        let (Some(pid), Some(group)) = (Pid::from_raw(pid), Pid::from_raw(process.group)) else { continue };
        if matches!(prey, Prey::Group(wanted) if wanted != group) {
            continue;
        }
        killed += 1;
        // A group dies in one stroke, under one lock of the kernel. It has no member outside the tree: this process
        // began its own set of groups with setsid(2).
        let _ = if group == my_group {
            rustix::process::kill_process(pid, Signal::KILL)
        } else {
            rustix::process::kill_process_group(group, Signal::KILL)
        };
    }
    killed
}

struct Process {
    parent: i32,
    group: i32,
}

impl Process {
    /// The fields after the command's name, which is in parentheses and may hold any byte. proc_pid_stat(5).
    fn read(proc: &OwnedFd, pid: i32) -> Option<Self> {
        let mut path = [0; 32];
        write!(&mut path[..31], "{pid}/stat").ok()?;
        let path = CStr::from_bytes_until_nul(&path).ok()?;
        let file =
            rustix::fs::openat(proc.as_fd(), path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let mut stat = [0; STAT_BYTES];
        let length = rustix::io::read(&file, &mut stat).ok()?;
        let stat = &stat[..length];
        let end = memchr::memrchr(b')', stat)?;
        let mut fields = stat[end + 1..].split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let _state = fields.next()?;
        Some(Self { parent: parse(fields.next()?)?, group: parse(fields.next()?)? })
    }
}

fn parse(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
