//! Where text that does not occur nearly occurs, and what is different there.
//!
//! Both texts are folded: case, indentation, white space at line ends and the amount of white space elsewhere go, each
//! byte that is left knows where it came from. The longest beginning (or end) of the folded wanted text that occurs in
//! the folded file is the closest place; where neither end is alike, the longest line or word of it that occurs. From
//! there the raw texts are compared. The longest beginning is found by bisection, so the cost is that of some seventy
//! linear searches at most, whatever the texts are.

use std::cmp::Reverse;
use std::ops::Range;

use memchr::memmem;

use crate::tools::check;

/// So many folded bytes in common are a candidate, and half of a shorter text.
const CANDIDATE_BYTES: usize = 8;

/// How many lines and words from the midst of a text are looked for, the longest first.
const MIDST_PIECES: usize = 32;

/// How much of either text a difference shows, in characters.
const EXCERPT_CHARS: usize = 24;

/// Says where `wanted`, which does not occur in `text`, nearly occurs.
pub(super) fn describe(text: &str, wanted: &str) -> Option<String> {
    let Place { text: begin, wanted: skipped, difference: (at, from) } = closest(text, wanted)?;
    let candidate = line_at(text, begin).saturating_sub(lines_before(wanted, skipped)).max(1);
    let line = line_at(text, at);
    let column = at - text[..at].rfind('\n').map_or(0, |newline| newline + 1) + 1;
    let difference = difference(text, at, wanted, from);
    Some(format!(
        "the closest candidate is on line {candidate}; the first difference is on line {line}, column {column}: \
         {difference}"
    ))
}

/// The 1-based line of a position.
pub(super) fn line_at(text: &str, position: usize) -> usize {
    1 + lines_before(text, position)
}

fn lines_before(text: &str, position: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..position]).count()
}

/// Positions of the two texts that correspond, and where they part.
struct Place {
    text: usize,
    wanted: usize,
    difference: (usize, usize),
}

fn closest(text: &str, wanted: &str) -> Option<Place> {
    let (folded_text, folded_wanted) = (Folded::of(text), Folded::of(wanted));
    let (hay, needle) = (&folded_text.bytes, &folded_wanted.bytes);
    let beginning = longest(needle.len(), |length| memmem::find(hay, &needle[..length]));
    let end = longest(needle.len(), |length| memmem::find(hay, &needle[needle.len() - length..]));
    let is_candidate = |length: usize| is_candidate(length, needle.len());
    match (beginning, end) {
        (Some((length, at)), other)
            if is_candidate(length) && other.is_none_or(|(other, _)| length >= other) =>
        {
            forward(text, wanted, folded_text.origins[at])
        }
        (_, Some((length, at))) if is_candidate(length) => {
            let from = folded_wanted.origins[needle.len() - length];
            backward(text, wanted, folded_text.origins[at], from)
        }
        _ => {
            let (piece, at) =
                pieces(needle).find_map(|piece| Some((piece.start, memmem::find(hay, &needle[piece])?)))?;
            backward(text, wanted, folded_text.origins[at], folded_wanted.origins[piece])
        }
    }
}

fn is_candidate(length: usize, whole: usize) -> bool {
    length >= CANDIDATE_BYTES || length * 2 >= whole
}

/// The lines and words of a folded text that are long enough to mean something, the longest first.
fn pieces(needle: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let text = str::from_utf8(needle).unwrap_or_default();
    let mut pieces = Vec::new();
    let is_line_end = |character: char| character == '\n';
    let is_in_no_word = |character: char| !character.is_alphanumeric() && character != '_';
    for is_border in [&is_line_end as &dyn Fn(char) -> bool, &is_in_no_word] {
        let mut begin = 0;
        for piece in text.split_inclusive(is_border) {
            let length = piece.trim_end_matches(is_border).len();
            pieces.push(begin..begin + length);
            begin += piece.len();
        }
    }
    pieces.retain(|piece| !piece.is_empty() && is_candidate(piece.len(), needle.len()));
    pieces.sort_by_key(|piece| Reverse(piece.len()));
    pieces.into_iter().take(MIDST_PIECES)
}

/// The greatest length that is found, with its place; whatever is found for one length is found for each shorter one.
fn longest(limit: usize, find: impl Fn(usize) -> Option<usize>) -> Option<(usize, usize)> {
    let (mut best, mut least, mut beyond) = (None, 1, limit + 1);
    while least < beyond {
        let length = least + (beyond - least) / 2;
        match find(length) {
            Some(at) => {
                best = Some((length, at));
                least = length + 1;
            }
            None => beyond = length,
        }
    }
    best
}

/// Compares from a place on.
fn forward(text: &str, wanted: &str, at: usize) -> Option<Place> {
    // Folding took the blanks that the wanted text begins with; they count.
    let at = if wanted.starts_with(is_blank) { text[..at].trim_end_matches(is_blank).len() } else { at };
    let mut difference = (at, 0);
    for (have, want) in text[at..].chars().zip(wanted.chars()) {
        if have != want {
            break;
        }
        difference = (difference.0 + have.len_utf8(), difference.1 + want.len_utf8());
    }
    (difference.1 < wanted.len()).then_some(Place { text: at, wanted: 0, difference })
}

