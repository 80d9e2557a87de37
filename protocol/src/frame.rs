//! Sans-IO framing: bytes in, frames out, for both encodings and both ends of a connection.
//!
//! No socket is known here. The owner appends what it received to [`Decoder::buffer`] and takes frames with
//! [`Decoder::next`] until there is none; at the end of input it asks [`Decoder::finish`] once.
//!
//! Source: SPEC §2.3.

use memchr::memchr;

use crate::decode::Malformed;
use crate::limits;

#[cfg(test)]
mod tests;

/// The encoding of a connection, chosen by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One object on one line.
    Json,
    /// A 4-byte big-endian length, then one map.
    MessagePack,
}

/// What stands next in the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A whole document, without its line end or length.
    Request(&'a [u8]),
    /// A document over the limit of the decoder, in an intact frame. It was, or will be, skipped without being kept;
    /// reported once, and the connection goes on.
    TooLong,
    /// The input ends inside of a MessagePack frame.
    Truncated,
    /// Nothing sensible can follow: answer, then close. No frame comes after it.
    Abandon,
}

impl<'a> Frame<'a> {
    /// The document, or why this frame is refused by itself.
    pub fn document(&self) -> Result<&'a [u8], Malformed> {
        let message = match self {
            Frame::Request(document) => return Ok(document),
            Frame::TooLong => format!("the request is over the limit of {} bytes", limits::REQUEST_MAX_BYTES),
            Frame::Truncated => "the input ends inside of a frame".to_owned(),
            Frame::Abandon => format!(
                "no frame can be this long (a MessagePack length stays below {} bytes, a line below {}); \
                 the connection is closed",
                limits::FRAME_LENGTH_END,
                limits::LINE_ABANDON_BYTES,
            ),
        };
        Err(Malformed::unread(message))
    }
}

/// An emptied buffer keeps no more than this, so that an idle connection costs little.
const KEPT_BYTES: usize = 8 * 1024;
/// Room that [`Decoder::buffer`] offers at least. A large frame doubles the buffer as it arrives, not as it claims.
const ROOM_BYTES: usize = 4 * 1024;
/// Size of the length before a MessagePack document.
const LENGTH_BYTES: usize = 4;

/// Cuts the input of a connection into frames.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Largest document.
    limit: usize,
    encoding: Option<Encoding>,
    /// Where the next frame begins in `buffer`.
    start: usize,
    /// JSON: no line end stands in `buffer[start..scanned]`.
    scanned: usize,
    skip: Skip,
}

/// What is dropped before the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skip {
    Nothing,
    /// JSON: the rest of a line of which so many bytes are gone. It is reported at its end.
    Line(usize),
    /// MessagePack: so many bytes of a document that was reported.
    Bytes(usize),
    /// Everything.
    Rest,
}

impl Decoder {
    /// A decoder of a connection from which nothing was read yet, for documents of at most `limit` bytes.
    pub fn new(limit: usize) -> Decoder {
        Decoder { buffer: Vec::new(), limit, encoding: None, start: 0, scanned: 0, skip: Skip::Nothing }
    }

