//! `/exec`: a command's output in one answer.

use axlr_protocol::limits;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde::Serialize;

use super::answer;
use crate::runtime::command::{Chunk, End, Progress, Running};

/// The answer of `/exec`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Executed {
    errno: i32,
    stdout: String,
    stderr: String,
}

/// Waits until a command has ended, and answers with what it wrote.
pub(super) async fn answer(mut running: Running) -> Response<Body> {
    let (mut stdout, mut stderr) = (Kept::default(), Kept::default());
    let end = loop {
        match running.next().await {
            Some(Progress::Output(Chunk::Stdout(bytes))) => stdout.push(&bytes),
            Some(Progress::Output(Chunk::Stderr(bytes))) => stderr.push(&bytes),
            Some(Progress::Ended(end)) => break end,
            None => return answer::refusal(StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
        }
    };
    let errno = code(&end);
    let (stdout, mut stderr) = (stdout.text(), stderr.text());
    if let End::NotStarted(reason) = end {
        // It has written nothing itself.
        stderr = format!("the command was not started: {reason}\n");
    }
    answer::json(StatusCode::OK, &Executed { errno, stdout, stderr })
}

/// The exit code of a command, as both endpoints give it.
pub(super) fn code(end: &End) -> i32 {
    /// A command that was killed because the daemon stops died of KILL.
    const KILLED: i32 = 128 + 9;
    match end {
        End::Exited(code) => *code,
        End::NotStarted(_) => limits::HTTP_NOT_STARTED_CODE,
        End::TimedOut => limits::HTTP_TIMEOUT_CODE,
        End::Cancelled => KILLED,
    }
}

/// The first bytes of a stream.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        let room = limits::HTTP_EXEC_STREAM_MAX_BYTES - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_cut |= bytes.len() > room;
    }

    /// As text: what is not UTF-8 becomes U+FFFD, but of a character that was cut nothing is left.
    fn text(mut self) -> String {
        if self.is_cut {
            let begun = self.bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
            let end = &self.bytes[self.bytes.len() - begun..];
            if std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none()) {
                self.bytes.truncate(self.bytes.len() - begun);
            }
        }
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

#[cfg(test)]
mod tests;
