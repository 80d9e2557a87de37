//! The engine: does a line match, and where.

use regex_automata::meta::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::{COMPILED_MAX_BYTES, PatternError};

/// The states of a lazy automaton are kept for reuse up to about this size, for each thread that searches.
const CACHE_BYTES: usize = 8 * 1024 * 1024;
/// A pattern that writes out to more ranges and bytes than this gets no lazy automaton: its states would fill the cache
/// before they are of use, and it needs a second program, for searching backwards, twice as large as the first.
const LAZY_MAX_WEIGHT: u64 = 100_000;

/// A compiled pattern. Threads may share one; each may also search with a clone of its own, which is cheap to make and
/// spares them taking turns at the scratch space.
#[derive(Debug, Clone)]
pub struct Matcher {
    regex: Regex,
}

impl Matcher {
    pub(super) fn new(hir: &Hir) -> Result<Self, PatternError> {
        let is_light = weight(hir) <= LAZY_MAX_WEIGHT;
        let config = Regex::config()
            .nfa_size_limit(Some(COMPILED_MAX_BYTES))
            .hybrid(is_light)
            .dfa(is_light)
            .hybrid_cache_capacity(CACHE_BYTES);
        let regex = Regex::builder().configure(config).build_from_hir(hir);
        // There is no other way to fail: the engine's remaining bounds lie beyond this one.
        regex.map(|regex| Self { regex }).map_err(|_| PatternError::TooLarge)
    }

    /// The first match of a line, as the offsets in bytes where it begins and ends.
    ///
    /// The line comes without its `\n` or `\r\n` and is valid UTF-8. The match is the leftmost one, and of those the
    /// one that the pattern prefers, as in Go.
    pub fn find_line(&self, line: &[u8]) -> Option<(usize, usize)> {
        self.regex.find(line).map(|found| (found.start(), found.end()))
    }
}

/// How many ranges and bytes a pattern writes out to.
fn weight(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => class.ranges().len() as u64,
        HirKind::Class(Class::Bytes(class)) => class.ranges().len() as u64,
        HirKind::Repetition(repetition) => {
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            weight(&repetition.sub).saturating_mul(u64::from(copies))
        }
        HirKind::Capture(capture) => weight(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(weight).fold(0, u64::saturating_add)
        }
    }
}
