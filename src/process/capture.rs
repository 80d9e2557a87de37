//! What is kept of a program's output.

use std::collections::VecDeque;

use axlr_protocol::limits;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
}

/// The first bytes of stdout and stderr, bounded together in order of arrival. SPEC §3.4.
#[derive(Debug)]
pub struct Capture {
    limit: usize,
    stdout: Part,
    stderr: Part,
    discarded: u64,
}

#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    is_cut: bool,
}

/// A finished capture.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// What is kept of stdout.
    pub stdout: String,
    /// What is kept of stderr.
    pub stderr: String,
    /// Bytes kept, of both together.
    pub captured: u64,
    /// Bytes dropped.
    pub discarded: u64,
}

impl Capture {
    /// Keeps at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, stdout: Part::default(), stderr: Part::default(), discarded: 0 }
    }

    /// Takes what a pipe gave.
    pub fn push(&mut self, source: Source, bytes: &[u8]) {
        let room = self.limit - self.stdout.bytes.len() - self.stderr.bytes.len();
        let (kept, dropped) = bytes.split_at(bytes.len().min(room));
        let part = match source {
            Source::Stdout => &mut self.stdout,
            Source::Stderr => &mut self.stderr,
        };
        part.bytes.extend_from_slice(kept);
        part.is_cut |= !dropped.is_empty();
        self.discarded += dropped.len() as u64;
    }

    /// The text. A stream that was cut inside a character gives its begun bytes up.
    pub fn finish(mut self) -> Captured {
        let given_up = self.stdout.give_up_cut_character() + self.stderr.give_up_cut_character();
        Captured {
            captured: (self.stdout.bytes.len() + self.stderr.bytes.len()) as u64,
            discarded: self.discarded + given_up as u64,
            stdout: text(self.stdout.bytes),
            stderr: text(self.stderr.bytes),
        }
    }
}

impl Part {
    fn give_up_cut_character(&mut self) -> usize {
        let begun = if self.is_cut { begun_character(&self.bytes) } else { 0 };
        self.bytes.truncate(self.bytes.len() - begun);
        begun
    }
}

/// The last characters of all output, for the message of a timeout or a cancellation. A character that a pipe gave in
/// two pieces, with the other stream's bytes between, is put together again.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    begun: [Vec<u8>; 2],
}

/// Enough bytes for the characters of a message, and for one that is cut at the front.
const TAIL_BYTES: usize = 4 * (limits::EXEC_MESSAGE_TAIL_CHARS + 1);

impl Tail {
    pub(super) fn push(&mut self, source: Source, bytes: &[u8]) {
        let begun = &mut self.begun[source as usize];
        let split = bytes.len() - begun_character(bytes);
        if split > 0 || begun.len() + bytes.len() > 4 {
            self.bytes.extend(begun.drain(..));
            self.bytes.extend(&bytes[split.saturating_sub(TAIL_BYTES)..split]);
        }
        begun.extend_from_slice(&bytes[split..]);
        let surplus = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..surplus);
    }

    pub(super) fn finish(mut self) -> String {
        for begun in self.begun {
            self.bytes.extend(begun);
        }
        let text = String::from_utf8_lossy(self.bytes.make_contiguous());
        let count = text.chars().count();
        text.chars().skip(count.saturating_sub(limits::EXEC_MESSAGE_TAIL_CHARS)).collect()
    }
}

/// How many bytes at the end begin a character and lack its rest.
fn begun_character(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|length| {
            let end = &bytes[bytes.len() - length..];
            // A continuation byte alone is an error with a length; only a begun character has none.
            std::str::from_utf8(end)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
