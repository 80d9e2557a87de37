//! Tells when the other end is gone although nobody reads from it: a full hang-up, not a half-close.

use std::os::fd::{BorrowedFd, OwnedFd};

use tokio::io::unix::AsyncFd;

/// Watches one descriptor on a registration of its own, so that the readiness that reads and writes use is not
/// touched.
#[derive(Debug)]
pub(super) struct Hangup(Option<AsyncFd<OwnedFd>>);

#[cfg(target_os = "linux")]
mod seam {
    use rustix::fs::FileType;
    use tokio::io::Interest;

    use super::{AsyncFd, BorrowedFd, OwnedFd};

    /// Of a socket the end shows as HUP, which epoll(7) reports whatever was asked for; a half-close alone does not.
    const SOCKET: Interest = Interest::PRIORITY;
    /// Of a pipe that is written to it shows as ERR. For a socket this would not do: tokio asks for what can be read
    /// along with errors, and a half-close can.
    const PIPE: Interest = Interest::ERROR;

    pub(super) fn watch(fd: BorrowedFd<'_>) -> Option<AsyncFd<OwnedFd>> {
        let mode = rustix::fs::fstat(fd).ok()?.st_mode;
        let interest = if FileType::from_raw_mode(mode).is_socket() { SOCKET } else { PIPE };
        crate::readiness::register(fd.try_clone_to_owned().ok()?, interest).ok()
    }

    pub(super) async fn gone(watched: &AsyncFd<OwnedFd>) {
        drop(watched.ready(SOCKET.add(PIPE)).await);
    }
}

/// Elsewhere a connection that is not read learns of it when it writes.
#[cfg(not(target_os = "linux"))]
mod seam {
    use super::{AsyncFd, BorrowedFd, OwnedFd};

    pub(super) fn watch(_: BorrowedFd<'_>) -> Option<AsyncFd<OwnedFd>> {
        None
    }

    pub(super) async fn gone(_: &AsyncFd<OwnedFd>) {
        std::future::pending().await
    }
}

impl Hangup {
    /// Never fires for what can't be watched, a regular file say.
    pub(super) fn watch(fd: BorrowedFd<'_>) -> Self {
        Self(seam::watch(fd))
    }

    /// Returns when the other end is gone.
    pub(super) async fn gone(&self) {
        match &self.0 {
            Some(watched) => seam::gone(watched).await,
            None => std::future::pending().await,
        }
    }
}
