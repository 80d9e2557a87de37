//! A parsed pattern, with the three measures that bound it.
//!
//! Groups leave nothing behind but their nesting: a search asks where a match begins, never what a group held.

use regex_syntax::hir::ClassUnicode;

use super::class;

/// A part of a pattern and its measures.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) node: Node,
    /// Levels of nesting, as Go counts them: a literal, a class or an anchor is one.
    pub(super) height: u32,
    /// Instructions when counted repetitions are written out, as Go counts them.
    pub(super) size: u64,
    /// How many copies of some part of it counted repetitions ask for.
    pub(super) copies: u64,
}

/// What a piece is.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Matches nothing, anywhere.
    Empty,
    /// One or more code points in a row. A surrogate, which `\x{D800}` can name, matches no text.
    Literal {
        text: Vec<u32>,
        fold: bool,
    },
    Class(ClassUnicode),
    Anchor(Anchor),
    Repeat {
        counts: Counts,
        greedy: bool,
        of: Box<Piece>,
    },
    Capture(Box<Piece>),
    Concat(Vec<Piece>),
    Alternate(Vec<Piece>),
}

/// A condition on a place in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    LineStart,
    LineEnd,
    WordBoundary,
    NotWordBoundary,
}

/// How often a part repeats; no maximum when `max` is None.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

impl Piece {
    pub(super) fn empty() -> Self {
        Self::leaf(Node::Empty)
    }

    pub(super) fn literal(code_point: u32, fold: bool) -> Self {
        Self::leaf(Node::Literal { text: vec![code_point], fold })
    }

    pub(super) fn class(class: ClassUnicode) -> Self {
        Self::leaf(Node::Class(class))
    }

    pub(super) fn anchor(anchor: Anchor) -> Self {
        Self::leaf(Node::Anchor(anchor))
    }

    pub(super) fn capture(of: Self) -> Self {
        Self {
            height: of.height + 1,
            size: of.size.saturating_add(2),
            copies: of.copies,
            node: Node::Capture(Box::new(of)),
        }
    }

    /// `*`, `+` and `?`.
    pub(super) fn repeat(of: Self, counts: Counts, greedy: bool) -> Self {
        let extra = if counts.min == 0 && counts.max.is_none() { 2 } else { 1 };
        Self {
            height: of.height + 1,
            size: of.size.saturating_add(extra),
            copies: of.copies,
            node: Node::Repeat { counts, greedy, of: Box::new(of) },
        }
    }

    /// `{n}`, `{n,}` and `{n,m}`.
    pub(super) fn counted_repeat(of: Self, counts: Counts, greedy: bool) -> Self {
        let min = u64::from(counts.min);
        let size = match counts.max.map(u64::from) {
            None if min == 0 => of.size.saturating_add(2),
            None => of.size.saturating_mul(min).saturating_add(1),
            Some(max) => of.size.saturating_mul(max).saturating_add(max - min),
        };
        let copies = match counts.max.map(u64::from) {
            // Whatever stands within, nothing of it is left.
            Some(0) => 0,
            Some(max) => of.copies.saturating_mul(max),
            None => of.copies.saturating_mul(min.max(1)),
        };
        Self {
            height: of.height + 1,
            size: size.max(1),
            copies,
            node: Node::Repeat { counts, greedy, of: Box::new(of) },
        }
    }

    /// Pieces one after the other. Neighbouring literals become one, which is one level of nesting.
    pub(super) fn concat(pieces: Vec<Self>) -> Self {
        let mut joined: Vec<Self> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece.node {
                Node::Concat(inner) => inner.into_iter().for_each(|piece| push_joined(&mut joined, piece)),
                _ => push_joined(&mut joined, piece),
            }
        }
        Self::branch(joined, Node::Concat, 0)
    }

    /// One piece or another, the first that fits. Neighbouring single characters become one class, which is one
    /// level of nesting.
    pub(super) fn alternate(pieces: Vec<Self>) -> Self {
        let mut merged: Vec<Self> = Vec::with_capacity(pieces.len());
        // Merging costs as much as the classes are big, so a run is gathered before it is merged once.
        let mut run: Vec<Self> = Vec::new();
        for piece in pieces {
            let inner = match piece.node {
                Node::Alternate(inner) => inner,
                _ => vec![piece],
            };
            for piece in inner {
                if piece.is_one_character() {
                    run.push(piece);
                } else {
                    merged.extend(merge_run(&mut run));
                    merged.push(piece);
                }
            }
        }
        merged.extend(merge_run(&mut run));
        let bars = merged.len().saturating_sub(1) as u64;
        Self::branch(merged, Node::Alternate, bars)
    }

    fn leaf(node: Node) -> Self {
        Self { node, height: 1, size: 1, copies: 1 }
    }

    fn branch(mut pieces: Vec<Self>, make: fn(Vec<Self>) -> Node, extra: u64) -> Self {
        if pieces.len() < 2 {
            return pieces.pop().unwrap_or_else(Self::empty);
        }
        Self {
            height: 1 + pieces.iter().map(|piece| piece.height).max().unwrap_or(0),
            size: pieces.iter().fold(extra, |sum, piece| sum.saturating_add(piece.size)),
            copies: pieces.iter().map(|piece| piece.copies).max().unwrap_or(0),
            node: make(pieces),
        }
    }

    fn is_one_character(&self) -> bool {
        match &self.node {
            Node::Literal { text, .. } => text.len() == 1,
            Node::Class(_) => true,
            _ => false,
        }
    }
}

fn push_joined(joined: &mut Vec<Piece>, piece: Piece) {
    if let Node::Literal { text: next, fold: next_fold } = &piece.node
        && let Some(Piece { node: Node::Literal { text, fold }, size, .. }) = joined.last_mut()
        && fold == next_fold
    {
        text.extend(next);
        *size += piece.size;
        return;
    }
    joined.push(piece);
}

fn merge_run(run: &mut Vec<Piece>) -> Option<Piece> {
    if run.len() < 2 {
        return run.pop();
    }
    let mut ranges = Vec::new();
    for piece in run.drain(..) {
        match piece.node {
            Node::Literal { text, fold } => text.iter().for_each(|&code_point| {
                ranges.extend_from_slice(class::of_code_point(code_point, fold).ranges());
            }),
            Node::Class(class) => ranges.extend_from_slice(class.ranges()),
            _ => {}
        }
    }
    Some(Piece::class(ClassUnicode::new(ranges)))
}
