//! Stdin and stdout without a thread between: a host gives them as pipes or, when it runs on Node, as sockets. What is
//! neither, a file or a terminal, goes through tokio's blocking threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::fs::FileType;
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

use crate::readiness::register;

/// Most bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// Where messages come from.
pub(super) type Input = Pin<Box<dyn AsyncRead + Send>>;
/// Where messages go.
pub(super) type Output = Pin<Box<dyn AsyncWrite + Send>>;

/// Stdin.
pub(super) fn input() -> Input {
    match Direct::open(rustix::stdio::stdin(), Interest::READABLE) {
        Some(direct) => Box::pin(direct),
        None => Box::pin(tokio::io::stdin()),
    }
}

/// Stdout.
pub(super) fn output() -> Output {
    match Direct::open(rustix::stdio::stdout(), Interest::WRITABLE) {
        Some(direct) => Box::pin(direct),
        None => Box::pin(crate::listen::stdio::Stdout::default()),
    }
}

/// A descriptor that the event loop knows. Its own mode is not changed: other processes may have it too.
struct Direct {
    fd: AsyncFd<OwnedFd>,
    is_socket: bool,
}

impl Direct {
    fn open(fd: BorrowedFd<'_>, interest: Interest) -> Option<Self> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(fd).ok()?.st_mode);
        let (owned, is_socket) = match kind {
            FileType::Socket => (fd.try_clone_to_owned().ok()?, true),
            FileType::Fifo => (reopened(fd, interest)?, false),
            _ => return None,
        };
        Some(Self { fd: register(owned, interest).ok()?, is_socket })
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let fd = self.fd.as_fd();
        if self.is_socket {
            return Ok(rustix::net::recv(fd, buffer, RecvFlags::DONTWAIT)?.0);
        }
        Ok(rustix::io::read(fd, buffer)?)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let fd = self.fd.as_fd();
        if self.is_socket {
            return Ok(rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?);
        }
        Ok(rustix::io::write(fd, bytes)?)
    }
}

/// The same pipe opened once more, so that not waiting is this description's affair alone. It needs /proc, and the right
/// to open a pipe that perhaps another user made.
#[cfg(target_os = "linux")]
fn reopened(fd: BorrowedFd<'_>, interest: Interest) -> Option<OwnedFd> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{Mode, OFlags};

    let access = if interest.is_readable() { OFlags::RDONLY } else { OFlags::WRONLY };
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::open(path, access | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn reopened(_: BorrowedFd<'_>, _: Interest) -> Option<OwnedFd> {
    None
}

impl AsyncRead for Direct {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(context))?;
            // No more than a pipe holds: what is offered must be set to zero first, each time.
            let room = buffer.remaining().min(READ_BYTES);
            match self.read(buffer.initialize_unfilled_to(room)) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Direct {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.fd.poll_write_ready(context))?;
            match self.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
