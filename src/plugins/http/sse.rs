//! Server-sent events out of a stream of bytes, of bounded size.
//!
//! Source: the event stream format of the HTML standard.

use std::time::Duration;

use axlr_protocol::limits;

/// What was read and is no whole event yet.
#[derive(Default)]
pub(super) struct Events {
    /// The line that has not ended.
    line: Vec<u8>,
    /// Whether the last line ended with CR, so that an LF now belongs to it.
    ended_with_cr: bool,
    /// Whether anything was read: a byte order mark may begin the stream.
    has_begun: bool,
    data: Vec<u8>,
    kind: Vec<u8>,
    /// Where the stream can be taken up again.
    last_id: Option<String>,
    /// How long to wait before that.
    retry: Option<Duration>,
}

/// An event that is larger than a message may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Events {
    /// Takes a piece of the stream and hands the messages out that are whole with it.
    ///
    /// # Errors
    /// What is left is too large already.
    pub(super) fn push(&mut self, bytes: &[u8], mut message: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.ended_with_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => self.end_line(&mut message),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > limits::PLUGIN_MESSAGE_MAX_BYTES + MARGIN {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    /// The id of the last event that had one.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants us to wait before the stream is opened anew.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The stream has ended; an event that has not is nothing.
    pub(super) fn end_of_stream(&mut self) {
        *self = Self { last_id: self.last_id.take(), retry: self.retry, ..Self::default() };
    }

    fn end_line(&mut self, message: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| is_first).unwrap_or(&line);
        if line.is_empty() {
            self.end_event(message);
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"event" => self.kind = value[..value.len().min(MARGIN)].to_vec(),
            b"id" => self.last_id = id(value).or(self.last_id.take()),
            b"retry" => {
                let milliseconds = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.retry = milliseconds.map(Duration::from_millis).or(self.retry);
            }
            // A comment, or what nobody knows.
            _ => {}
        }
    }

    fn end_event(&mut self, message: &mut impl FnMut(&[u8])) {
        let data = std::mem::take(&mut self.data);
        let kind = std::mem::take(&mut self.kind);
        let data = data.strip_suffix(b"\n").unwrap_or(&data);
        if !data.trim_ascii().is_empty() && matches!(kind.as_slice(), b"" | b"message") {
            message(data);
        }
    }
}

/// What the name of a field may add to a message, and the longest id that is kept.
const MARGIN: usize = 1_024;

/// An id can't hold a NUL, and goes into a header.
fn id(value: &[u8]) -> Option<String> {
    let text = str::from_utf8(value).ok()?;
    (text.len() <= MARGIN && !text.is_empty() && text.chars().all(|c| matches!(c, ' '..='~')))
        .then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
