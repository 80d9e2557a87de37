//! Matches by file, with context that is printed once however matches overlap.

use std::fmt::Write as _;

use axlr_client::tool::Match;

use super::highlight::Highlight;
use crate::command::screen::{Look, Palette};

#[cfg(test)]
mod tests;

/// So wide that lines and their context mostly begin in one column.
const PLACE_WIDTH: usize = 8;

/// What was printed so far.
pub(super) struct Groups {
    has_context: bool,
    pub(super) matches: u64,
    pub(super) files: u64,
    path: Option<String>,
    /// The last printed line of the file.
    last: u64,
    /// Lines after the last match, kept back because the next match may be among them.
    after: Vec<(u64, String)>,
}

impl Groups {
    pub(super) fn new(has_context: bool) -> Groups {
        Groups { has_context, matches: 0, files: 0, path: None, last: 0, after: Vec::new() }
    }

    /// The text that a match adds.
    pub(super) fn add(&mut self, found: &Match, highlight: &Highlight, look: Look) -> String {
        let Palette { path: path_style, number, found: found_style, .. } = look.palette;
        let mut text = String::new();
        if self.path.as_ref() != Some(&found.path) {
            self.flush_after(u64::MAX, look, &mut text);
            if self.files > 0 {
                text.push('\n');
            }
            let _ = writeln!(text, "{path_style}{}{path_style:#}", look.foreign(&found.path));
            (self.path, self.last) = (Some(found.path.clone()), 0);
            self.files += 1;
        }
        self.flush_after(found.line, look, &mut text);
        let first = found.line.saturating_sub(found.before.len() as u64);
        if self.has_context && self.last > 0 && first > self.last + 1 {
            text.push_str("--\n");
        }
        for (line, before) in (first..).zip(&found.before) {
            if line > self.last {
                context(line, before, look, &mut text);
            }
        }
        let range = highlight.find(found).unwrap_or(0..0);
        let parts = [&found.text[..range.start], &found.text[range.clone()], &found.text[range.end..]];
        let [head, middle, tail] = parts.map(|part| look.foreign(part));
        let middle =
            if middle.is_empty() { String::new() } else { format!("{found_style}{middle}{found_style:#}") };
        let place = format!("{}:{}:", found.line, found.column);
        let _ = writeln!(text, "{number}{place:<PLACE_WIDTH$}{number:#} {head}{middle}{tail}");
        self.last = found.line;
        self.after = (found.line + 1..).zip(found.after.iter().cloned()).collect();
        self.matches += 1;
        text
    }

    /// The text that is left.
    pub(super) fn finish(&mut self, look: Look) -> String {
        let mut text = String::new();
        self.flush_after(u64::MAX, look, &mut text);
        text
    }

    /// Prints what was kept back, up to the line before `end`.
    fn flush_after(&mut self, end: u64, look: Look, text: &mut String) {
        for (line, after) in std::mem::take(&mut self.after) {
            if line < end {
                context(line, &after, look, text);
                self.last = line;
            }
        }
    }
}

fn context(line: u64, content: &str, look: Look, text: &mut String) {
    let Palette { faint, .. } = look.palette;
    let place = format!("{line}-");
    let _ = writeln!(text, "{faint}{place:<PLACE_WIDTH$} {}{faint:#}", look.foreign(content));
}
