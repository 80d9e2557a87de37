use super::{Capture, Captured, Source, Tail, begun_character};

fn check(limit: usize, pushes: &[(Source, &[u8])], expected: (&str, &str, u64, u64)) {
    let mut capture = Capture::new(limit);
    for (source, bytes) in pushes {
        capture.push(*source, bytes);
    }
    let (stdout, stderr, captured, discarded) = expected;
    let expected = Captured { stdout: stdout.to_owned(), stderr: stderr.to_owned(), captured, discarded };
    assert_eq!(capture.finish(), expected, "{pushes:?}");
}

#[test]
fn both_streams_share_the_limit_in_order_of_arrival() {
    use Source::{Stderr, Stdout};
    check(10, &[(Stdout, b"abc"), (Stderr, b"de")], ("abc", "de", 5, 0));
    check(4, &[(Stdout, b"abc"), (Stderr, b"de"), (Stdout, b"f")], ("abc", "d", 4, 2));
    check(1, &[(Stderr, b"xyz")], ("", "x", 1, 2));
}

#[test]
fn a_cut_character_is_given_up_and_other_invalid_bytes_are_replaced() {
    use Source::{Stderr, Stdout};
    check(4, &[(Stdout, "ab≤".as_bytes())], ("ab", "", 2, 3));
    check(4, &[(Stderr, "a€".as_bytes()), (Stdout, b"z")], ("", "a€", 4, 1));
    check(3, &[(Stdout, "🦀".as_bytes())], ("", "", 0, 4));
    // The program itself ended inside a character: nothing was cut.
    check(9, &[(Stdout, b"a\xe2\x89")], ("a\u{fffd}", "", 3, 0));
    check(9, &[(Stdout, b"\xff\xfe")], ("\u{fffd}\u{fffd}", "", 2, 0));
    // Only the stream that was cut gives something up.
    check(4, &[(Stderr, b"a\xe2"), (Stdout, b"bcd")], ("bc", "a\u{fffd}", 4, 1));
}

#[test]
fn a_begun_character_is_recognised() {
    for (bytes, expected) in [
        (&b""[..], 0),
        (b"a", 0),
        (b"\xe2", 1),
        (b"a\xe2\x89", 2),
        ("≤".as_bytes(), 0),
        (b"\xf0\x9f\xa6", 3),
        (b"\x89", 0),
        (b"\xff", 0),
    ] {
        assert_eq!(begun_character(bytes), expected, "{bytes:?}");
    }
}

#[test]
fn the_tail_is_the_last_thousand_characters_of_both_streams() {
    let mut tail = Tail::default();
    tail.push(Source::Stdout, "é".repeat(3_000).as_bytes());
    tail.push(Source::Stderr, b"end");
    let text = tail.finish();
    assert_eq!(text.chars().count(), 1_000);
    assert_eq!(text, format!("{}end", "é".repeat(997)));
}

#[test]
fn the_tail_joins_a_character_that_came_in_pieces() {
    let mut tail = Tail::default();
    for (source, bytes) in [
        (Source::Stdout, &b"a\xe2"[..]),
        (Source::Stderr, b"x"),
        (Source::Stdout, b"\x89"),
        (Source::Stdout, b"\xa4b\xe2"),
    ] {
        tail.push(source, bytes);
    }
    assert_eq!(tail.finish(), "ax≤b\u{fffd}");
}
