//! A look at the socket before the event loop is asked.
//!
//! A client that waited for its answer has often sent its next request by the time that the write returns: the kernel
//! lets the one that it wakes run first. Finding it there saves a round through the event loop, which costs more than the
//! look. Where client and daemon run side by side a look finds nothing, and is soon taken rarely.

use std::io;

/// Looks in a row before the event loop, and with it everybody else on this thread, has its turn.
const IN_A_ROW: u8 = 32;
/// So many looks in vain prove nothing: which of the two runs first is up to the kernel each time.
const VAIN_FEW: u8 = 8;
/// After more of them so many waits pass without a look.
const REST: u8 = 63;

/// A source that can tell what has arrived.
pub(super) trait Arrived {
    /// Appends what has arrived, without waiting; 0 bytes are the end. `None` when nothing has, or only the event loop knows.
    fn arrived(&mut self, buffer: &mut Vec<u8>) -> Option<io::Result<usize>>;
}

/// Whether to look.
#[derive(Debug, Default)]
pub(super) struct Glance {
    /// Looks left before the next wait.
    left: u8,
    /// Waits to pass without a look.
    rest: u8,
    /// Looks in vain since the last that found something.
    vain: u8,
}

impl Glance {
    pub(super) fn is_due(&self) -> bool {
        self.left > 0
    }

    /// Tells what a look found.
    pub(super) fn saw(&mut self, something: bool) {
        if something {
            self.left -= 1;
            self.vain = 0;
        } else {
            self.left = 0;
            self.vain = self.vain.saturating_add(1);
            self.rest = if self.vain > VAIN_FEW { REST } else { 0 };
        }
    }

    /// Tells that the event loop had its turn.
    pub(super) fn waited(&mut self) {
        match self.rest.checked_sub(1) {
            Some(rest) => self.rest = rest,
            None => self.left = IN_A_ROW,
        }
    }
}

#[cfg(test)]
mod tests;