/// Compares from a place back.
fn backward(text: &str, wanted: &str, at: usize, from: usize) -> Option<Place> {
    let mut difference = (at, from);
    for (have, want) in text[..at].chars().rev().zip(wanted[..from].chars().rev()) {
        difference = (difference.0 - have.len_utf8(), difference.1 - want.len_utf8());
        if have != want {
            let difference = begin_of_difference(text, wanted, difference);
            return Some(Place { text: at, wanted: from, difference });
        }
    }
    match difference {
        // All that comes before is alike, so the difference is behind.
        (begin, 0) => forward(text, wanted, begin),
        // The file begins in the middle of what is wanted.
        (begin, _) => Some(Place { text: at, wanted: from, difference: (begin, 0) }),
    }
}

/// The first difference on the lines whose last one was found, when the wanted line is known from its beginning.
fn begin_of_difference(text: &str, wanted: &str, last: (usize, usize)) -> (usize, usize) {
    // Where one line is longer towards its beginning, the last difference is the other one's line before.
    let line = |text: &str, at: usize| match text[at..].starts_with('\n') {
        true => Some(at + 1),
        false => text[..at].rfind('\n').map(|newline| newline + 1),
    };
    let Some(wanted_line) = line(wanted, last.1) else { return last };
    let mut first = (line(text, last.0).unwrap_or(0), wanted_line);
    for (have, want) in text[first.0..].chars().zip(wanted[first.1..].chars()) {
        if have != want {
            return first;
        }
        first = (first.0 + have.len_utf8(), first.1 + want.len_utf8());
    }
    last
}

/// What is different where the texts part, in words.
fn difference(text: &str, at: usize, wanted: &str, from: usize) -> String {
    let (have, want) = (&text[at..], &wanted[from..]);
    if have.starts_with("\r\n") && want.starts_with('\n') {
        return "the line ends with CRLF in the file and with LF in old_text".to_owned();
    }
    if have.starts_with('\n') && want.starts_with("\r\n") {
        return "the line ends with LF in the file and with CRLF in old_text".to_owned();
    }
    if have.is_empty() && !want.trim_start_matches(is_space).is_empty() {
        return format!("the file ends where old_text has {}", excerpt(want));
    }
    if have.starts_with(is_space) || want.starts_with(is_space) {
        // The white space may have begun alike.
        let shared = trailing_spaces(&text[..at]).min(trailing_spaces(&wanted[..from]));
        return space_difference(&text[at - shared..], &wanted[from - shared..]);
    }
    match (have.chars().next(), want.chars().next()) {
        (Some(first), Some(other)) if first.to_lowercase().eq(other.to_lowercase()) => {
            format!("the case differs, the file has {} and old_text {}", excerpt(have), excerpt(want))
        }
        _ => format!("the file has {} where old_text has {}", excerpt(have), excerpt(want)),
    }
}

fn space_difference(have: &str, want: &str) -> String {
    let (have_space, have_rest) = have.split_at(have.len() - have.trim_start_matches(is_space).len());
    let (want_space, want_rest) = want.split_at(want.len() - want.trim_start_matches(is_space).len());
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n");
    let (have_name, want_name) = (named(have_space), named(want_space));
    match (ends(have_rest) && ends(want_rest), have_space.is_empty(), want_space.is_empty()) {
        (true, false, true) => format!("the file has trailing space there ({have_name})"),
        (true, true, false) => format!("old_text has trailing space there ({want_name})"),
        (true, ..) => {
            format!("the trailing space differs, the file has {have_name} and old_text {want_name}")
        }
        (false, ..) => format!("the file has {have_name} where old_text has {want_name}"),
    }
}

/// White space in words: "1 tab", "4 spaces", "1 tab and 2 spaces".
fn named(space: &str) -> String {
    let tabs = space.matches('\t').count();
    let spaces = space.len() - tabs;
    let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    match (tabs, spaces) {
        (0, 0) => "no space".to_owned(),
        (tabs, 0) => count(tabs, "tab"),
        (0, spaces) => count(spaces, "space"),
        (tabs, spaces) => format!("{} and {}", count(tabs, "tab"), count(spaces, "space")),
    }
}

fn excerpt(text: &str) -> String {
    let line = text.split('\n').next().unwrap_or_default();
    let end = line.char_indices().nth(EXCERPT_CHARS).map_or(line.len(), |(end, _)| end);
    if line.is_empty() { "a line end".to_owned() } else { check::quoted(&line[..end]) }
}

fn trailing_spaces(text: &str) -> usize {
    text.len() - text.trim_end_matches(is_space).len()
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// What folding takes within a line.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r')
}

/// Text with what people overlook taken out.
struct Folded {
    bytes: Vec<u8>,
    /// Where each byte's character stands in the raw text.
    origins: Vec<usize>,
}

impl Folded {
    fn of(text: &str) -> Self {
        let mut folded =
            Self { bytes: Vec::with_capacity(text.len()), origins: Vec::with_capacity(text.len()) };
        let mut blanks = None;
        for (at, character) in text.char_indices() {
            match character {
                '\n' => {
                    blanks = None;
                    folded.push('\n', at);
                }
                blank if is_blank(blank) => blanks = blanks.or(Some(at)),
                other => {
                    if let Some(begin) = blanks.take()
                        && folded.bytes.last().is_some_and(|last| *last != b'\n')
                    {
                        folded.push(' ', begin);
                    }
                    other.to_lowercase().for_each(|lower| folded.push(lower, at));
                }
            }
        }
        folded
    }

    fn push(&mut self, character: char, at: usize) {
        let mut buffer = [0; 4];
        for byte in character.encode_utf8(&mut buffer).bytes() {
            self.bytes.push(byte);
            self.origins.push(at);
        }
    }
}

#[cfg(test)]
mod tests;
