//! What the warden and its keepers have in common: a fork without exec becomes a quiet process of its own.

use std::ffi::{CStr, c_uint};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};

use super::clone;

/// Signals that a terminal or a supervisor sends to the daemon and all around it. The end of the daemon is what ends
/// the warden and the keepers, not these.
const IGNORED: [i32; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE];

/// Ends the process when its life is over, or when a panic would unwind into the copy of the daemon's stack.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        // SAFETY: _exit(2) runs nothing of the daemon whose copy this is.
        unsafe { libc::_exit(0) }
    }
}

/// Lives in a fresh fork: a process group, terminal and name of its own, no descriptor but `keep`, only CHLD blocked.
pub(super) fn live(name: &CStr, keep: &mut [RawFd], life: impl FnOnce()) -> ! {
    let last = Last;
    let _ = rustix::process::setsid();
    let _ = rustix::thread::set_name(name);
    let _ = rustix::process::chdir(c"/");
    // SAFETY: a fork has its own table, and none of the daemon's handlers has business here.
    unsafe { clone::default_dispositions() };
    for signal in IGNORED {
        clone::set_disposition(signal, libc::SIG_IGN);
    }
    clone::set_mask(1 << (libc::SIGCHLD - 1));
    release_standard();
    release_all_but(keep);
    life();
    drop(last);
    unreachable!("the guard has ended the process")
}

/// The daemon's 0, 1 and 2 may be somebody's pipe, which must end with the daemon.
fn release_standard() {
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR, Mode::empty());
    for standard in 0..=2 {
        // SAFETY: nothing in this process uses 0, 1 or 2.
        unsafe {
            match &null {
                Ok(null) => libc::dup2(std::os::fd::AsRawFd::as_raw_fd(null), standard),
                Err(_) => libc::close(standard),
            };
        }
    }
    // It is not among the kept ones, so it is closed with the others.
    std::mem::forget(null);
}

fn release_all_but(keep: &mut [RawFd]) {
    keep.sort_unstable();
    let mut first: c_uint = 3;
    for kept in keep.iter().filter_map(|kept| c_uint::try_from(*kept).ok()) {
        // SAFETY: the owners of these descriptors are values of the daemon whose copies are never used or dropped.
        unsafe { clone::close_range(first, kept.saturating_sub(1)) };
        first = kept + 1;
    }
    // SAFETY: as above.
    unsafe { clone::close_range(first, c_uint::MAX) };
}

/// A descriptor that is readable when a child has ended.
pub(super) fn child_signals() -> Option<OwnedFd> {
    // SAFETY: a zeroed set is an empty one, to which one signal is added; the result is checked before it is owned.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut set, libc::SIGCHLD);
        let signals = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        (signals >= 0).then(|| OwnedFd::from_raw_fd(signals))
    }
}

/// Forgets that children have ended; who asks waitpid(2) next learns of each.
pub(super) fn drain_signals(signals: BorrowedFd) {
    let mut information = [0_u8; size_of::<libc::signalfd_siginfo>()];
    while rustix::io::read(signals, &mut information).is_ok_and(|count| count > 0) {}
}

/// Waits until one of two descriptors is readable or hung up, or so many milliseconds (for ever when none).
pub(super) fn wait(socket: Option<BorrowedFd>, signals: BorrowedFd, milliseconds: Option<i64>) -> bool {
    let timeout = milliseconds.map(|milliseconds| Timespec {
        tv_sec: milliseconds / 1000,
        tv_nsec: milliseconds % 1000 * 1_000_000,
    });
    let other = socket.unwrap_or(signals);
    let mut polled =
        [PollFd::from_borrowed_fd(signals, PollFlags::IN), PollFd::from_borrowed_fd(other, PollFlags::IN)];
    let count = if socket.is_some() { 2 } else { 1 };
    let _ = rustix::event::poll(&mut polled[..count], timeout.as_ref());
    drain_signals(signals.as_fd());
    socket.is_some() && !polled[1].revents().is_empty()
}
