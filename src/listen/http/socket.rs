//! A connection's socket: counts bytes, knows how long it has waited for what, and tells when the client is gone.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::bounds::Bounds;
use crate::readiness;
use crate::runtime::Runtime;

/// One connection as its socket, its service and its commands see it. Clones are one connection.
#[derive(Clone)]
pub(in crate::listen) struct Peer {
    stream: Arc<TcpStream>,
    waits: Arc<Mutex<Waits>>,
    bounds: Bounds,
    /// This client's number in the line for children.
    pub(super) client: u64,
}

/// What a connection waits for, and since when.
struct Waits {
    stage: Stage,
    since: Instant,
    /// Since when the client has taken nothing of what is to be written.
    stalled: Option<Instant>,
    /// Commands that run for it: while there are some, a client that takes nothing is only slow.
    commands: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// For a request to begin.
    Idle,
    /// For the rest of a request's head.
    Head,
    /// For an endpoint.
    Serving,
}

impl Peer {
    pub(super) fn new(stream: TcpStream, client: u64, bounds: Bounds) -> Self {
        let waits = Waits { stage: Stage::Idle, since: Instant::now(), stalled: None, commands: 0 };
        Self { stream: Arc::new(stream), waits: Arc::new(Mutex::new(waits)), bounds, client }
    }

    /// When the connection may have waited too long.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.lock().deadline(&self.bounds)
    }

    /// Whether it has. While a command runs, its client may be as slow as it likes.
    pub(super) fn is_overdue(&self) -> bool {
        let mut waits = self.lock();
        let now = Instant::now();
        if waits.commands > 0 && waits.stalled.is_some() {
            waits.stalled = Some(now);
            return false;
        }
        waits.deadline(&self.bounds).is_some_and(|deadline| deadline <= now)
    }

    /// A request's head has come; until the end of its answer the connection is not idle.
    pub(super) fn serve(&self) -> Serving {
        self.lock().stage = Stage::Serving;
        Serving(self.clone())
    }

    /// Returns when the client is gone: it has closed or reset the connection, or its sending half. Over TCP these can't
    /// be told apart before something is written, and a client that hangs up must be heard at once.
    ///
    /// Held, the future says that a command runs for this client.
    pub(in crate::listen) fn gone(&self) -> impl Future<Output = ()> + Send + 'static {
        let running = Running::new(self.clone());
        async move {
            let watched = running.0.stream.as_fd().try_clone_to_owned();
            let watched = watched.and_then(|fd| readiness::register(fd, Interest::READABLE));
            let Ok(watched) = watched else {
                // No descriptor was free. Whoever writes to it learns of the end, and so does its deadline.
                return std::future::pending().await;
            };
            loop {
                let Ok(mut ready) = watched.readable().await else { return };
                if ready.ready().is_read_closed() {
                    return;
                }
                // A request that follows; it is left where it is, and what comes next will be told again.
                ready.clear_ready();
            }
        }
    }

    /// Closes the sending half.
    pub(super) fn shut(&self) {
        let _ = rustix::net::shutdown(&*self.stream, rustix::net::Shutdown::Write);
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    fn deadline(&self, bounds: &Bounds) -> Option<Instant> {
        let stalled = self.stalled.map(|since| since + bounds.stall);
        let stage = match self.stage {
            Stage::Idle => Some(self.since + bounds.idle),
            Stage::Head => Some(self.since + bounds.head),
            Stage::Serving => None,
        };
        stalled.or(stage)
    }
}

/// A request that is being answered. Dropped, it has been.
pub(super) struct Serving(Peer);

impl Drop for Serving {
    fn drop(&mut self) {
        let mut waits = self.0.lock();
        waits.stage = Stage::Idle;
        waits.since = Instant::now();
    }
}

/// A command in its client's count.
struct Running(Peer);

impl Running {
    fn new(peer: Peer) -> Self {
        peer.lock().commands += 1;
        Self(peer)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().commands -= 1;
    }
}

/// The socket of a connection, for whoever speaks HTTP on it.
pub(super) struct Socket {
    peer: Peer,
    runtime: Runtime,
    /// Whether the client has closed its half.
    pub(super) has_ended: bool,
}

impl Socket {
    pub(super) fn new(peer: Peer, runtime: Runtime) -> Self {
        Self { peer, runtime, has_ended: false }
    }

    fn wrote(&self, result: io::Result<usize>) -> io::Result<usize> {
        self.peer.lock().stalled = None;
        let count = *result.as_ref().unwrap_or(&0);
        self.runtime.traffic().bytes_out.fetch_add(count as u64, Ordering::Relaxed);
        result
    }

    fn poll_write_with(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let Poll::Ready(ready) = self.peer.stream.poll_write_ready(context) else {
                self.peer.lock().stalled.get_or_insert_with(Instant::now);
                return Poll::Pending;
            };
            match ready.and_then(|()| write(&self.peer.stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.wrote(result)),
            }
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.peer.stream.poll_read_ready(context))?;
            match self.peer.stream.try_read_buf(buffer) {
                Ok(count) => {
                    self.has_ended = count == 0;
                    self.runtime.traffic().bytes_in.fetch_add(count as u64, Ordering::Relaxed);
                    let mut waits = self.peer.lock();
                    if waits.stage == Stage::Idle {
                        waits.stage = Stage::Head;
                        waits.since = Instant::now();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_with(context, |stream| stream.try_write_vectored(pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.peer.shut();
        Poll::Ready(Ok(()))
    }
}