    /// The buffer to append received bytes to, with some room to read into.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.compact();
        self.buffer.reserve(ROOM_BYTES);
        &mut self.buffer
    }

    /// The encoding, once the first byte is there.
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding.or_else(|| self.buffer.first().map(|byte| encoding_of(*byte)))
    }

    /// The next frame, or `None` until more is appended.
    #[expect(clippy::should_implement_trait, reason = "a frame borrows the decoder, which no Iterator can")]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        let encoding = self.encoding()?;
        self.encoding = Some(encoding);
        let cut = match (self.skip, encoding) {
            (Skip::Rest, _) => {
                self.start = self.buffer.len();
                None
            }
            (_, Encoding::Json) => self.line(),
            (_, Encoding::MessagePack) => self.counted(),
        };
        if cut.is_none() {
            self.compact();
        }
        cut.map(|cut| cut.frame(&self.buffer))
    }

    /// What the end of input leaves: a last line without line end counts. To be asked after [`Decoder::next`] had none.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        let (start, end) = (self.start, self.buffer.len());
        let skip = std::mem::replace(&mut self.skip, Skip::Rest);
        self.start = end;
        match (self.encoding()?, skip) {
            (_, Skip::Rest | Skip::Bytes(_)) => None,
            (Encoding::Json, Skip::Line(_)) => Some(Frame::TooLong),
            (Encoding::Json, Skip::Nothing) => self.document(start, end).map(|cut| cut.frame(&self.buffer)),
            (Encoding::MessagePack, _) => (start < end).then_some(Frame::Truncated),
        }
    }

    fn line(&mut self) -> Option<Cut> {
        loop {
            let Some(found) = memchr(b'\n', &self.buffer[self.scanned..]) else {
                return self.unended_line();
            };
            let (start, end) = (self.start, self.scanned + found);
            self.start = end + 1;
            self.scanned = self.start;
            let cut = match std::mem::replace(&mut self.skip, Skip::Nothing) {
                Skip::Line(gone) if gone + (end - start) >= limits::LINE_ABANDON_BYTES => {
                    self.skip = Skip::Rest;
                    Some(Cut::Abandon)
                }
                Skip::Line(_) => Some(Cut::TooLong),
                Skip::Nothing | Skip::Bytes(_) | Skip::Rest => self.document(start, end),
            };
            if cut.is_some() {
                return cut;
            }
        }
    }

    /// All of the buffer belongs to a line whose end is not there.
    fn unended_line(&mut self) -> Option<Cut> {
        self.scanned = self.buffer.len();
        let pending = self.scanned - self.start;
        let gone = match self.skip {
            Skip::Line(gone) => gone,
            // A CR that may belong to the line end doesn't count yet.
            _ if pending <= self.limit + 1 => return None,
            _ => 0,
        };
        self.start = self.scanned;
        let length = gone + pending;
        if length >= limits::LINE_ABANDON_BYTES {
            self.skip = Skip::Rest;
            return Some(Cut::Abandon);
        }
        self.skip = Skip::Line(length);
        None
    }

    /// The document on a line; empty lines, and lines of nothing but white space, are none.
    fn document(&self, start: usize, end: usize) -> Option<Cut> {
        let line = &self.buffer[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.limit {
            return Some(Cut::TooLong);
        }
        let is_empty = line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        (!is_empty).then_some(Cut::Document(start, start + line.len()))
    }

    fn counted(&mut self) -> Option<Cut> {
        if let Skip::Bytes(left) = self.skip {
            let dropped = left.min(self.buffer.len() - self.start);
            self.start += dropped;
            self.skip = if dropped == left { Skip::Nothing } else { Skip::Bytes(left - dropped) };
        }
        let (length, rest) = self.buffer[self.start..].split_first_chunk::<LENGTH_BYTES>()?;
        let length = u32::from_be_bytes(*length);
        if length >= limits::FRAME_LENGTH_END {
            self.skip = Skip::Rest;
            return Some(Cut::Abandon);
        }
        let length = length as usize;
        if length > self.limit {
            self.start += LENGTH_BYTES;
            self.skip = Skip::Bytes(length);
            return Some(Cut::TooLong);
        }
        if rest.len() < length {
            return None;
        }
        let start = self.start + LENGTH_BYTES;
        self.start = start + length;
        Some(Cut::Document(start, self.start))
    }

    /// Forgets what was handed out, and gives back memory that a large frame took.
    fn compact(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned = self.scanned.saturating_sub(self.start);
            self.start = 0;
        }
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_BYTES {
            self.buffer = Vec::with_capacity(KEPT_BYTES);
        }
    }
}

fn encoding_of(first: u8) -> Encoding {
    if first == 0 { Encoding::MessagePack } else { Encoding::Json }
}

/// A frame as places in the buffer, so that finding it doesn't borrow the decoder.
#[derive(Debug)]
enum Cut {
    Document(usize, usize),
    TooLong,
    Abandon,
}

impl Cut {
    fn frame(self, buffer: &[u8]) -> Frame<'_> {
        match self {
            Cut::Document(start, end) => Frame::Request(&buffer[start..end]),
            Cut::TooLong => Frame::TooLong,
            Cut::Abandon => Frame::Abandon,
        }
    }
}
