//! What a call has told so far: the matter of progress notifications, and the items that a streaming call sends
//! instead of keeping them for its answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axlr_protocol::tool::{Entry, Match};
use axlr_protocol::{Call, EventBody, Output, limits};

use crate::runtime::{Capture, Source};

#[cfg(test)]
mod tests;

/// Longest line of a program's output that a notification shows, in characters.
const LINE_CHARS: usize = 200;

/// Follows one call.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
enum Seen {
    Exec {
        capture: Capture,
        bytes: u64,
        line: String,
    },
    Search {
        matches: Vec<Match>,
        files: u64,
        told: u64,
    },
    List {
        entries: Vec<Entry>,
        seen: u64,
        told: u64,
    },
    Plugin {
        latest: Option<Note>,
    },
    /// The answer has taken what was kept.
    Over,
}

/// One step of progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Grows from note to note.
    pub progress: f64,
    /// Where it ends, if that is known.
    pub total: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

impl Watch {
    /// A watch on a call; `None` for one that tells nothing while it runs, and for one that only streaming would let
    /// run longer than its caller may ask for.
    pub fn new(call: &Call) -> Option<Self> {
        let seen = match call {
            Call::Exec(exec) => {
                let timeout = exec.timeout_ms.and_then(|timeout| u64::try_from(timeout).ok()).unwrap_or(0);
                if timeout > limits::EXEC_TIMEOUT_MAX_MS {
                    return None;
                }
                let limit = exec.max_output_bytes.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(0);
                if limit > limits::EXEC_OUTPUT_MAX_BYTES {
                    return None;
                }
                let limit = if limit == 0 { limits::EXEC_OUTPUT_DEFAULT_BYTES } else { limit };
                let capture = Capture::new(usize::try_from(limit).unwrap_or(usize::MAX));
                Seen::Exec { capture, bytes: 0, line: String::new() }
            }
            Call::Search(_) => Seen::Search { matches: Vec::new(), files: 0, told: 0 },
            Call::List(_) => Seen::List { entries: Vec::new(), seen: 0, told: 0 },
            Call::PluginsCall(_) => Seen::Plugin { latest: None },
            _ => return None,
        };
        Some(Self { began: Instant::now(), seen: Mutex::new(seen) })
    }

    /// Takes an event of the call.
    pub fn tell(&self, event: &EventBody) {
        match (&mut *self.lock(), event) {
            (Seen::Exec { capture, bytes, line }, EventBody::Stdout { data }) => {
                capture.push(Source::Stdout, data);
                *bytes += data.len() as u64;
                keep_last_line(line, data);
            }
            (Seen::Exec { capture, bytes, line }, EventBody::Stderr { data }) => {
                capture.push(Source::Stderr, data);
                *bytes += data.len() as u64;
                keep_last_line(line, data);
            }
            (Seen::Search { matches, .. }, EventBody::Matches { matches: more }) => {
                matches.extend_from_slice(more);
            }
            (Seen::Search { files, .. }, EventBody::SearchProgress { files_scanned, files_skipped }) => {
                *files = files_scanned + files_skipped;
            }
            (Seen::List { entries, .. }, EventBody::Entries { entries: more }) => {
                entries.extend_from_slice(more);
            }
            (Seen::List { seen, .. }, EventBody::ListProgress { entries_seen }) => *seen = *entries_seen,
            (Seen::Plugin { latest }, EventBody::PluginProgress { progress, total, message }) => {
                *latest = Some(Note { progress: *progress, total: *total, message: message.clone() });
            }
            _ => {}
        }
    }

    /// What is to be told now; `None` when there is nothing new.
    pub(super) fn note(&self) -> Option<Note> {
        let seconds = self.began.elapsed().as_secs_f64();
        let note = |progress, message| Note { progress, total: None, message: Some(message) };
        match &mut *self.lock() {
            Seen::Exec { bytes, line, .. } => {
                let message = match (line.is_empty(), *bytes) {
                    (false, _) => line.clone(),
                    (true, 0) => format!("running for {seconds:.0} s"),
                    (true, bytes) => format!("running for {seconds:.0} s, {bytes} bytes of output"),
                };
                // Whole milliseconds: what a client shows, and enough to grow.
                Some(note((seconds * 1e3).round() / 1e3, message))
            }
            Seen::Search { matches, files, told } if *files > *told => {
                *told = *files;
                Some(note(*files as f64, format!("{files} files looked at, {} matches", matches.len())))
            }
            Seen::List { entries, seen, told } if *seen > *told => {
                *told = *seen;
                Some(note(*seen as f64, format!("{seen} entries visited, {} listed", entries.len())))
            }
            Seen::Plugin { latest } => latest.take(),
            Seen::Search { .. } | Seen::List { .. } | Seen::Over => None,
        }
    }

    /// Gives what was kept back to the output that lacks it.
    pub(super) fn complete(&self, output: Output) -> Output {
        match (std::mem::replace(&mut *self.lock(), Seen::Over), output) {
            (Seen::Exec { capture, .. }, Output::Exec(mut output)) => {
                let captured = capture.finish();
                output.stdout = captured.stdout;
                output.stderr = captured.stderr;
                output.captured_bytes = captured.captured;
                output.discarded_bytes += captured.discarded;
                output.truncated |= captured.discarded > 0;
                Output::Exec(output)
            }
            (Seen::Search { mut matches, .. }, Output::Search(mut output)) => {
                matches.append(&mut output.matches);
                output.matches = matches;
                Output::Search(output)
            }
            (Seen::List { mut entries, .. }, Output::List(mut output)) => {
                entries.append(&mut output.entries);
                output.entries = entries;
                Output::List(output)
            }
            (_, output) => output,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the last line that has something to show. One that a pipe gave in pieces is shown as its last piece.
fn keep_last_line(line: &mut String, data: &[u8]) {
    let end = &data[data.len().saturating_sub(4 * LINE_CHARS)..];
    let text = String::from_utf8_lossy(end);
    let last = text.split(['\n', '\r']).map(str::trim).rfind(|line| !line.is_empty());
    if let Some(last) = last {
        *line = last.chars().filter(|c| !c.is_control()).take(LINE_CHARS).collect();
    }
}
