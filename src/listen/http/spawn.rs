//! `/spawn`: a command's output while it runs, a JSON object a line.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use base64::Engine as _;
use hyper::body::{Body as HttpBody, Frame};

use super::exec::code;
use crate::runtime::command::{Chunk, End, Progress, Running};

/// All output goes through it, so it is the one that uses the widest instructions of this machine.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static BASE64: std::sync::LazyLock<base64::engine::simd::Simd> =
    std::sync::LazyLock::new(|| base64::engine::simd::Simd::standard(base64::engine::general_purpose::PAD));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
static BASE64: base64::engine::GeneralPurpose = base64::engine::general_purpose::STANDARD;

/// Answers with the lines of a command that may take `timeout` seconds.
pub(super) fn answer(running: Running, timeout: f64) -> Response<Body> {
    let lines = Lines { running: Some(running), timeout, is_in_line: false, last: None };
    let mut response = Response::new(Body::new(lines));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    response
}

/// The body: each frame is whole lines. Not polled, it takes no output, and the command waits.
struct Lines {
    /// None after the last word.
    running: Option<Running>,
    timeout: f64,
    /// Whether stderr has ended in the midst of a line.
    is_in_line: bool,
    /// What follows a frame that was given.
    last: Option<Bytes>,
}

impl HttpBody for Lines {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(self.last.take().map(|line| Ok(Frame::data(line))));
        };
        let line = match ready!(running.poll_next(context)) {
            Some(Progress::Output(Chunk::Stdout(bytes))) => chunk_line("out", &bytes),
            Some(Progress::Output(Chunk::Stderr(bytes))) => {
                self.is_in_line = bytes.last().is_some_and(|&last| last != b'\n');
                chunk_line("err", &bytes)
            }
            Some(Progress::Ended(end)) => {
                self.running = None;
                self.ended(&end)
            }
            // Without an exit line the client knows that the stream is not whole.
            None => return Poll::Ready(Some(Err(io::Error::other("the command was lost to a fault")))),
        };
        Poll::Ready(Some(Ok(Frame::data(line))))
    }

    fn is_end_stream(&self) -> bool {
        self.running.is_none() && self.last.is_none()
    }
}

impl Lines {
    fn ended(&mut self, end: &End) -> Bytes {
        if let End::NotStarted(reason) = end {
            tracing::debug!(reason, "a command was not started");
        }
        let exit = Bytes::from(format!("{{\"t\":\"exit\",\"code\":{}}}\n", code(end)));
        if *end != End::TimedOut {
            return exit;
        }
        self.last = Some(exit);
        let begin = if self.is_in_line { "\n" } else { "" };
        chunk_line("err", format!("{begin}[timeout after {}s]\n", self.timeout).as_bytes())
    }
}

/// `{"t":"out","b":"…"}`, made in one piece and never copied again.
fn chunk_line(stream: &str, bytes: &[u8]) -> Bytes {
    const END: &[u8] = b"\"}\n";
    let begin = format!("{{\"t\":\"{stream}\",\"b\":\"");
    let encoded = base64::encoded_len(bytes.len(), true).unwrap_or_default();
    let mut line = Vec::with_capacity(begin.len() + encoded + END.len());
    line.extend_from_slice(begin.as_bytes());
    line.resize(begin.len() + encoded, 0);
    // It fits: the room is what the encoder asked for.
    let written = BASE64.encode_slice(bytes, &mut line[begin.len()..]).unwrap_or_default();
    debug_assert_eq!(written, encoded);
    line.extend_from_slice(END);
    Bytes::from(line)
}

#[cfg(test)]
mod tests;
