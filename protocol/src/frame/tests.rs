use proptest::prelude::*;

use super::{Decoder, Frame, KEPT_BYTES};
use crate::Encoding;
use crate::limits;

const LIMIT: usize = 8;

/// A frame without its borrow.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Request(Vec<u8>),
    TooLong,
    Truncated,
    Abandon,
}

fn seen(frame: Frame) -> Seen {
    match frame {
        Frame::Request(document) => Seen::Request(document.to_vec()),
        Frame::TooLong => Seen::TooLong,
        Frame::Truncated => Seen::Truncated,
        Frame::Abandon => Seen::Abandon,
    }
}

fn request(document: &str) -> Seen {
    Seen::Request(document.as_bytes().to_vec())
}

/// Everything that a decoder sees of the pieces, the end of input included.
fn decode<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<Seen> {
    let mut decoder = Decoder::new(LIMIT);
    let mut all = Vec::new();
    for piece in pieces {
        decoder.buffer().extend_from_slice(piece);
        while let Some(frame) = decoder.next() {
            all.push(seen(frame));
        }
    }
    all.extend(decoder.finish().map(seen));
    assert_eq!(decoder.next(), None);
    assert_eq!(decoder.finish(), None);
    all
}

/// Checks the input whole, byte by byte, and cut at every place.
#[track_caller]
fn check(input: &[u8], expected: &[Seen]) {
    assert_eq!(decode([input]), expected, "whole");
    assert_eq!(decode(input.chunks(1)), expected, "byte by byte");
    for cut in 0..=input.len() {
        let (head, tail) = input.split_at(cut);
        assert_eq!(decode([head, tail]), expected, "cut at {cut}");
    }
}

#[test]
fn lines_are_requests() {
    check(b"", &[]);
    check(b"{}\n", &[request("{}")]);
    check(b"{}\r\n[]\n", &[request("{}"), request("[]")]);
    check(b"{}\nlast", &[request("{}"), request("last")]);
    check(b"{}\nlast\r", &[request("{}"), request("last")]);
    check(b" {} \n", &[request(" {} ")]);
}

#[test]
fn lines_of_white_space_are_passed_over() {
    check(b"\n\r\n \t\r\n{}\n\n", &[request("{}")]);
    check(b"{}\n  ", &[request("{}")]);
}

#[test]
fn a_long_line_is_reported_once_and_skipped() {
    check(b"12345678\n123456789\n{}\n", &[request("12345678"), Seen::TooLong, request("{}")]);
    check(b"12345678\r\n123456789\r\n{}\n", &[request("12345678"), Seen::TooLong, request("{}")]);
    check(&[b"x".repeat(100), b"\n{}\n".to_vec()].concat(), &[Seen::TooLong, request("{}")]);
    check(b"123456789", &[Seen::TooLong]);
    check(b"1234567890123", &[Seen::TooLong]);
    check(b"         \n{}\n", &[Seen::TooLong, request("{}")]);
}

#[test]
fn counted_frames_are_requests() {
    check(b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c", &[request("ab"), request(""), request("c")]);
    check(b"\0\0\0\x0812345678", &[request("12345678")]);
    check(b"\0\0\0\x09123456789\0\0\0\x01c", &[Seen::TooLong, request("c")]);
    check(b"\0\0\0\x09123", &[Seen::TooLong]);
    check(b"\0\0\0\x02a", &[Seen::Truncated]);
    check(b"\0\0", &[Seen::Truncated]);
    check(b"\0\0\0\x01c\0", &[request("c"), Seen::Truncated]);
}

#[test]
fn an_absurd_length_ends_it() {
    check(b"\0\0\0\x01c\x01\0\0\0{}\n", &[request("c"), Seen::Abandon]);
    check(b"\0\0\0\0{}\n{", &[request(""), Seen::Abandon]);
}

#[test]
fn the_first_byte_chooses_the_encoding() {
    for (first, encoding) in
        [(0, Encoding::MessagePack), (b'{', Encoding::Json), (b'\n', Encoding::Json), (0x81, Encoding::Json)]
    {
        let mut decoder = Decoder::new(LIMIT);
        assert_eq!(decoder.encoding(), None);
        decoder.buffer().push(first);
        assert_eq!(decoder.encoding(), Some(encoding));
    }
}

/// Feeds the same piece again and again, and gives the largest capacity on the way.
fn feed(decoder: &mut Decoder, piece: &[u8], times: usize) -> (Vec<Seen>, usize) {
    let (mut all, mut largest) = (Vec::new(), 0);
    for _ in 0..times {
        decoder.buffer().extend_from_slice(piece);
        largest = largest.max(decoder.buffer.capacity());
        while let Some(frame) = decoder.next() {
            all.push(seen(frame));
        }
    }
    (all, largest)
}

#[test]
fn a_line_without_end_is_abandoned_without_being_kept() {
    let mut decoder = Decoder::new(LIMIT);
    let piece = [b'x'; 64 * 1024];
    let (all, largest) = feed(&mut decoder, &piece, limits::LINE_ABANDON_BYTES / piece.len() - 1);
    assert_eq!(all, []);
    let (all, _) = feed(&mut decoder, &piece, 1);
    assert_eq!(all, [Seen::Abandon]);
    assert!(largest <= 4 * piece.len(), "{largest} bytes kept");
    assert_eq!(feed(&mut decoder, b"\n{}\n", 2).0, []);
    assert_eq!(decoder.finish(), None);
}

#[test]
fn a_skipped_frame_is_not_kept() {
    let mut decoder = Decoder::new(LIMIT);
    decoder.buffer().extend_from_slice(b"\0\xff\xff\xff");
    assert_eq!(decoder.next(), Some(Frame::TooLong));
    let (all, largest) = feed(&mut decoder, &[0; 65_793], 255);
    assert_eq!(all, []);
    assert!(largest <= 4 * 65_793, "{largest} bytes kept");
    assert_eq!(feed(&mut decoder, b"\0\0\0\x01c", 1).0, [request("c")]);
}

#[test]
fn an_idle_decoder_is_small_after_a_large_frame() {
    let mut decoder = Decoder::new(limits::REQUEST_MAX_BYTES);
    let (all, _) = feed(&mut decoder, &[vec![b'x'; 1 << 20], vec![b'\n']].concat(), 1);
    assert_eq!(all.len(), 1);
    assert!(decoder.buffer.capacity() <= KEPT_BYTES);
}

#[test]
fn a_claimed_length_reserves_nothing() {
    let mut decoder = Decoder::new(limits::REQUEST_MAX_BYTES);
    decoder.buffer().extend_from_slice(b"\0\x40\0\0");
    assert_eq!(decoder.next(), None);
    assert!(decoder.buffer().capacity() <= KEPT_BYTES);
}

#[test]
fn each_frame_that_is_no_document_has_its_refusal() {
    assert_eq!(Frame::Request(b"x").document(), Ok(&b"x"[..]));
    for frame in [Frame::TooLong, Frame::Truncated, Frame::Abandon] {
        let malformed = frame.document().unwrap_err();
        assert_eq!((malformed.request_id.as_str(), malformed.tool), ("", None));
    }
}

proptest! {
    #[test]
    fn any_split_of_any_input_gives_the_same_frames(
        input in proptest::collection::vec(prop_oneof![Just(0), Just(b'\n'), Just(b'\r'), Just(b' '), Just(1), Just(9), any::<u8>()], 0..60),
        sizes in proptest::collection::vec(1..9_usize, 1..30),
    ) {
        let mut pieces = Vec::new();
        let mut rest = input.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(decode(pieces), decode([input.as_slice()]));
    }
}
