//! Bytes to lines, and lines to server-sent events.
//!
//! Neither does any I/O: bytes go in as they come, in pieces of any size.
//!
//! `eventsource-stream` was weighed and left: it parses an unfinished line again with every piece that arrives, copies its
//! buffer for every line, knows no bound, ends on a bad byte and drops the event that is pending when the connection
//! closes, which servers that end without an empty line rely on.

use super::limits::EVENT_MAX_BYTES;

/// A line, or an event of many, grew past [`EVENT_MAX_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Splits at LF, CR and CRLF, and takes a byte order mark away.
#[derive(Default)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    is_past_start: bool,
    is_after_cr: bool,
}

impl Lines {
    /// Adds the lines that `bytes` complete to `lines`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], lines: &mut Vec<String>) -> Result<(), TooLong> {
        while let Some((&first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.is_after_cr) && first == b'\n' {
                bytes = rest;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.partial.len() + piece.len() > EVENT_MAX_BYTES {
                return Err(TooLong);
            }
            self.partial.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.is_after_cr = bytes[end] == b'\r';
            lines.push(self.take());
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The last line, when nothing ends it.
    pub(crate) fn finish(&mut self) -> Option<String> {
        if self.partial.is_empty() { None } else { Some(self.take()) }
    }

    fn take(&mut self) -> String {
        let is_first = !std::mem::replace(&mut self.is_past_start, true);
        let line = match self.partial.strip_prefix("\u{feff}".as_bytes()) {
            Some(line) if is_first => line,
            _ => &self.partial,
        };
        let line = String::from_utf8_lossy(line).into_owned();
        self.partial.clear();
        line
    }
}

/// One server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event:` field; empty for none.
    pub(crate) name: String,
    /// The `data:` fields, joined by newlines.
    pub(crate) data: String,
}

/// Collects lines to events (WHATWG HTML, 9.2), except that a name without data is an event as well, and so is what is
/// pending at the end.
#[derive(Default)]
pub(crate) struct Events {
    lines: Lines,
    name: Option<String>,
    data: Option<String>,
}

impl Events {
    /// Adds the events that `bytes` complete to `events`.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut lines = Vec::new();
        self.lines.push(bytes, &mut lines)?;
        for line in lines {
            self.line(&line, events)?;
        }
        Ok(())
    }

    /// Adds the event that is pending.
    pub(crate) fn finish(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        if let Some(line) = self.lines.finish() {
            self.line(&line, events)?;
        }
        self.dispatch(events);
        Ok(())
    }

    fn line(&mut self, line: &str, events: &mut Vec<Event>) -> Result<(), TooLong> {
        if line.is_empty() {
            self.dispatch(events);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() >= EVENT_MAX_BYTES => return Err(TooLong),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            // Comments have an empty field; ids and reconnection times are for clients that reconnect.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let (name, data) = (self.name.take(), self.data.take());
        if name.is_some() || data.is_some() {
            events.push(Event { name: name.unwrap_or_default(), data: data.unwrap_or_default() });
        }
    }
}

#[cfg(test)]
mod tests;
