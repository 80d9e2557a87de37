//! The measuring client: frames are encoded before the clock runs, and replies are counted, not decoded.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use memchr::{memchr, memchr_iter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

/// Room for what one read(2) takes.
const BUFFER_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    MessagePack,
}

/// A request as it goes over the wire.
pub(crate) fn request(encoding: Encoding, id: &str, tool: &str, arguments: Value) -> Vec<u8> {
    request_with(encoding, id, tool, arguments, json!({}))
}

/// The same with more members in the envelope.
pub(crate) fn request_with(
    encoding: Encoding,
    id: &str,
    tool: &str,
    arguments: Value,
    more: Value,
) -> Vec<u8> {
    let mut request = json!({"protocol_version": 1, "request_id": id, "tool": tool, "arguments": arguments});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    match encoding {
        Encoding::Json => format!("{request}\n").into_bytes(),
        Encoding::MessagePack => {
            let body = rmp_serde::to_vec_named(&request).unwrap();
            [&u32::try_from(body.len()).unwrap().to_be_bytes(), &body[..]].concat()
        }
    }
}

/// How replies are told apart.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Framing {
    /// Each ends with LF.
    Lines,
    /// Each has its length before it: what is still missing of the length, and of the reply.
    Lengths { head: u32, head_missing: u8, missing: usize },
    /// Each has so many bytes: its size, and what is still missing.
    Fixed { size: usize, missing: usize },
}

impl Framing {
    pub(crate) fn of(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Json => Framing::Lines,
            Encoding::MessagePack => Framing::Lengths { head: 0, head_missing: 4, missing: 0 },
        }
    }

    pub(crate) fn fixed(size: usize) -> Self {
        Framing::Fixed { size, missing: size }
    }

    /// How many replies end in these bytes.
    fn count(&mut self, mut bytes: &[u8]) -> usize {
        match self {
            Framing::Lines => memchr_iter(b'\n', bytes).count(),
            Framing::Fixed { size, missing } => {
                let mut ended = 0;
                while bytes.len() >= *missing {
                    bytes = &bytes[*missing..];
                    *missing = *size;
                    ended += 1;
                }
                *missing -= bytes.len();
                ended
            }
            Framing::Lengths { head, head_missing, missing } => {
                let mut ended = 0;
                loop {
                    while *head_missing > 0 {
                        let Some((first, rest)) = bytes.split_first() else { return ended };
                        bytes = rest;
                        *head = *head << 8 | u32::from(*first);
                        *head_missing -= 1;
                        *missing = *head as usize;
                    }
                    if bytes.len() < *missing {
                        *missing -= bytes.len();
                        return ended;
                    }
                    bytes = &bytes[*missing..];
                    ended += 1;
                    (*head, *head_missing, *missing) = (0, 4, 0);
                }
            }
        }
    }
}

/// One connection.
pub(crate) struct Wire {
    stream: UnixStream,
    framing: Framing,
    buffer: Vec<u8>,
    /// What [`Wire::line`] has read beyond its line.
    rest: Vec<u8>,
}

impl Wire {
    pub(crate) fn connect(socket: &Path, encoding: Encoding) -> Self {
        Self::new(UnixStream::connect(socket).unwrap(), Framing::of(encoding))
    }

    /// `None` when nobody listens there yet.
    pub(crate) fn try_connect(socket: &Path, encoding: Encoding) -> Option<Self> {
        UnixStream::connect(socket).ok().map(|stream| Self::new(stream, Framing::of(encoding)))
    }

    pub(crate) fn new(stream: UnixStream, framing: Framing) -> Self {
        Self { stream, framing, buffer: vec![0; BUFFER_BYTES], rest: Vec::new() }
    }

    pub(crate) fn send(&mut self, frames: &[u8]) {
        self.stream.write_all(frames).unwrap();
    }

    /// Waits for more bytes and tells how many replies ended in them.
    pub(crate) fn receive(&mut self) -> usize {
        let count = self.stream.read(&mut self.buffer).unwrap();
        assert!(count > 0, "the server has closed the connection");
        self.framing.count(&self.buffer[..count])
    }

    /// One request, one reply.
    pub(crate) fn exchange(&mut self, frame: &[u8]) {
        self.send(frame);
        while self.receive() == 0 {}
    }

    /// Does so many requests with `window` of them in flight. The frames are sent over and over, all of one size.
    pub(crate) fn pipeline(&mut self, requests: usize, window: usize, frames: &[Vec<u8>]) {
        let mut batch = Vec::new();
        let mut next = frames.iter().cycle();
        let (mut sent, mut ended) = (0, 0);
        while ended < requests {
            let more = (ended + window).min(requests) - sent;
            if more > 0 {
                batch.clear();
                next.by_ref().take(more).for_each(|frame| batch.extend_from_slice(frame));
                self.send(&batch);
                sent += more;
            }
            ended += self.receive();
        }
    }

    /// One JSON line, for what is looked at. Not to be mixed with [`Wire::receive`] while more may come.
    pub(crate) fn line(&mut self) -> Vec<u8> {
        loop {
            if let Some(end) = memchr(b'\n', &self.rest) {
                let behind = self.rest.split_off(end + 1);
                return std::mem::replace(&mut self.rest, behind);
            }
            let count = self.stream.read(&mut self.buffer).unwrap();
            assert!(count > 0, "the server has closed the connection");
            self.rest.extend_from_slice(&self.buffer[..count]);
        }
    }

    /// Whether there is something to read.
    pub(crate) fn is_ready(&self) -> bool {
        let mut watched = [PollFd::new(&self.stream, PollFlags::IN)];
        poll(&mut watched, Some(&Timespec::default())).unwrap() > 0
    }

    /// Asks in JSON before anything is measured, and returns the whole response.
    pub(crate) fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let frame = request(Encoding::Json, "ask", tool, arguments);
        self.send(&frame);
        serde_json::from_slice(&self.line()).unwrap()
    }
}
