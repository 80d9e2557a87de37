//! From the text of a pattern to its pieces: one pass, no recursion, so that no pattern can exhaust the stack.

use super::error::{PatternError, SyntaxFault};
use super::escape::{self, until};
use super::flags::{self, Flags, Opening};
use super::names::Names;
use super::piece::{Anchor, Counts, Piece};
use super::{EXPANDED_MAX_INSTRUCTIONS, NESTING_MAX, REPEAT_MAX, class, repeat};

/// Parses a pattern.
pub(super) fn parse(
    pattern: &str,
    ignore_case: bool,
    cancel: &dyn Fn() -> bool,
) -> Result<Piece, PatternError> {
    let mut parser = Parser {
        pattern,
        rest: pattern,
        flags: Flags { fold: ignore_case, lazy: false },
        names: Names::default(),
        open: Group::new(false, Flags::default()),
        outer: Vec::new(),
        last_repeat: None,
    };
    while !parser.rest.is_empty() {
        if cancel() {
            return Err(PatternError::Cancelled);
        }
        parser.step()?;
    }
    parser.finish()
}

struct Parser<'a> {
    pattern: &'a str,
    /// What is not parsed yet.
    rest: &'a str,
    flags: Flags,
    names: Names,
    /// The innermost group, or the pattern itself.
    open: Group,
    /// The groups around it, outermost first.
    outer: Vec<Group>,
    /// The repetition just parsed, up to the pattern's end: another one may not follow directly.
    last_repeat: Option<&'a str>,
}

/// A group whose `)` is still to come.
struct Group {
    captures: bool,
    /// The flags to return to after it.
    outer_flags: Flags,
    alternatives: Vec<Piece>,
    /// What came since the last `|`.
    sequence: Vec<Piece>,
}

impl Group {
    fn new(captures: bool, outer_flags: Flags) -> Self {
        Self { captures, outer_flags, alternatives: Vec::new(), sequence: Vec::new() }
    }

    fn end_alternative(&mut self) -> Result<(), PatternError> {
        let sequence = checked(Piece::concat(std::mem::take(&mut self.sequence)))?;
        self.alternatives.push(sequence);
        Ok(())
    }

    fn end(mut self) -> Result<Piece, PatternError> {
        self.end_alternative()?;
        let piece = checked(Piece::alternate(self.alternatives))?;
        if self.captures { checked(Piece::capture(piece)) } else { Ok(piece) }
    }
}

impl<'a> Parser<'a> {
    /// Parses one element of the pattern.
    fn step(&mut self) -> Result<(), PatternError> {
        let last_repeat = self.last_repeat.take();
        let rest = self.rest;
        let mut characters = rest.chars();
        let Some(next) = characters.next() else { return Ok(()) };
        self.rest = characters.as_str();
        match next {
            '(' => self.open_group(rest),
            ')' => self.close_group(),
            '|' => self.open.end_alternative(),
            '^' => self.push(Piece::anchor(Anchor::LineStart)),
            '$' => self.push(Piece::anchor(Anchor::LineEnd)),
            '.' => self.push(Piece::class(class::any())),
            '[' => {
                let (class, after) = class::parse_bracket(rest, self.flags.fold, &mut self.names)?;
                self.push_class(class, after)
            }
            '*' => self.push_repeat(rest, Counts { min: 0, max: None }, Piece::repeat, last_repeat),
            '+' => self.push_repeat(rest, Counts { min: 1, max: None }, Piece::repeat, last_repeat),
            '?' => self.push_repeat(rest, Counts { min: 0, max: Some(1) }, Piece::repeat, last_repeat),
            '{' => match repeat::parse_braces(rest) {
                None => self.push_literal('{'),
                Some(braces) => {
                    self.rest = braces.after;
                    let Some(counts) = braces.counts else {
                        return Err(SyntaxFault::InvalidRepeatSize.at(until(rest, braces.after)));
                    };
                    self.push_repeat(rest, counts, Piece::counted_repeat, last_repeat)
                }
            },
            '\\' => self.push_escape(rest),
            literal => self.push_literal(literal),
        }
    }

    fn finish(self) -> Result<Piece, PatternError> {
        if !self.outer.is_empty() {
            return Err(SyntaxFault::MissingParen.at(self.pattern));
        }
        self.open.end()
    }

