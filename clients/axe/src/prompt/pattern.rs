//! Patterns of context files.
//!
//! A pattern is a path of segments. `*`, `?` and `[…]` match within one segment, `\` takes the next character as it
//! is, and a segment `**` stands for any number of directories, none included. A name that begins with a dot is
//! nothing special.

use std::str::Chars;

/// A pattern that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
    leaves_workdir: bool,
}

/// One part between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Just this name.
    Name(String),
    /// Any name that this matches.
    Wild(Vec<Item>),
    /// Any number of directories.
    AnyDepth,
}

/// One step of a match within a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Char(char),
    AnyChar,
    AnyText,
    OneOf { ranges: Vec<(char, char)>, is_negated: bool },
}

/// A pattern that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid files pattern {pattern:?}: {rule}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What it breaks.
    pub rule: &'static str,
}

impl Pattern {
    /// Understands a pattern. A leading slash and `.` segments mean nothing: every pattern starts at the workdir.
    ///
    /// # Errors
    /// A `[` is not closed or empty, a range runs backwards, or the pattern ends in the middle of an escape.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let fault = |rule| PatternError { pattern: text.to_owned(), rule };
        let mut segments = Vec::new();
        let mut leaves_workdir = false;
        for part in text.split('/').filter(|part| !matches!(*part, "" | ".")) {
            match part {
                ".." if segments.pop().is_none() => leaves_workdir = true,
                ".." => {}
                // Twice in a row means no more than once.
                "**" if segments.last() == Some(&Segment::AnyDepth) => {}
                "**" => segments.push(Segment::AnyDepth),
                part => segments.push(segment(part).map_err(fault)?),
            }
        }
        Ok(Self { segments, leaves_workdir })
    }

    /// Whether it points out of the workdir, where nothing matches.
    pub fn leaves_workdir(&self) -> bool {
        self.leaves_workdir
    }

    /// Whether a path below the workdir, with slashes between its names, matches.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<_> = path.split('/').collect();
        !self.leaves_workdir && match_segments(&self.segments, &names)
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl Segment {
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Wild(items) => match_items(items, name),
            Self::AnyDepth => true,
        }
    }
}

fn match_segments(segments: &[Segment], names: &[&str]) -> bool {
    match (segments, names) {
        ([], rest) => rest.is_empty(),
        ([Segment::AnyDepth], rest) => !rest.is_empty(),
        ([Segment::AnyDepth, after @ ..], names) => {
            (0..names.len()).any(|skipped| match_segments(after, &names[skipped..]))
        }
        ([segment, after @ ..], [name, rest @ ..]) => segment.matches(name) && match_segments(after, rest),
        (_, []) => false,
    }
}

/// Greedy with one place to go back to: the last `*` decides, so that no name takes more than quadratic time.
fn match_items(items: &[Item], name: &str) -> bool {
    let (mut items_left, mut name_left) = (items, name.chars());
    let mut retry: Option<(&[Item], Chars<'_>)> = None;
    loop {
        if let Some((Item::AnyText, after)) = items_left.split_first() {
            retry = Some((after, name_left.clone()));
            items_left = after;
            continue;
        }
        let next = name_left.clone().next();
        match (items_left.split_first(), next) {
            (None, None) => return true,
            (Some((item, after)), Some(c)) if item.accepts(c) => {
                items_left = after;
                name_left.next();
            }
            _ => {
                let Some((after, chars)) = &mut retry else { return false };
                if chars.next().is_none() {
                    return false;
                }
                items_left = after;
                name_left = chars.clone();
            }
        }
    }
}

impl Item {
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Char(own) => *own == c,
            Self::AnyChar => true,
            Self::AnyText => false,
            Self::OneOf { ranges, is_negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *is_negated
            }
        }
    }
}

fn segment(part: &str) -> Result<Segment, &'static str> {
    let mut items = Vec::new();
    let mut rest = part.chars();
    while let Some(c) = rest.next() {
        items.push(match c {
            '*' => Item::AnyText,
            '?' => Item::AnyChar,
            '[' => class(&mut rest)?,
            '\\' => Item::Char(rest.next().ok_or("it ends in the middle of an escape")?),
            c => Item::Char(c),
        });
    }
    let name: Option<String> = items
        .iter()
        .map(|item| match item {
            Item::Char(c) => Some(*c),
            Item::AnyChar | Item::AnyText | Item::OneOf { .. } => None,
        })
        .collect();
    Ok(name.map_or(Segment::Wild(items), Segment::Name))
}

/// What stands between `[` and `]`.
fn class(rest: &mut Chars<'_>) -> Result<Item, &'static str> {
    const OPEN: &str = "a [ is not closed";
    let is_negated = rest.as_str().starts_with('^');
    if is_negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let low = match rest.next().ok_or(OPEN)? {
            ']' if ranges.is_empty() => return Err("a [] is empty"),
            ']' => return Ok(Item::OneOf { ranges, is_negated }),
            '-' => return Err("a range in [] has no beginning"),
            '\\' => rest.next().ok_or(OPEN)?,
            c => c,
        };
        let mut high = low;
        if rest.as_str().starts_with('-') {
            rest.next();
            high = match rest.next().ok_or(OPEN)? {
                ']' | '-' => return Err("a range in [] has no end"),
                '\\' => rest.next().ok_or(OPEN)?,
                c => c,
            };
        }
        if high < low {
            return Err("a range in [] runs backwards");
        }
        ranges.push((low, high));
    }
}
