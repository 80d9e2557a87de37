//! The events of a stream, each of bounded size.

use std::io;

use axlr_protocol::limits;
use futures_util::{Stream, StreamExt as _};
use reqwest::Response;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

/// Bytes since the last event ended.
#[derive(Default)]
struct Meter {
    bytes: usize,
    /// Whether nothing stands on the present line yet.
    is_line_empty: bool,
    /// Whether the last byte was CR, so that LF now belongs to it.
    follows_cr: bool,
}

/// Reads a body as a stream of events. One that is larger than a message may be ends it.
pub(super) fn bounded(response: Response) -> impl Stream<Item = Result<Sse, SseError>> + Send {
    let mut meter = Meter::default();
    let bytes = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        if meter.has_room_for(&piece) { Ok(piece) } else { Err(too_large()) }
    });
    SseStream::from_bytes_stream(bytes)
}

/// Whether an error is that an event was too large.
pub(super) fn is_too_large(error: &SseError) -> bool {
    let SseError::Body(error) = error else { return false };
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
}

fn too_large() -> io::Error {
    let most = limits::PLUGIN_MESSAGE_MAX_BYTES;
    io::Error::new(io::ErrorKind::FileTooLarge, format!("an event of more than {most} bytes"))
}

impl Meter {
    fn has_room_for(&mut self, piece: &[u8]) -> bool {
        for &byte in piece {
            let follows_cr = std::mem::replace(&mut self.follows_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' if self.is_line_empty => self.bytes = 0,
                b'\n' | b'\r' => self.is_line_empty = true,
                _ => {
                    self.is_line_empty = false;
                    self.bytes += 1;
                }
            }
            if self.bytes > limits::PLUGIN_MESSAGE_MAX_BYTES {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
