//! Go's `path.Match`, parsed once and matched many times.
//!
//! A pattern matches the whole name. `*` stands for any run of characters but `/`, `?` for one character but `/`,
//! `[a-z]` and `[^a-z]` for one character of a class (a `/` too, when the class has it), `\` takes the next character
//! literally. A malformed pattern is an error whatever the name is.
//!
//! Source: <https://pkg.go.dev/path#Match>, SPEC §3.7.

use std::iter::Peekable;
use std::str::Chars;

/// A well-formed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    chunks: Vec<Chunk>,
}

/// Why a pattern is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternFault {
    /// Nothing follows a `\`.
    #[error("nothing follows its last `\\`")]
    TrailingBackslash,
    /// A `[` without its `]`.
    #[error("a `[` has no closing `]`")]
    UnclosedClass,
    /// A class or one side of a range is empty.
    #[error("a character class is empty, or a `-` or `]` in it is not escaped with `\\`")]
    ClassRange,
}

/// What stands between two runs of `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunk {
    /// Whether a `*` stands before it.
    starred: bool,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Literal(String),
    AnyCharacter,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl PathPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A [`PatternFault`] for what Go calls a syntax error in the pattern.
    pub fn parse(pattern: &str) -> Result<Self, PatternFault> {
        let mut chunks: Vec<Chunk> = Vec::new();
        let mut rest = pattern.chars().peekable();
        while let Some(next) = rest.next() {
            if next == '*' {
                if chunks.last().is_none_or(|chunk| !chunk.starred || !chunk.terms.is_empty()) {
                    chunks.push(Chunk { starred: true, terms: Vec::new() });
                }
                continue;
            }
            if chunks.is_empty() {
                chunks.push(Chunk { starred: false, terms: Vec::new() });
            }
            let Some(chunk) = chunks.last_mut() else { continue };
            match next {
                '?' => chunk.terms.push(Term::AnyCharacter),
                '[' => chunk.terms.push(parse_class(&mut rest)?),
                '\\' => chunk.push_literal(rest.next().ok_or(PatternFault::TrailingBackslash)?),
                literal => chunk.push_literal(literal),
            }
        }
        Ok(Self { chunks })
    }

    /// Whether the pattern matches the whole name.
    ///
    /// Each chunk takes the first place where it fits, as in Go, so the work is at most the product of the lengths.
    pub fn matches(&self, name: &str) -> bool {
        let mut rest = name.as_bytes();
        for (index, chunk) in self.chunks.iter().enumerate() {
            let is_last = index + 1 == self.chunks.len();
            match chunk.find(rest, is_last) {
                Some(after) => rest = after,
                None => return false,
            }
        }
        rest.is_empty()
    }
}

impl Chunk {
    fn push_literal(&mut self, character: char) {
        if let Some(Term::Literal(text)) = self.terms.last_mut() {
            text.push(character);
        } else {
            self.terms.push(Term::Literal(character.to_string()));
        }
    }

    /// What is left of `name` after the first place where the chunk fits. The last chunk must leave nothing.
    fn find<'a>(&self, name: &'a [u8], is_last: bool) -> Option<&'a [u8]> {
        if self.starred && is_last && self.terms.len() <= 1 {
            // `*` and `*.go`, by far the most common patterns, need no walk.
            match self.terms.first() {
                None => return (!name.contains(&b'/')).then_some(&[]),
                Some(Term::Literal(text)) => {
                    let skipped = name.strip_suffix(text.as_bytes())?;
                    return (!skipped.contains(&b'/')).then_some(&[]);
                }
                Some(_) => {}
            }
        }
        // A `*` skips bytes and not characters, in Go too: what stands at the second byte of a character counts as
        // one U+FFFD, so `*[^é]` matches `é`.
        for skipped in 0..=name.len() {
            if let Some(after) = self.strip_from(&name[skipped..])
                && (after.is_empty() || !is_last)
            {
                return Some(after);
            }
            if !self.starred || name.get(skipped) == Some(&b'/') {
                return None;
            }
        }
        None
    }

    /// What is left of `name` when it begins with the chunk.
    fn strip_from<'a>(&self, mut name: &'a [u8]) -> Option<&'a [u8]> {
        for term in &self.terms {
            name = match term {
                Term::Literal(text) => name.strip_prefix(text.as_bytes())?,
                Term::AnyCharacter => {
                    let (character, width) = first_character(name)?;
                    if character == '/' {
                        return None;
                    }
                    &name[width..]
                }
                Term::Class { negated, ranges } => {
                    let (character, width) = first_character(name)?;
                    let is_listed = ranges.iter().any(|&(low, high)| low <= character && character <= high);
                    if is_listed == *negated {
                        return None;
                    }
                    &name[width..]
                }
            };
        }
        Some(name)
    }
}

/// Parses what follows a `[`, its `]` included.
fn parse_class(rest: &mut Peekable<Chars>) -> Result<Term, PatternFault> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        if !ranges.is_empty() && rest.next_if_eq(&']').is_some() {
            return Ok(Term::Class { negated, ranges });
        }
        let low = parse_class_character(rest)?;
        let high = if rest.next_if_eq(&'-').is_some() { parse_class_character(rest)? } else { low };
        ranges.push((low, high));
    }
}

/// Parses one side of a range. A class never ends here, so the end of the pattern is a fault.
fn parse_class_character(rest: &mut Peekable<Chars>) -> Result<char, PatternFault> {
    match rest.next().ok_or(PatternFault::UnclosedClass)? {
        '-' | ']' => Err(PatternFault::ClassRange),
        '\\' => rest.next().ok_or(PatternFault::TrailingBackslash),
        character => Ok(character),
    }
}

/// The first character of `name` and its width in bytes; U+FFFD and 1 within a character.
fn first_character(name: &[u8]) -> Option<(char, usize)> {
    let width = match *name.first()? {
        0..=0x7F => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
        0x80..=0xBF => return Some((char::REPLACEMENT_CHARACTER, 1)),
    };
    let character = name.get(..width).and_then(|bytes| std::str::from_utf8(bytes).ok()?.chars().next());
    Some(character.map_or((char::REPLACEMENT_CHARACTER, 1), |character| (character, width)))
}

#[cfg(test)]
mod tests;
