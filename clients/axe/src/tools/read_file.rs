//! `read_file`.

use axlr_client::{CallError, Workspace};
use memchr::memchr;

use super::limits::{BINARY_WINDOW_BYTES, READ_LINES_DEFAULT, READ_OUTPUT_MAX_BYTES, READ_PAGE_BYTES};
use super::toolbox::refusal;
use super::{Input, Outcome, Toolbox};
use crate::runtime::{self, read_page};

pub(super) async fn run(tools: &Toolbox, input: Input<'_>) -> Result<Outcome, runtime::Error> {
    let window =
        input.count("offset", 1).and_then(|first| Ok((first, input.count("limit", READ_LINES_DEFAULT)?)));
    let (first, limit) = match window {
        Ok(window) => window,
        Err(outcome) => return Ok(outcome),
    };
    let target = match tools.target(input, false).await? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let lines = Lines { first, last: first.saturating_add(limit - 1), ..Lines::default() };
    let summary = target.summary();
    Ok(match lines.read(&target.workspace, &target.path).await {
        Ok(lines) => lines.outcome(summary),
        Err(Failure::Binary) => Outcome::error("binary file detected", summary),
        Err(Failure::Refused(error)) => refusal(&error, summary),
    })
}

enum Failure {
    Binary,
    Refused(CallError),
}

/// A window of lines, gathered page by page: what lies before it is counted and not kept, what lies behind it not read.
#[derive(Default)]
struct Lines {
    first: u64,
    last: u64,
    /// Lines that have begun.
    seen: u64,
    /// Whether the line `seen` goes on.
    is_open: bool,
    /// Lines of the window that have begun.
    taken: u64,
    text: Vec<u8>,
    is_cut: bool,
}

impl Lines {
    async fn read(mut self, workspace: &Workspace, path: &str) -> Result<Self, Failure> {
        let mut offset = Some(0);
        while let Some(at) = offset {
            let page = read_page(workspace, path, at, READ_PAGE_BYTES).await.map_err(Failure::Refused)?;
            let window = &page.bytes[..page.bytes.len().min(BINARY_WINDOW_BYTES)];
            if at == 0 && memchr(0, window).is_some() {
                return Err(Failure::Binary);
            }
            self.push(&page.bytes);
            offset = page.next.filter(|_| !self.is_full());
        }
        Ok(self)
    }

    fn is_full(&self) -> bool {
        self.is_cut || self.seen > self.last || (self.seen == self.last && !self.is_open)
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_full() {
            if !self.is_open {
                self.begin();
            }
            let end = memchr(b'\n', bytes);
            let (line, rest) = match end {
                Some(end) => (&bytes[..end], &bytes[end + 1..]),
                None => (bytes, &[][..]),
            };
            if self.seen >= self.first {
                self.keep(line);
            }
            self.is_open = end.is_none();
            bytes = rest;
        }
    }

    fn begin(&mut self) {
        self.seen += 1;
        if self.seen >= self.first {
            let separator = if self.taken > 0 { "\n" } else { "" };
            self.text.extend_from_slice(format!("{separator}{}: ", self.seen).as_bytes());
            self.taken += 1;
        }
    }

    fn keep(&mut self, line: &[u8]) {
        let room = READ_OUTPUT_MAX_BYTES.saturating_sub(self.text.len());
        self.is_cut = line.len() > room;
        self.text.extend_from_slice(&line[..line.len().min(room)]);
    }

    fn outcome(self, summary: String) -> Outcome {
        // An empty file has no first line, and that is no error.
        if self.taken == 0 && self.first > 1 {
            let message = format!("offset {} exceeds file length of {} lines", self.first, self.seen);
            return Outcome::error(message, summary);
        }
        let mut text = String::from_utf8_lossy(&self.text).into_owned();
        if self.is_cut {
            text.push_str("\n... [output truncated, exceeded 1MB; use offset and limit]");
        }
        Outcome::success(text, format!("{summary} ({} lines)", self.taken))
    }
}
