//! One connection: reads frames, submits them to its session, writes what comes back.
//!
//! One task does all three. Every frame that is already here is decoded and, when it can be answered at once,
//! answered into one buffer that is written with one call; what takes longer comes back through the [`Outbox`].
//! The task ends when the input has ended and all is answered, when the other end is gone, or when the runtime stops.

use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use axlr_protocol::decode::{self, Door, Malformed};
use axlr_protocol::frame::{Decoder, Frame};
use axlr_protocol::{Request, Response, codec, limits};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use super::glance::{Arrived, Glance};
use super::hangup::Hangup;
use super::outbox::Outbox;
use crate::runtime::{Outlet, Phase, Runtime, Session};

/// Buffers that grew past this are given back when they are empty.
const KEPT_BYTES: usize = 16 * 1024;
/// Answers given at once before the task lets others run.
const INLINE_BATCH: usize = 64;
/// Writes in a row before the task looks at its input again.
const FLUSH_BATCHES: usize = 8;
/// How long the last answers may take to be written when the runtime stops.
const FAREWELL: Duration = Duration::from_secs(1);

/// How it is noticed that nobody reads any more.
pub(super) struct Watched<W> {
    /// The descriptor that hangs up then.
    pub(super) descriptor: fn(&W) -> BorrowedFd<'_>,
    /// Whether reading tells it as well, since reader and writer are one socket. Then it is watched only while nothing
    /// is read.
    pub(super) is_one_socket: bool,
}

/// Serves one connection to its end.
pub(super) async fn serve<R, W>(runtime: Runtime, reader: R, writer: W, watched: Watched<W>)
where
    R: AsyncRead + Arrived + Unpin,
    W: AsyncWrite + Unpin,
{
    let outbox = Arc::new(Outbox::default());
    let session = runtime.session(outbox.clone());
    let connection = Connection {
        phase: runtime.phase(),
        runtime,
        reader,
        writer,
        decoder: Decoder::new(limits::REQUEST_MAX_BYTES),
        output: Vec::new(),
        written: 0,
        outbox,
        session,
        input: Input::Open,
        glance: Glance::default(),
    };
    connection.run(watched).await;
}

struct Connection<R, W> {
    runtime: Runtime,
    phase: watch::Receiver<Phase>,
    reader: R,
    writer: W,
    decoder: Decoder,
    output: Vec<u8>,
    /// How much of `output` is written.
    written: usize,
    outbox: Arc<Outbox>,
    session: Session,
    input: Input,
    glance: Glance,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// Half-closed, or refused for good: what was received is answered, then the connection ends.
    Ended,
}

/// The other end is gone, or does not take what it is sent.
struct Gone;

