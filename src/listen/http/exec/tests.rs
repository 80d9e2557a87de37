use super::*;

#[track_caller]
fn check(pushed: &[&[u8]], text: &str) {
    let mut kept = Kept::default();
    pushed.iter().for_each(|bytes| kept.push(bytes));
    let kept = kept.text();
    assert!(kept == text, "{} bytes instead of {}", kept.len(), text.len());
}

#[test]
fn what_is_not_text_becomes_replacement_characters() {
    check(&[], "");
    check(&[b"a\xffb"], "a\u{fffd}b");
    check(&[b"\xc3", b"\xa9"], "\u{e9}");
    // Not cut by us: the program itself ended so.
    check(&[b"a\xc3"], "a\u{fffd}");
}

#[test]
fn what_passes_the_limit_is_dropped_without_half_a_character() {
    let limit = limits::HTTP_EXEC_STREAM_MAX_BYTES;
    let full = "x".repeat(limit);
    check(&[full.as_bytes()], &full);
    check(&[full.as_bytes(), b"y"], &full);
    check(&[&full.as_bytes()[1..], "\u{e9}".as_bytes()], &full[1..]);
    check(&[&full.as_bytes()[3..], "\u{1f600}".as_bytes()], &full[3..]);
    // Bytes that begin no character were not cut.
    check(&[&full.as_bytes()[1..], b"\xffy"], &format!("{}\u{fffd}", &full[1..]));
    check(&[b"\xff", &full.as_bytes()[1..], b"y"], &format!("\u{fffd}{}", &full[1..]));
}
