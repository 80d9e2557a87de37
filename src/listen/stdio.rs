//! The socket's protocol on stdin and stdout, for one connection: an editor that starts its own daemon, or ssh.

use std::io;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncWrite, Stdin, stdin};
use tokio::task::{JoinHandle, spawn_blocking};

use super::connection::{Watched, serve};
use super::glance::Arrived;
use crate::runtime::Runtime;

/// Most bytes of one write: what a pipe takes, so that its reader is not kept waiting for the copy of more.
const WRITE_BYTES: usize = 64 * 1024;

/// Serves stdin and stdout until the input ends and all is answered, or until nobody reads stdout any more.
pub async fn serve_stdio(runtime: Runtime) {
    runtime.traffic().open();
    let watched = Watched { descriptor: Stdout::descriptor, is_one_socket: false };
    serve(runtime.clone(), stdin(), Stdout::default(), watched).await;
    runtime.traffic().close();
}

/// Stdout, written on blocking threads. What it says is written is with the reader: tokio's own takes bytes on trust,
/// so that the last ones could be lost when the daemon ends, and keeps back what no line end follows, which
/// MessagePack has none of.
#[derive(Default)]
pub(super) struct Stdout {
    writing: Option<JoinHandle<io::Result<usize>>>,
}

impl Stdout {
    fn descriptor(&self) -> BorrowedFd<'_> {
        rustix::stdio::stdout()
    }
}

impl AsyncWrite for Stdout {
    /// After `Pending` it must be called with the same bytes again, or with more behind them.
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let writing = self.writing.get_or_insert_with(|| {
            let piece = bytes[..bytes.len().min(WRITE_BYTES)].to_vec();
            spawn_blocking(move || {
                Ok(rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), &piece))?)
            })
        });
        let written = ready!(Pin::new(writing).poll(context));
        self.writing = None;
        Poll::Ready(written.unwrap_or_else(|error| Err(io::Error::other(error))))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Stdin is read by a thread of its own.
impl Arrived for Stdin {
    fn arrived(&mut self, _: &mut Vec<u8>) -> Option<io::Result<usize>> {
        None
    }
}