impl<R: AsyncRead + Arrived + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    async fn run(mut self, watched: Watched<W>) {
        let mut hangup = None;
        loop {
            if let Some(encoding) = self.decoder.encoding() {
                self.outbox.set_encoding(encoding);
            }
            let took_all = self.take_frames();
            if self.flush().await.is_err() {
                return;
            }
            if *self.phase.borrow_and_update() == Phase::Stopped {
                return self.farewell().await;
            }
            if self.input == Input::Ended && self.session.is_idle() && self.outbox.is_empty() {
                let _ = self.writer.shutdown().await;
                return;
            }
            if !took_all && self.may_take() {
                // More is here than one batch: others first.
                tokio::task::yield_now().await;
                continue;
            }
            let may_read = self.input == Input::Open && self.may_take();
            if may_read && self.glance.is_due() {
                let arrived = self.reader.arrived(self.decoder.buffer());
                self.glance.saw(arrived.is_some());
                if let Some(result) = arrived {
                    if self.read(result).is_err() {
                        return;
                    }
                    continue;
                }
            }
            if may_read && watched.is_one_socket {
                hangup = None;
            } else if hangup.is_none() {
                hangup = Some(Hangup::watch((watched.descriptor)(&self.writer)));
            }
            if self.wait(may_read, hangup.as_ref()).await.is_err() {
                return;
            }
            self.glance.waited();
        }
    }

    /// Submits the frames that are here, one batch at most. `false` when some are left.
    fn take_frames(&mut self) -> bool {
        for _ in 0..INLINE_BATCH {
            if !self.may_take() {
                return false;
            }
            let Some(frame) = self.decoder.next() else { return true };
            let (received, bytes, is_last) = read_frame(&self.outbox, &frame);
            if let Some(response) = self.session.submit(received, bytes) {
                self.answer(&response);
            }
            if is_last {
                self.input = Input::Ended;
                return true;
            }
        }
        false
    }

    fn may_take(&self) -> bool {
        self.outbox.has_room() && self.session.may_read()
    }

    fn answer(&mut self, response: &Response) {
        let before = self.output.len();
        codec::response(self.outbox.encoding(), response, &mut self.output);
        self.outbox.add(self.output.len() - before);
    }

    /// Writes what the other end takes without waiting, a few batches at most: it must go on being heard.
    async fn flush(&mut self) -> Result<(), Gone> {
        for _ in 0..FLUSH_BATCHES {
            self.refill();
            if self.output.is_empty() {
                return Ok(());
            }
            let rest = &self.output[self.written..];
            let writer = &mut self.writer;
            let once =
                std::future::poll_fn(|context| match Pin::new(&mut *writer).poll_write(context, rest) {
                    Poll::Ready(result) => Poll::Ready(Some(result)),
                    Poll::Pending => Poll::Ready(None),
                });
            match once.await {
                Some(result) => self.wrote(result)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    fn refill(&mut self) {
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
            if self.output.capacity() > KEPT_BYTES {
                self.output = Vec::new();
            }
        }
        if self.written == 0 {
            self.outbox.collect(&mut self.output);
        }
    }

    fn wrote(&mut self, result: std::io::Result<usize>) -> Result<(), Gone> {
        let bytes = result.map_err(|_| Gone)?;
        if bytes == 0 {
            return Err(Gone);
        }
        self.written += bytes;
        self.runtime.traffic().bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.outbox.written(bytes) {
            self.session.pump();
        }
        Ok(())
    }

    /// Waits for whatever comes first.
    async fn wait(&mut self, may_read: bool, hangup: Option<&Hangup>) -> Result<(), Gone> {
        let is_writing = self.written < self.output.len();
        tokio::select! {
            result = self.writer.write(&self.output[self.written..]), if is_writing => self.wrote(result),
            result = self.reader.read_buf(self.decoder.buffer()), if may_read => self.read(result),
            () = self.outbox.filled(), if !is_writing => Ok(()),
            () = gone(hangup) => Err(Gone),
            _ = self.phase.changed() => Ok(()),
        }
    }

    fn read(&mut self, result: std::io::Result<usize>) -> Result<(), Gone> {
        let bytes = result.map_err(|_| Gone)?;
        self.runtime.traffic().bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
        if bytes == 0 {
            self.end_of_input();
        }
        Ok(())
    }

    fn end_of_input(&mut self) {
        self.input = Input::Ended;
        if let Some(frame) = self.decoder.finish() {
            let (received, bytes, _) = read_frame(&self.outbox, &frame);
            if let Some(response) = self.session.submit(received, bytes) {
                self.answer(&response);
            }
        }
        self.session.end_of_input();
    }

    /// The runtime has stopped: writes the answers that are there, for a bounded time.
    async fn farewell(mut self) {
        let write_all = async {
            loop {
                self.refill();
                if self.output.is_empty() {
                    break;
                }
                let rest = &self.output[self.written..];
                let result = self.writer.write(rest).await;
                if self.wrote(result).is_err() {
                    return;
                }
            }
            let _ = self.writer.shutdown().await;
        };
        let _ = tokio::time::timeout(FAREWELL, write_all).await;
    }
}

/// Decodes a frame. The last member tells that nothing sensible can follow it.
fn read_frame(outbox: &Outbox, frame: &Frame<'_>) -> (Result<Request, Malformed>, usize, bool) {
    let is_last = matches!(frame, Frame::Abandon | Frame::Truncated);
    let received =
        frame.document().and_then(|document| decode::request(outbox.encoding(), document, Door::Socket));
    (received, frame.document().map_or(0, <[u8]>::len), is_last)
}

async fn gone(hangup: Option<&Hangup>) {
    match hangup {
        Some(hangup) => hangup.gone().await,
        None => std::future::pending().await,
    }
}
