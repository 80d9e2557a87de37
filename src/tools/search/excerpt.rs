//! How a line, with its surroundings, is shown in an answer.

use axlr_protocol::limits::{LINE_LEAD_BYTES, LINE_MAX_BYTES, LINE_SHIFT_BYTES};
use axlr_protocol::tool::Match;

/// A matching line of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<'t> {
    /// The whole text.
    pub(super) text: &'t str,
    /// Where the line begins.
    pub(super) start: usize,
    /// Where it ends, without its line end.
    pub(super) end: usize,
    /// The line's number, from 1.
    pub(super) number: u64,
    /// Where the match begins in the line, from 0.
    pub(super) at: usize,
}

impl Hit<'_> {
    /// The match as it is reported, with `context` lines on either side.
    pub(super) fn report(&self, path: &str, context: usize) -> Match {
        let (text, truncated) = excerpt(&self.text[self.start..self.end], self.at);
        Match {
            path: path.to_owned(),
            line: self.number,
            column: self.at as u64 + 1,
            text,
            before: self.before(context),
            after: self.after(context),
            truncated,
        }
    }

    fn before(&self, context: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = &self.text[..self.start];
        while lines.len() < context && !rest.is_empty() {
            let begin =
                memchr::memrchr(b'\n', &rest.as_bytes()[..rest.len() - 1]).map_or(0, |index| index + 1);
            lines.push(excerpt(without_end(&rest[begin..]), 0).0);
            rest = &rest[..begin];
        }
        lines.reverse();
        lines
    }

    fn after(&self, context: usize) -> Vec<String> {
        let behind = &self.text[self.end..];
        let mut rest = &behind[next_line(behind)..];
        let mut lines = Vec::new();
        while lines.len() < context && !rest.is_empty() {
            let (line, behind) = rest.split_at(next_line(rest));
            lines.push(excerpt(without_end(line), 0).0);
            rest = behind;
        }
        lines
    }
}

/// Where the line after the first one begins.
pub(super) fn next_line(text: &str) -> usize {
    memchr::memchr(b'\n', text.as_bytes()).map_or(text.len(), |index| index + 1)
}

/// A line without its `\n` or `\r\n`, or the `\r` that ends the file.
///
/// Source: SPEC §3.5.
pub(super) fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// A line that is too long is cut to a window at character boundaries, around a match that begins far behind. Each cut
/// end is marked. Says whether it was cut.
///
/// Source: SPEC §3.5.
fn excerpt(line: &str, at: usize) -> (String, bool) {
    if line.len() <= LINE_MAX_BYTES {
        return (line.to_owned(), false);
    }
    let mut start = if at > LINE_SHIFT_BYTES { at - LINE_LEAD_BYTES } else { 0 };
    while !line.is_char_boundary(start) {
        start += 1;
    }
    let mut end = line.len().min(start + LINE_MAX_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let mut text = String::with_capacity(LINE_MAX_BYTES + 2 * '…'.len_utf8());
    if start > 0 {
        text.push('…');
    }
    text.push_str(&line[start..end]);
    if end < line.len() {
        text.push('…');
    }
    (text, true)
}

#[cfg(test)]
mod tests;
