//! Go's `regexp`, for one line at a time.
//!
//! [`translate`] reads Go's syntax (RE2 with the Perl flags, as `regexp.Compile` does) and tells what it means to a
//! search: [`Translation::compile`] makes the [`Matcher`] that decides each line and gives the column, and
//! [`Translation::candidate_pattern`] is a looser pattern for a search over whole files, which finds the lines worth
//! asking about. The engine behind both is the regex crates'; only the meaning of the pattern is ours: what Go accepts
//! is accepted and matches the same text, leftmost first; what Go refuses is refused in Go's words.
//!
//! A line has no `\n`, so `^`, `\A` and `$`, `\z` are its two ends whatever the flags, `.` is every character, and a
//! `\n` that must match never does.
//!
//! From the bottom up: `piece` (the parsed pattern), `escape`, `repeat`, `class`, `names`, `unicode17` and `flags` (the
//! parts of the syntax), `parser`, then `exact` and `candidate` (the two ways down to the engine) and `matcher`.
//!
//! Source: <https://pkg.go.dev/regexp/syntax>, SPEC §3.5.

mod candidate;
mod class;
mod error;
mod escape;
mod exact;
mod flags;
mod matcher;
mod names;
mod parser;
mod piece;
mod repeat;
mod unicode17;

pub use error::{PatternError, SyntaxFault};
pub use matcher::Matcher;

use piece::Piece;
use regex_syntax::hir::Hir;

/// Largest compiled form of a pattern, in bytes of the engine's program: `\pL{1000}` takes a quarter. SPEC §3.5.
pub const COMPILED_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Largest pattern with its counted repetitions written out, in instructions; Go's own bound. SPEC §3.5.
pub const EXPANDED_MAX_INSTRUCTIONS: u64 = (128 << 20) / 40;
/// Deepest nesting of a pattern; Go's own bound. SPEC §3.5.
pub const NESTING_MAX: u32 = 1_000;
/// Largest count of a repetition, and largest product of nested ones; Go's own bound. SPEC §3.5.
pub const REPEAT_MAX: u64 = 1_000;

/// How a pattern is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether it is plain text and not a pattern.
    pub literal: bool,
    /// Whether case is ignored, as with a leading `(?i)`.
    pub ignore_case: bool,
}

/// What a pattern means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    hir: Hir,
    candidate: Option<String>,
}

/// Reads a pattern of Go's syntax.
///
/// # Errors
/// [`PatternError::Syntax`] for what Go refuses, [`PatternError::TooDeep`] past [`NESTING_MAX`],
/// [`PatternError::TooLarge`] past [`EXPANDED_MAX_INSTRUCTIONS`], and [`PatternError::Cancelled`] as soon as `cancel`
/// says so; it is asked for every element of the pattern.
pub fn translate(
    pattern: &str,
    options: Options,
    cancel: &dyn Fn() -> bool,
) -> Result<Translation, PatternError> {
    let parsed = if options.literal {
        Piece::concat(pattern.chars().map(|c| Piece::literal(u32::from(c), options.ignore_case)).collect())
    } else {
        parser::parse(pattern, options.ignore_case, cancel)?
    };
    let hir = exact::lower(&parsed);
    if cancel() {
        return Err(PatternError::Cancelled);
    }
    Ok(Translation { hir, candidate: candidate::pattern(&parsed) })
}

impl Translation {
    /// A pattern of the regex crate for a search over a whole file: multi-line mode, Unicode on, `\n` as line
    /// terminator. Among the lines where it matches are all lines that the [`Matcher`] accepts, whether a line ends in
    /// `\n`, in `\r\n` or with the file. It is never in doubt about `\n`: nothing in it can match one.
    ///
    /// None when every line must be asked: when each matches anyway, or when the looser pattern would be too big to
    /// be of use.
    pub fn candidate_pattern(&self) -> Option<&str> {
        self.candidate.as_deref()
    }

    /// Makes the matcher.
    ///
    /// # Errors
    /// [`PatternError::TooLarge`] past [`COMPILED_MAX_BYTES`], [`PatternError::Cancelled`] when `cancel` says so
    /// before or after; while the engine compiles nobody asks, which the bound keeps short.
    pub fn compile(&self, cancel: &dyn Fn() -> bool) -> Result<Matcher, PatternError> {
        if cancel() {
            return Err(PatternError::Cancelled);
        }
        let matcher = Matcher::new(&self.hir)?;
        if cancel() {
            return Err(PatternError::Cancelled);
        }
        Ok(matcher)
    }
}

#[cfg(test)]
mod tests;
