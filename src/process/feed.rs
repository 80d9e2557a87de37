//! A program's stdin, written beside everything else, so that it cannot deadlock with the output.

use std::collections::VecDeque;
use std::io;

use tokio::net::unix::pipe::Sender;

use super::capacity::PIPE_BYTES;
use super::controls::Piece;

/// What waits to be written, in order.
pub(super) struct Feed {
    /// None once it is closed, by us or by the program.
    pipe: Option<Sender>,
    pieces: VecDeque<Piece>,
    /// How much of the first piece is written.
    written: usize,
    /// Whether more pieces may come.
    is_open: bool,
}

impl Feed {
    /// Writes `first`; more may follow when it is `open`.
    pub(super) fn new(pipe: Option<Sender>, first: Vec<u8>, open: bool) -> Self {
        let mut feed = Self { pipe, pieces: VecDeque::new(), written: 0, is_open: true };
        feed.push(Piece { bytes: first, reply: None }, !open);
        feed
    }

    /// Adds a piece; with `eof` the last. A piece after the end is dropped, which tells its writer.
    pub(super) fn push(&mut self, piece: Piece, eof: bool) {
        if !self.is_open || self.pipe.is_none() {
            return;
        }
        self.pieces.push_back(piece);
        if eof {
            self.is_open = false;
        }
        self.advance(0);
    }

    /// Ends stdin after what waits.
    pub(super) fn close(&mut self) {
        self.is_open = false;
        self.advance(0);
    }

    pub(super) fn wants_to_write(&self) -> bool {
        self.pipe.is_some() && !self.pieces.is_empty()
    }

    /// Waits until the pipe takes something, and writes that. May be given up: nothing is lost.
    pub(super) async fn write(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let ready = pipe.writable().await;
        // Some writers may have been cancelled meanwhile.
        self.advance(0);
        let (Some(pipe), Some(piece)) = (&self.pipe, self.pieces.front()) else { return };
        let rest = &piece.bytes[self.written..];
        let result = ready.and_then(|()| pipe.try_write(&rest[..rest.len().min(PIPE_BYTES)]));
        match result {
            Ok(length) => self.advance(length),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The program closed its stdin or ended, as it may.
            Err(_) => self.end(),
        }
    }

    fn advance(&mut self, length: usize) {
        self.written += length;
        while let Some(piece) = self.pieces.front() {
            // What was begun is written whole, also when its writer was cancelled.
            let is_dropped = self.written == 0 && piece.is_given_up();
            if self.written < piece.bytes.len() && !is_dropped {
                return;
            }
            self.written = 0;
            if let Some(Piece { reply: Some(reply), .. }) = self.pieces.pop_front() {
                reply.written();
            }
        }
        if !self.is_open {
            self.end();
        }
    }

    fn end(&mut self) {
        self.pipe = None;
        self.pieces.clear();
    }
}
