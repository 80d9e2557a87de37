//! Why a pattern is refused.

use std::fmt;

use super::{COMPILED_MAX_BYTES, EXPANDED_MAX_INSTRUCTIONS, NESTING_MAX, REPEAT_MAX};

/// Quoted parts of a pattern are cut at so many characters. SPEC §5.
const EXCERPT_MAX_CHARS: usize = 80;

/// Why a pattern is refused. The text begins where a message has named the member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Go refuses it too.
    #[error("{fault}: `{excerpt}`")]
    Syntax {
        /// What is wrong.
        fault: SyntaxFault,
        /// The part of the pattern that is wrong, cut at 80 characters.
        excerpt: String,
    },
    /// It has more levels than [`NESTING_MAX`]. Go refuses it too.
    #[error("expression nests too deeply: at most {NESTING_MAX} levels")]
    TooDeep,
    /// Its compiled form would be too large.
    #[error(
        "expression too large: it would compile to more than {COMPILED_MAX_BYTES} bytes \
         or {EXPANDED_MAX_INSTRUCTIONS} instructions; use smaller repeat counts or classes"
    )]
    TooLarge,
    /// Nobody wants it any more.
    #[error("cancelled while the pattern was compiled")]
    Cancelled,
}

/// What Go refuses. The text begins with Go's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxFault {
    /// `[z-a]`, an unknown `\p{…}`, an unknown `[:…:]`.
    InvalidCharRange,
    /// `\8`, `\pZ` is none of these.
    InvalidEscape,
    /// `(?P<a b>…)`.
    InvalidNamedCapture,
    /// `(?=…)`.
    InvalidPerlOp,
    /// `a**`.
    InvalidRepeatOp,
    /// `a{1001}`.
    InvalidRepeatSize,
    /// `[a`.
    MissingBracket,
    /// `(a`.
    MissingParen,
    /// `*a`.
    MissingRepeatArgument,
    /// A lone `\` at the end.
    TrailingBackslash,
    /// `a)`.
    UnexpectedParen,
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::InvalidCharRange => f.write_str("invalid character class range"),
            Self::InvalidEscape => f.write_str("invalid escape sequence"),
            Self::InvalidNamedCapture => f.write_str("invalid named capture"),
            Self::InvalidPerlOp => f.write_str("invalid or unsupported Perl syntax"),
            Self::InvalidRepeatOp => f.write_str("invalid nested repetition operator"),
            Self::InvalidRepeatSize => {
                write!(f, "invalid repeat count (at most {REPEAT_MAX}, nested ones multiplied)")
            }
            Self::MissingBracket => f.write_str("missing closing ]"),
            Self::MissingParen => f.write_str("missing closing )"),
            Self::MissingRepeatArgument => f.write_str("missing argument to repetition operator"),
            Self::TrailingBackslash => f.write_str("trailing backslash at end of expression"),
            Self::UnexpectedParen => f.write_str("unexpected )"),
        }
    }
}

impl SyntaxFault {
    /// This fault in this part of the pattern.
    pub(super) fn at(self, part: &str) -> PatternError {
        let mut excerpt: String = part.chars().take(EXCERPT_MAX_CHARS).collect();
        if excerpt.len() < part.len() {
            excerpt.push('…');
        }
        PatternError::Syntax { fault: self, excerpt }
    }
}
