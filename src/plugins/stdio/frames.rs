//! Lines out of a stream of bytes, of bounded length.

use axlr_protocol::limits;

use crate::capacity::PLUGIN_READ_BYTES;

/// What was read and is no whole line yet.
#[derive(Default)]
pub(super) struct Frames {
    buffer: Vec<u8>,
    /// How far it was searched for a line end.
    searched: usize,
}

/// A line that is longer than a message may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Frames {
    /// The buffer to read into, with room for one read.
    pub(super) fn room(&mut self) -> &mut Vec<u8> {
        self.buffer.reserve(PLUGIN_READ_BYTES);
        &mut self.buffer
    }

    /// Hands every whole line out, without its end; empty ones are passed over.
    ///
    /// # Errors
    /// What is left is too long already.
    pub(super) fn each_line(&mut self, mut line: impl FnMut(&[u8])) -> Result<(), TooLong> {
        let mut start = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + length;
            let text = &self.buffer[start..end];
            if text.len() > limits::PLUGIN_MESSAGE_MAX_BYTES {
                return Err(TooLong);
            }
            if !text.trim_ascii().is_empty() {
                line(text);
            }
            start = end + 1;
            self.searched = start;
        }
        self.buffer.drain(..start);
        self.searched = self.buffer.len();
        if self.buffer.len() > limits::PLUGIN_MESSAGE_MAX_BYTES {
            return Err(TooLong);
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * PLUGIN_READ_BYTES {
            self.buffer = Vec::new();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
