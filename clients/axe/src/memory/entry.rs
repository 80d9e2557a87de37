//! The text of a memory: where its entries begin, and how one is written.

use std::time::SystemTime;

use crate::limits;
use crate::text::cut;

const HEADING: &str = "## ";
const NOTHING: &str = "(none)";

/// The text of a memory and where its entries begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    text: String,
    starts: Vec<usize>,
}

impl Entries {
    /// Finds the entries: each begins with a line that is `## ` and a time. Other headings are a part of results.
    pub fn parse(text: impl Into<String>) -> Self {
        let text = text.into();
        let mut starts = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if is_heading(line) {
                starts.push(at);
            }
            at += line.len();
        }
        Self { text, starts }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Everything.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The newest `n`; everything when there are no more than that.
    pub fn newest(&self, n: usize) -> &str {
        &self.text[self.start_of_newest(n)..]
    }

    /// The text with only the newest `n` entries. What stands before the first entry was written by hand and stays.
    pub(super) fn trimmed_to(&self, n: usize) -> String {
        let first = self.starts.first().copied().unwrap_or(self.text.len());
        let kept = self.start_of_newest(n).max(first);
        format!("{}{}", &self.text[..first], &self.text[kept..])
    }

    fn start_of_newest(&self, n: usize) -> usize {
        match self.count().checked_sub(n) {
            None | Some(0) => 0,
            Some(older) => self.starts.get(older).copied().unwrap_or(self.text.len()),
        }
    }
}

/// The text of a new entry.
pub(super) fn entry(now: SystemTime, task: &str, result: &str) -> String {
    let time = humantime::format_rfc3339_seconds(now);
    let task = task.replace("\r\n", " ").replace(['\n', '\r'], " ");
    let task = if task.is_empty() { NOTHING } else { &task };
    let kept = cut(result, limits::MEMORY_RESULT_MAX_BYTES);
    let dots = if kept.len() < result.len() { "..." } else { "" };
    let kept = if kept.is_empty() { NOTHING.to_owned() } else { escape_headings(kept) };
    format!("{HEADING}{time}\n**Task:** {task}\n**Result:** {kept}{dots}\n\n")
}

/// A result that quotes a memory must not begin an entry. One blank keeps the heading one for Markdown.
fn escape_headings(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let blank = if is_heading(line) { " " } else { "" };
        format!("{blank}{line}")
    });
    lines.collect()
}

fn is_heading(line: &str) -> bool {
    let time = line.strip_prefix(HEADING).map(str::trim_end);
    time.is_some_and(|time| humantime::parse_rfc3339(time).is_ok())
}
