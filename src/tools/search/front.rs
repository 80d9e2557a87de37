//! The ordered side of a search: what was found, taken in walk order, until the page is decided or a limit is reached.

use axlr_protocol::tool::{Match, SearchOutput, Skipped};
use axlr_protocol::{EventBody, limits};

use super::Search;
use super::file::{Outcome, Reason};
use super::scan::{Found, Scanned, Take};
use crate::cancel::Cancel;
use crate::tools::check::fault_at;
use crate::tools::outbox::Outbox;
use crate::tools::page::{Page, Turn};
use crate::tools::tour::cancelled;
use crate::tools::{Error, Events};

/// Counts, limits and the page. However many threads read ahead, only what is taken here is part of the answer.
pub(super) struct Front<'s> {
    search: &'s Search,
    cancel: &'s Cancel,
    page: Page,
    outbox: Outbox<'s, Match>,
    output: SearchOutput,
    bytes: u64,
    skipped: Skipped,
}

/// Whether the search goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// The next file is wanted.
    On,
    /// The page is decided, or a limit reached.
    Decided,
}

/// A file, or what stands for one, in walk order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'p> {
    /// Its path.
    pub(super) path: &'p str,
    /// How many entries the ignore files left out before it.
    pub(super) ignored: u64,
}

impl<'s> Front<'s> {
    pub(super) fn new(search: &'s Search, cancel: &'s Cancel, events: Option<&'s Events>) -> Self {
        Self {
            search,
            cancel,
            page: Page::new(search.offset, search.max_results, search.max_bytes),
            outbox: Outbox::new(events, cancel, |matches| EventBody::Matches { matches }),
            output: SearchOutput::default(),
            bytes: 0,
            skipped: Skipped::default(),
        }
    }

    /// What is wanted of the very next file: the rest of the page, and one match more to know that more follow.
    pub(super) fn take(&self) -> Take {
        Take {
            skip: self.page.to_pass(),
            most_items: self.page.room() + 1,
            most_bytes: self.search.max_bytes,
            count_to: 0,
        }
    }

    /// How many matches still lie before the page.
    pub(super) fn to_pass(&self) -> u64 {
        self.page.to_pass()
    }

    /// Bytes of the files so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Files so far, scanned and skipped.
    pub(super) fn files(&self) -> u64 {
        self.output.files_scanned + self.output.files_skipped
    }

    /// Takes the next file in walk order. `examine` looks at it, now, when nobody did or not enough of it was kept.
    ///
    /// # Errors
    /// `Cancelled`; `Filesystem` when descriptors or memory ran out.
    pub(super) fn admit(
        &mut self,
        position: Position<'_>,
        outcome: Outcome,
        examine: &mut dyn FnMut(Take) -> Outcome,
    ) -> Result<Flow, Error> {
        if self.cancel.is_cancelled() {
            return Err(cancelled());
        }
        let is_enough = match &outcome {
            Outcome::Scanned { scanned, .. } => scanned.reaches(self.page.to_pass()),
            Outcome::Deferred => false,
            Outcome::Skipped { .. } | Outcome::Gone | Outcome::Failed(_) => true,
        };
        let outcome = if is_enough { outcome } else { examine(self.take()) };
        let flow = match outcome {
            Outcome::Scanned { size, scanned } => {
                if self.is_at_limit(position, size) {
                    return Ok(Flow::Decided);
                }
                self.output.files_scanned += 1;
                self.admit_matches(scanned)
            }
            Outcome::Skipped { size, reason } => {
                if self.is_at_limit(position, size) {
                    return Ok(Flow::Decided);
                }
                self.output.files_skipped += 1;
                self.note(position.path, reason);
                Flow::On
            }
            Outcome::Gone => Flow::On,
            Outcome::Failed(error) => return Err(fault_at(position.path, error)),
            // Only a cancellation leaves a file unexamined that was asked for.
            Outcome::Deferred => return Err(cancelled()),
        };
        self.output.files_ignored = Some(position.ignored);
        self.tick()?;
        Ok(flow)
    }

    /// Sends what is due to be streamed.
    ///
    /// # Errors
    /// `Cancelled` when nobody listens any more.
    pub(super) fn tick(&mut self) -> Result<(), Error> {
        let SearchOutput { files_scanned, files_skipped, .. } = self.output;
        self.outbox.tick(|| EventBody::SearchProgress { files_scanned, files_skipped })
    }

    /// Ends at the end of the walk, or at its limit.
    pub(super) fn close(&mut self, ignored: u64, limit_reached: bool) {
        self.output.files_ignored = Some(ignored);
        self.output.limit_reached = limit_reached;
    }

    /// The answer.
    ///
    /// # Errors
    /// `Cancelled` when the last matches could not be sent any more.
    pub(super) fn finish(self) -> Result<SearchOutput, Error> {
        let mut output = self.output;
        output.matches = self.outbox.finish()?;
        output.next_offset = self.page.next_offset();
        output.truncated = self.page.has_more() || output.limit_reached;
        output.files_ignored = self.search.ignore_files.then_some(output.files_ignored.unwrap_or(0));
        output.skipped = self.search.explain.then_some(self.skipped);
        Ok(output)
    }

    /// Whether one more file passes a limit. Files over the size limit are not part of the sum.
    fn is_at_limit(&mut self, position: Position<'_>, size: u64) -> bool {
        let counted = if size > limits::SEARCH_FILE_MAX_BYTES { 0 } else { size };
        if self.files() >= limits::SEARCH_MAX_FILES || self.bytes + counted > limits::SEARCH_MAX_BYTES {
            self.close(position.ignored, true);
            return true;
        }
        self.bytes += counted;
        false
    }

    fn admit_matches(&mut self, scanned: Scanned) -> Flow {
        let to_pass = self.page.to_pass();
        self.page.pass(scanned.count);
        for Found { item, size } in scanned.kept_behind(to_pass) {
            if self.page.turn() != Turn::Wanted || !self.page.admit(size) {
                return Flow::Decided;
            }
            self.outbox.push(item, size);
        }
        Flow::On
    }

    fn note(&mut self, path: &str, reason: Reason) {
        let files = match reason {
            Reason::TooLarge => &mut self.skipped.too_large,
            Reason::Binary => &mut self.skipped.binary,
            Reason::NotUtf8 => &mut self.skipped.not_utf8,
            Reason::Unreadable => &mut self.skipped.unreadable,
        };
        files.count += 1;
        if files.paths.len() < limits::SKIPPED_SAMPLES_MAX {
            files.paths.push(path.to_owned());
        }
    }
}
