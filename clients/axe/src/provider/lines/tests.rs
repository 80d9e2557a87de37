use proptest::prelude::*;

use super::{Event, Events, Lines, TooLong};
use crate::provider::limits::EVENT_MAX_BYTES;

fn events(pieces: &[&[u8]]) -> Vec<Event> {
    let (mut decoder, mut events) = (Events::default(), Vec::new());
    for piece in pieces {
        decoder.push(piece, &mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap();
    events
}

#[test]
fn events_are_read_as_the_standard_says_and_a_little_kinder() {
    for (text, expected) in [
        ("data: one\n\ndata:two\n\n", &[("", "one"), ("", "two")] as &[(&str, &str)]),
        ("data:  two spaces\n\n", &[("", " two spaces")]),
        ("event: name\ndata: x\n\n", &[("name", "x")]),
        ("data: a\ndata: b\ndata\n\n", &[("", "a\nb\n")]),
        ("data: a\r\ndata: b\r\n\r\n", &[("", "a\nb")]),
        ("data: a\rdata: b\r\r", &[("", "a\nb")]),
        ("\u{feff}data: bom\n\n", &[("", "bom")]),
        (": keep-alive\n\nid: 7\nretry: 10\n\n", &[]),
        (":\n: data: no\ndata: yes\nother: z\n\n", &[("", "yes")]),
        ("event: alone\n\n", &[("alone", "")]),
        ("\n\n\ndata: x\n\n\n\n", &[("", "x")]),
        ("data: pending\n", &[("", "pending")]),
        ("data: cut", &[("", "cut")]),
        ("data\n\n", &[("", "")]),
        ("data: \u{feff}not a mark\n\n", &[("", "\u{feff}not a mark")]),
        ("", &[]),
    ] {
        let expected: Vec<Event> = expected
            .iter()
            .map(|(name, data)| Event { name: (*name).to_owned(), data: (*data).to_owned() })
            .collect();
        assert_eq!(events(&[text.as_bytes()]), expected, "{text:?}");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes), expected, "{text:?} byte by byte");
    }
}

#[test]
fn a_bad_byte_harms_only_itself() {
    assert_eq!(events(&[b"data: a\xffb\n\n"])[0].data, "a\u{fffd}b");
}

#[test]
fn long_lines_are_fine_and_endless_ones_are_not() {
    let line = format!("data: {}\n\n", "x".repeat(1_000_000));
    let pieces: Vec<&[u8]> = line.as_bytes().chunks(1400).collect();
    assert_eq!(events(&pieces)[0].data.len(), 1_000_000);

    let (mut lines, mut out) = (Lines::default(), Vec::new());
    let half = vec![b'x'; EVENT_MAX_BYTES / 2];
    assert_eq!(lines.push(&half, &mut out), Ok(()));
    assert_eq!(lines.push(&half, &mut out), Ok(()));
    assert_eq!(lines.push(b"x", &mut out), Err(TooLong));

    let (mut decoder, mut out) = (Events::default(), Vec::new());
    let line = [b"data: ", half.as_slice(), b"\n"].concat();
    assert_eq!(decoder.push(&line, &mut out), Ok(()));
    assert_eq!(decoder.push(&line, &mut out), Err(TooLong));
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(
        text in "(data: ?[a-zé€ ]{0,5}|event: [ab]|:|\r\n|\r|\n|\n\n|\u{feff}){0,24}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        prop_assert_eq!(events(&pieces), events(&[bytes]));
    }
}
