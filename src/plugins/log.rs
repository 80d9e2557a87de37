//! What is said about one plugin, and what its stderr says: bounded, so that nobody can fill a disk or a terminal.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axlr_protocol::limits;

use crate::capacity::{PLUGIN_LOG_LINE_BYTES, PLUGIN_LOG_LINES_PER_SECOND};

/// The log of one session of a plugin.
pub(super) struct Log {
    id: String,
    state: Mutex<State>,
}

struct State {
    /// When the present second began, and how many lines were written and left out in it.
    second: Instant,
    written: u32,
    left_out: u64,
    /// The line of stderr that has not ended yet.
    line: Vec<u8>,
    /// The last of stderr.
    tail: VecDeque<u8>,
    /// Whether the tail has lost its beginning.
    is_cut: bool,
}

impl Log {
    pub(super) fn new(id: &str) -> Self {
        let state = State {
            second: Instant::now(),
            written: 0,
            left_out: 0,
            line: Vec::new(),
            tail: VecDeque::new(),
            is_cut: false,
        };
        Self { id: id.to_owned(), state: Mutex::new(state) }
    }

    /// The plugin.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Says something about the plugin that it does often, if it likes.
    pub(super) fn note(&self, what: fmt::Arguments) {
        if self.allows(&mut self.lock()) {
            tracing::warn!(plugin = %self.id, "{what}");
        }
    }

    /// Takes a piece of its stderr.
    pub(super) fn stderr(&self, mut bytes: &[u8]) {
        let mut state = self.lock();
        state.keep(bytes);
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            state.extend_line(line);
            self.write_line(&mut state);
            bytes = &rest[1..];
        }
        state.extend_line(bytes);
    }

    /// Its stderr has ended: what has no line end is a line too.
    pub(super) fn stderr_ended(&self) {
        let mut state = self.lock();
        if !state.line.is_empty() {
            self.write_line(&mut state);
        }
        self.report_left_out(&mut state);
    }

    /// The last of its stderr, fit to be shown: whole lines, when it was cut; empty when it wrote nothing.
    pub(super) fn tail(&self) -> String {
        let mut state = self.lock();
        let is_cut = state.is_cut;
        let bytes = state.tail.make_contiguous();
        let start = if is_cut { memchr::memchr(b'\n', bytes).map_or(0, |end| end + 1) } else { 0 };
        let text = String::from_utf8_lossy(&bytes[start..]).into_owned();
        drop(state);
        let mut shown = String::with_capacity(text.len());
        for character in text.trim_end().chars() {
            match character {
                '\n' | '\t' => shown.push(character),
                '\r' => {}
                other if other.is_control() => shown.extend(other.escape_default()),
                other => shown.push(other),
            }
        }
        shown
    }

    fn write_line(&self, state: &mut State) {
        let line = std::mem::take(&mut state.line);
        if self.allows(state) {
            let text = String::from_utf8_lossy(&line);
            tracing::info!(plugin = %self.id, "{}", text.trim_end().escape_debug());
        }
    }

    /// Whether the log takes one more line now.
    fn allows(&self, state: &mut State) -> bool {
        if state.second.elapsed() >= Duration::from_secs(1) {
            self.report_left_out(state);
            state.second = Instant::now();
            state.written = 0;
        }
        if state.written >= PLUGIN_LOG_LINES_PER_SECOND {
            state.left_out += 1;
            return false;
        }
        state.written += 1;
        true
    }

    fn report_left_out(&self, state: &mut State) {
        let left_out = std::mem::take(&mut state.left_out);
        if left_out > 0 {
            tracing::warn!(plugin = %self.id, "{left_out} more lines were left out");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A line longer than the log shows is not kept longer either.
    fn extend_line(&mut self, bytes: &[u8]) {
        let room = PLUGIN_LOG_LINE_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let most = limits::PLUGIN_STDERR_TAIL_BYTES;
        self.tail.extend(&bytes[bytes.len().saturating_sub(most)..]);
        let excess = self.tail.len().saturating_sub(most);
        self.is_cut |= excess > 0 || bytes.len() > most;
        self.tail.drain(..excess);
    }
}

#[cfg(test)]
mod tests;
