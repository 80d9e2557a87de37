//! One file of a search: read whole, judged, looked through.

use axlr_protocol::limits::{SEARCH_BINARY_WINDOW_BYTES, SEARCH_FILE_MAX_BYTES};
use grep_searcher::Searcher;

use super::scan::{Job, Scanned, Take, scan, searcher};
use crate::workspace::Error;
use crate::workspace::walk::{Contents, Directory};

/// What became of a file.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was looked through.
    Scanned {
        /// Bytes of it.
        size: u64,
        /// What was found.
        scanned: Scanned,
    },
    /// It was passed over, and is counted.
    Skipped {
        /// Bytes of it, as far as is known.
        size: u64,
        /// Why.
        reason: Reason,
    },
    /// It is no file any more: it counts nowhere.
    Gone,
    /// Nobody looked at it yet.
    Deferred,
    /// The search can't go on.
    Failed(Error),
}

impl Outcome {
    /// Bytes that the matches kept of it take in a page.
    pub(super) fn kept_bytes(&self) -> u64 {
        match self {
            Outcome::Scanned { scanned, .. } => scanned.kept_bytes(),
            Outcome::Skipped { .. } | Outcome::Gone | Outcome::Deferred | Outcome::Failed(_) => 0,
        }
    }
}

/// Why a file is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    TooLarge,
    Binary,
    NotUtf8,
    Unreadable,
}

/// What one thread needs to look at files: one buffer and one searcher, used again for each.
pub(super) struct Hand<'j> {
    job: Job<'j>,
    searcher: Searcher,
    buffer: Vec<u8>,
}

impl<'j> Hand<'j> {
    pub(super) fn new(job: Job<'j>) -> Self {
        Self { job, searcher: searcher(), buffer: Vec::new() }
    }

    /// Looks at the file of that path, whose last component is its name in `directory`.
    pub(super) fn examine(&mut self, directory: &Directory, path: &str, take: Take) -> Outcome {
        if (self.job.stop)() {
            return Outcome::Deferred;
        }
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name).as_bytes();
        match directory.read_file(name, SEARCH_FILE_MAX_BYTES, &mut self.buffer) {
            Ok(Contents::Whole) => self.look(path, take),
            Ok(Contents::TooLarge(size)) => Outcome::Skipped { size, reason: Reason::TooLarge },
            Ok(Contents::NotRegular) => Outcome::Gone,
            Err(Error::NotFound) => Outcome::Gone,
            Err(error) if error.is_exhaustion() => Outcome::Failed(error),
            Err(_) => {
                let size = directory.stat(name).map_or(0, |facts| facts.size);
                let reason = if size > SEARCH_FILE_MAX_BYTES { Reason::TooLarge } else { Reason::Unreadable };
                Outcome::Skipped { size, reason }
            }
        }
    }

    fn look(&mut self, path: &str, take: Take) -> Outcome {
        let size = self.buffer.len() as u64;
        let begin = &self.buffer[..self.buffer.len().min(SEARCH_BINARY_WINDOW_BYTES)];
        if memchr::memchr(0, begin).is_some() {
            return Outcome::Skipped { size, reason: Reason::Binary };
        }
        let Ok(text) = simdutf8::basic::from_utf8(&self.buffer) else {
            return Outcome::Skipped { size, reason: Reason::NotUtf8 };
        };
        let scanned = scan(self.job, &mut self.searcher, path, text, take);
        // A scan that was told to stop says nothing.
        if (self.job.stop)() { Outcome::Deferred } else { Outcome::Scanned { size, scanned } }
    }
}
