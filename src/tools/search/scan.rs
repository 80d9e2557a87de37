//! The matching lines of one text.

use std::io;

use axlr_protocol::tool::Match;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use super::excerpt::{Hit, next_line, without_end};
use super::pattern::Compiled;
use crate::tools::page::page_size;

/// How much of a text's matches is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Take {
    /// Matches to count without keeping them.
    pub(super) skip: u64,
    /// How many to keep behind those.
    pub(super) most_items: u64,
    /// Nothing more is kept once what was kept passes this, and is more than one.
    pub(super) most_bytes: u64,
    /// When nothing more is kept, matches are still counted up to this number.
    pub(super) count_to: u64,
}

/// What was found in a text.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// Matches counted, those skipped and kept included.
    pub(super) count: u64,
    /// Matches skipped.
    skipped: u64,
    /// Matches kept: those behind the skipped ones, without a gap.
    found: Vec<Found>,
}

/// One match and what it counts in a page.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) item: Match,
    pub(super) size: u64,
}

impl Scanned {
    /// Whether what a page needs is known when so many of the matches lie before it: that there are no more, or what
    /// follows them.
    pub(super) fn reaches(&self, to_pass: u64) -> bool {
        let is_all_kept = self.skipped + self.found.len() as u64 == self.count;
        self.count <= to_pass || self.skipped == to_pass || (self.skipped < to_pass && is_all_kept)
    }

    /// The matches behind so many, which [`Scanned::reaches`].
    pub(super) fn kept_behind(self, to_pass: u64) -> impl Iterator<Item = Found> {
        let before = usize::try_from(to_pass.saturating_sub(self.skipped)).unwrap_or(usize::MAX);
        self.found.into_iter().skip(before)
    }

    /// Bytes that the kept matches take in a page.
    pub(super) fn kept_bytes(&self) -> u64 {
        self.found.iter().map(|found| found.size).sum()
    }
}

/// What is the same for every text of a search.
#[derive(Clone, Copy)]
pub(super) struct Job<'j> {
    pub(super) pattern: &'j Compiled,
    /// Lines of context on either side.
    pub(super) context: usize,
    /// Asked once a line; when it says yes the scan ends at once.
    pub(super) stop: &'j (dyn Fn() -> bool + Sync),
}

/// What looks for candidate lines; one a thread, reused.
pub(super) fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .bom_sniffing(false)
        .binary_detection(BinaryDetection::none())
        .build()
}

/// Looks through a text, line by line in effect: candidates are sought in the whole text where the pattern allows it,
/// and the exact pattern decides each.
pub(super) fn scan(job: Job<'_>, searcher: &mut Searcher, path: &str, text: &str, take: Take) -> Scanned {
    let mut scan = Scan { job, path, text, take, scanned: Scanned::default(), kept_bytes: 0 };
    match job.pattern.candidates() {
        Some(candidates) => {
            // The sink raises no error, the text is in memory, and both sides end lines with `\n`.
            let _ = searcher.search_slice(candidates, text.as_bytes(), &mut scan);
        }
        None => scan.each_line(),
    }
    scan.scanned
}

struct Scan<'s> {
    job: Job<'s>,
    path: &'s str,
    text: &'s str,
    take: Take,
    scanned: Scanned,
    kept_bytes: u64,
}

impl Scan<'_> {
    fn each_line(&mut self) {
        let mut start = 0;
        let mut number = 0;
        while start < self.text.len() {
            let end = start + next_line(&self.text[start..]);
            number += 1;
            if !self.line(start, end, number) {
                return;
            }
            start = end;
        }
    }

    /// Looks at one line, its line end included; `false` when nothing more is wanted.
    fn line(&mut self, start: usize, end: usize, number: u64) -> bool {
        if (self.job.stop)() {
            return false;
        }
        let line = without_end(&self.text[start..end]);
        let Some((at, _)) = self.job.pattern.find_line(line.as_bytes()) else { return true };
        self.scanned.count += 1;
        if self.scanned.count <= self.take.skip {
            self.scanned.skipped += 1;
            return true;
        }
        if !self.is_full() {
            let hit = Hit { text: self.text, start, end: start + line.len(), number, at };
            let item = hit.report(self.path, self.job.context);
            let size = page_size(&item);
            self.kept_bytes += size;
            self.scanned.found.push(Found { item, size });
        }
        !self.is_full() || self.scanned.count < self.take.count_to
    }

    fn is_full(&self) -> bool {
        let kept = self.scanned.found.len();
        kept as u64 >= self.take.most_items || (kept > 1 && self.kept_bytes > self.take.most_bytes)
    }
}

impl Sink for &mut Scan<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, line: &SinkMatch<'_>) -> Result<bool, io::Error> {
        // A slice is searched, so its offsets are those of the text.
        let start = line.absolute_byte_offset() as usize;
        let number = line.line_number().unwrap_or_default();
        Ok(self.line(start, start + line.bytes().len(), number))
    }
}

#[cfg(test)]
mod tests;