    fn push(&mut self, piece: Piece) -> Result<(), PatternError> {
        self.open.sequence.push(checked(piece)?);
        Ok(())
    }

    fn push_literal(&mut self, literal: char) -> Result<(), PatternError> {
        self.push(Piece::literal(u32::from(literal), self.flags.fold))
    }

    fn push_class(
        &mut self,
        class: regex_syntax::hir::ClassUnicode,
        after: &'a str,
    ) -> Result<(), PatternError> {
        self.rest = after;
        self.push(Piece::class(class))
    }

    /// Repeats the last piece. `rest` begins with the operator, `self.rest` after it.
    fn push_repeat(
        &mut self,
        rest: &'a str,
        counts: Counts,
        make: fn(Piece, Counts, bool) -> Piece,
        last_repeat: Option<&str>,
    ) -> Result<(), PatternError> {
        let reluctant = self.rest.strip_prefix('?');
        self.rest = reluctant.unwrap_or(self.rest);
        if let Some(last_repeat) = last_repeat {
            return Err(SyntaxFault::InvalidRepeatOp.at(until(last_repeat, self.rest)));
        }
        let operator = until(rest, self.rest);
        let Some(repeated) = self.open.sequence.pop() else {
            return Err(SyntaxFault::MissingRepeatArgument.at(operator));
        };
        let piece = make(repeated, counts, self.flags.lazy == reluctant.is_some());
        if piece.copies > REPEAT_MAX {
            return Err(SyntaxFault::InvalidRepeatSize.at(operator));
        }
        self.last_repeat = Some(rest);
        self.push(piece)
    }

    /// `\` without a class; `rest` begins with it.
    fn push_escape(&mut self, rest: &'a str) -> Result<(), PatternError> {
        let anchor = match rest[1..].chars().next() {
            Some('A') => Some(Anchor::LineStart),
            Some('z') => Some(Anchor::LineEnd),
            Some('b') => Some(Anchor::WordBoundary),
            Some('B') => Some(Anchor::NotWordBoundary),
            Some('Q') => return self.push_quoted(&rest[2..]),
            _ => None,
        };
        if let Some(anchor) = anchor {
            self.rest = &rest[2..];
            return self.push(Piece::anchor(anchor));
        }
        if let Some((class, after)) = class::parse_escaped(rest, self.flags.fold, &mut self.names)? {
            return self.push_class(class, after);
        }
        let (code_point, after) = escape::parse(rest)?;
        self.rest = after;
        self.push(Piece::literal(code_point, self.flags.fold))
    }

    /// Plain text up to `\E`, or to the end.
    fn push_quoted(&mut self, quoted: &'a str) -> Result<(), PatternError> {
        let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
        self.rest = after;
        text.chars().try_for_each(|literal| self.push_literal(literal))
    }

    /// `rest` begins with the `(`.
    fn open_group(&mut self, rest: &'a str) -> Result<(), PatternError> {
        let mut group = Group::new(true, self.flags);
        if rest.starts_with("(?") {
            let (opening, after) = flags::parse_opening(rest, self.flags)?;
            self.rest = after;
            match opening {
                Opening::Capture => {}
                Opening::Group(flags) => {
                    group.captures = false;
                    self.flags = flags;
                }
                Opening::Flags(flags) => {
                    self.flags = flags;
                    return Ok(());
                }
            }
        }
        self.outer.push(std::mem::replace(&mut self.open, group));
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), PatternError> {
        let Some(outer) = self.outer.pop() else {
            return Err(SyntaxFault::UnexpectedParen.at(self.pattern));
        };
        let group = std::mem::replace(&mut self.open, outer);
        self.flags = group.outer_flags;
        self.push(group.end()?)
    }
}

/// A piece within the bounds. Checked as it grows, so that nothing beyond them is ever built.
fn checked(piece: Piece) -> Result<Piece, PatternError> {
    if piece.height > NESTING_MAX {
        return Err(PatternError::TooDeep);
    }
    if piece.size > EXPANDED_MAX_INSTRUCTIONS {
        return Err(PatternError::TooLarge);
    }
    Ok(piece)
}
