//! What a pattern means to one line, for the engine.

use regex_syntax::hir::{Class, Hir, Look, Repetition};

use super::class;
use super::piece::{Anchor, Node, Piece};

/// The engine's form of a piece, for a text that is one line.
pub(super) fn lower(piece: &Piece) -> Hir {
    match &piece.node {
        Node::Empty => Hir::empty(),
        Node::Literal { text, fold } => {
            Hir::concat(text.iter().map(|&c| lower_code_point(c, *fold)).collect())
        }
        Node::Class(class) => Hir::class(Class::Unicode(class.clone())),
        Node::Anchor(Anchor::LineStart) => Hir::look(Look::Start),
        Node::Anchor(Anchor::LineEnd) => Hir::look(Look::End),
        Node::Anchor(Anchor::WordBoundary) => Hir::look(Look::WordAscii),
        Node::Anchor(Anchor::NotWordBoundary) => Hir::look(Look::WordAsciiNegate),
        Node::Repeat { counts, greedy, of } => Hir::repetition(Repetition {
            min: counts.min,
            max: counts.max,
            greedy: *greedy,
            sub: Box::new(lower(of)),
        }),
        Node::Capture(of) => lower(of),
        Node::Concat(pieces) => Hir::concat(pieces.iter().map(lower).collect()),
        Node::Alternate(pieces) => Hir::alternation(pieces.iter().map(lower).collect()),
    }
}

/// A literal, a class of its cases, or nothing that can match for a surrogate.
pub(super) fn lower_code_point(code_point: u32, fold: bool) -> Hir {
    Hir::class(Class::Unicode(class::of_code_point(code_point, fold)))
}
