//! Compiled patterns, and the few that were used last.

use std::sync::{Arc, Mutex, PoisonError};

use axlr_protocol::limits;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::cancel::Cancel;
use crate::capacity::{CANDIDATES_CACHE_BYTES, CANDIDATES_MAX_BYTES, PATTERNS_KEPT};
use crate::dialect::re2::{self, Matcher, Options, PatternError};
use crate::tools::Error;
use crate::tools::check::{quoted, without_nul};
use crate::tools::tour::cancelled;

/// The patterns of the last searches, compiled: a page after a page, or the same search again, compiles nothing.
#[derive(Debug, Default)]
pub struct Patterns {
    /// The most recent last.
    recent: Mutex<Vec<(Key, Arc<Compiled>)>>,
}

/// What a pattern is compiled from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) pattern: String,
    pub(super) options: Options,
}

/// A pattern that decides lines, and one that finds the lines worth asking about.
#[derive(Debug)]
pub(super) struct Compiled {
    exact: Matcher,
    candidates: Option<RegexMatcher>,
}

impl Patterns {
    /// The compiled form, from the last searches or new.
    ///
    /// # Errors
    /// `Malformed` with the fault of a pattern that does not compile; `Cancelled`.
    pub(super) fn get(&self, key: &Key, cancel: &Cancel) -> Result<Arc<Compiled>, Error> {
        if let Some(compiled) = self.recall(key) {
            return Ok(compiled);
        }
        // Not under the lock: a large pattern takes a while, and others must not wait for it.
        let compiled = Arc::new(Compiled::new(key, cancel)?);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() == PATTERNS_KEPT {
            recent.remove(0);
        }
        recent.push((key.clone(), compiled.clone()));
        Ok(compiled)
    }

    fn recall(&self, key: &Key) -> Option<Arc<Compiled>> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let index = recent.iter().rposition(|(known, _)| known == key)?;
        recent[index..].rotate_left(1);
        recent.last().map(|(_, compiled)| compiled.clone())
    }
}

impl Compiled {
    fn new(key: &Key, cancel: &Cancel) -> Result<Self, Error> {
        let stop = || cancel.is_cancelled();
        let refused = |error| match error {
            PatternError::Cancelled => cancelled(),
            error => Error::malformed(format!("pattern {}: {error}", quoted(&key.pattern))),
        };
        let translation = re2::translate(&key.pattern, key.options, &stop).map_err(refused)?;
        let exact = translation.compile(&stop).map_err(refused)?;
        let candidates = translation.candidate_pattern().and_then(candidates);
        if stop() {
            return Err(cancelled());
        }
        Ok(Self { exact, candidates })
    }

    /// The first match of a line, as byte offsets.
    pub(super) fn find_line(&self, line: &[u8]) -> Option<(usize, usize)> {
        self.exact.find_line(line)
    }

    /// What finds, in a whole text, at least all lines that [`Compiled::find_line`] accepts. `None` when every line
    /// must be asked.
    pub(super) fn candidates(&self) -> Option<&RegexMatcher> {
        self.candidates.as_ref()
    }
}

fn candidates(pattern: &str) -> Option<RegexMatcher> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .unicode(true)
        .line_terminator(Some(b'\n'))
        .size_limit(CANDIDATES_MAX_BYTES)
        .dfa_size_limit(CANDIDATES_CACHE_BYTES)
        .nest_limit(re2::NESTING_MAX)
        .build(pattern)
        .ok()
}

/// Checks what can be checked of a pattern without compiling it.
///
/// # Errors
/// `Malformed` when it is empty, too long or holds a NUL.
pub(super) fn check(pattern: &str) -> Result<(), Error> {
    let (length, most) = (pattern.len(), limits::PATTERN_MAX_BYTES);
    if pattern.is_empty() {
        return Err(Error::malformed(format!("pattern \"\" is empty; it must have 1 to {most} bytes")));
    }
    if length > most {
        return Err(Error::malformed(format!(
            "pattern {} has {length} bytes and exceeds the {most} byte limit",
            quoted(pattern)
        )));
    }
    without_nul("pattern", pattern)
}

#[cfg(test)]
mod tests;
