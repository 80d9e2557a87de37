//! A looser pattern, for a search over a whole file, that finds every line worth asking about.
//!
//! Loose is allowed, missing a line is not. So:
//! - the ends of the line are those of its `\n`, and its end is also before any `\r`, as a `\r` before the `\n` or the
//!   end of the file is no part of the line;
//! - nothing matches a `\n`, so a match never leaves its line and never hides the next one;
//! - a `\r` may match though the line does not have it, and a long counted repetition becomes `+` or `*`: the lines
//!   found so are refused later.
//!
//! `\b` and `\B` need no care: `\r` and `\n` are no word characters, as what lies beyond a line's ends is none.

use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::exact;
use super::piece::{Anchor, Counts, Node, Piece};

/// Counted repetitions that write out to more ranges than this are loosened.
const REPEAT_MAX_WEIGHT: u64 = 1_000;
/// A pattern of more ranges costs more to compile than asking every line.
const PATTERN_MAX_WEIGHT: u64 = 8_000;
/// The regex crate's parser bounds nesting too, and counts other levels than we do.
const PATTERN_MAX_HEIGHT: u32 = 100;

/// The looser pattern; None when every line must be asked.
pub(super) fn pattern(piece: &Piece) -> Option<String> {
    if piece.height > PATTERN_MAX_HEIGHT {
        return None;
    }
    let candidate = lower(piece);
    let properties = candidate.hir.properties();
    let matches_anywhere = properties.minimum_len() == Some(0) && properties.look_set().is_empty();
    (!matches_anywhere && candidate.weight <= PATTERN_MAX_WEIGHT).then(|| candidate.hir.to_string())
}

/// The engine's form of a piece, for a text of many lines.
struct Candidate {
    hir: Hir,
    /// How many ranges of characters it writes out to.
    weight: u64,
}

impl Candidate {
    fn leaf(hir: Hir) -> Self {
        Self { hir, weight: 1 }
    }
}

fn lower(piece: &Piece) -> Candidate {
    match &piece.node {
        Node::Empty => Candidate::leaf(Hir::empty()),
        Node::Literal { text, fold } => lower_literal(text, *fold),
        Node::Class(class) => lower_class(class.clone()),
        Node::Anchor(anchor) => Candidate::leaf(Hir::look(match anchor {
            Anchor::LineStart => Look::StartLF,
            Anchor::LineEnd => Look::EndCRLF,
            Anchor::WordBoundary => Look::WordAscii,
            Anchor::NotWordBoundary => Look::WordAsciiNegate,
        })),
        Node::Repeat { counts, greedy, of } => lower_repeat(*counts, *greedy, lower(of)),
        Node::Capture(of) => lower(of),
        Node::Concat(pieces) => lower_all(pieces, Hir::concat),
        Node::Alternate(pieces) => lower_all(pieces, Hir::alternation),
    }
}

fn lower_all(pieces: &[Piece], join: fn(Vec<Hir>) -> Hir) -> Candidate {
    let mut weight = 0;
    let lowered = pieces.iter().map(|piece| {
        let candidate = lower(piece);
        weight += candidate.weight;
        candidate.hir
    });
    let hir = join(lowered.collect());
    Candidate { hir, weight }
}

fn lower_literal(text: &[u32], fold: bool) -> Candidate {
    let lowered = text.iter().map(|&code_point| {
        if code_point == u32::from('\n') { Hir::fail() } else { exact::lower_code_point(code_point, fold) }
    });
    Candidate { hir: Hir::concat(lowered.collect()), weight: text.len() as u64 }
}

fn lower_class(mut class: ClassUnicode) -> Candidate {
    class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
    let weight = 1 + class.ranges().len() as u64;
    Candidate { hir: Hir::class(Class::Unicode(class)), weight }
}

fn lower_repeat(counts: Counts, greedy: bool, of: Candidate) -> Candidate {
    let copies = u64::from(counts.max.unwrap_or(counts.min).max(1));
    let written_out = of.weight.saturating_mul(copies);
    let (counts, weight) = if copies > 1 && written_out > REPEAT_MAX_WEIGHT {
        (Counts { min: counts.min.min(1), max: None }, of.weight)
    } else {
        (counts, written_out)
    };
    let mut sub = Box::new(of.hir);
    if matches!(sub.kind(), HirKind::Repetition(_)) {
        // The printer writes `(a*)?` without its group, and that is a lazy `a*?`.
        sub = Box::new(Hir::capture(Capture { index: 1, name: None, sub }));
    }
    Candidate { hir: Hir::repetition(Repetition { min: counts.min, max: counts.max, greedy, sub }), weight }
}

#[cfg(test)]
mod tests;
