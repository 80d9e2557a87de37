//! The engine: does a line match, and where.

use regex_automata::meta::Regex;
use regex_syntax::hir::Hir;

use super::{COMPILED_MAX_BYTES, PatternError};

/// States of a search are kept for reuse up to about this size, for each thread that searches.
const CACHE_BYTES: usize = 8 * 1024 * 1024;

/// A compiled pattern. Threads may share one; each may also search with a clone of its own, which is cheap to make and
/// spares them taking turns at the scratch space.
#[derive(Debug, Clone)]
pub struct Matcher {
    regex: Regex,
}

impl Matcher {
    pub(super) fn new(hir: &Hir) -> Result<Self, PatternError> {
        let config =
            Regex::config().nfa_size_limit(Some(COMPILED_MAX_BYTES)).hybrid_cache_capacity(CACHE_BYTES);
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
