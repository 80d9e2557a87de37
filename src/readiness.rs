//! Readiness of one descriptor that tokio has no type for: a pidfd, the far end of a connection.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the event loop of the current runtime.
///
/// # Errors
/// epoll_ctl(2) takes no regular files, and none beyond its limits.
///
/// # Panics
/// Outside of a tokio runtime.
pub(crate) fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and names the same file description for as long as the `AsyncFd` owns it.
    let registered = unsafe { AsyncFd::register_with_interest(fd, interest) };
    registered.map_err(|error| error.into_parts().1)
}
