//! Tokens of a run, over all its agents.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::provider::Usage;

/// A limit on input and output tokens together, shared by all agents of a run. Cached prompt tokens count where the
/// provider counts them as input.
#[derive(Debug, Default)]
pub struct Budget {
    max: Option<u64>,
    used: AtomicU64,
}

impl Budget {
    /// None is no limit.
    pub fn new(max: Option<u64>) -> Self {
        Self { max, used: AtomicU64::new(0) }
    }

    /// The limit.
    pub fn max(&self) -> Option<u64> {
        self.max
    }

    /// What was used so far.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether no further request can be paid for: meeting the limit is enough.
    pub fn is_exceeded(&self) -> bool {
        self.max.is_some_and(|max| self.used() >= max)
    }

    pub(super) fn add(&self, usage: &Usage) {
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        add(&self.used, tokens);
    }
}

/// Saturates: counts beyond 2^64 come from a provider that lies.
fn add(sum: &AtomicU64, tokens: u64) {
    let add = |sum: u64| Some(sum.saturating_add(tokens));
    let _ = sum.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
}

/// Sums over all agents of a run.
#[derive(Debug, Default)]
pub struct Totals {
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
    retry_attempts: AtomicU64,
}

impl Totals {
    /// Of every reply.
    pub fn input_tokens(&self) -> u64 {
        self.input_tokens.load(Ordering::Relaxed)
    }

    /// Of every reply.
    pub fn output_tokens(&self) -> u64 {
        self.output_tokens.load(Ordering::Relaxed)
    }

    /// Of every request.
    pub fn retry_attempts(&self) -> u64 {
        self.retry_attempts.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, usage: &Usage) {
        add(&self.input_tokens, usage.input_tokens);
        add(&self.output_tokens, usage.output_tokens);
    }

    pub(super) fn add_retry(&self) {
        self.retry_attempts.fetch_add(1, Ordering::Relaxed);
    }
}
