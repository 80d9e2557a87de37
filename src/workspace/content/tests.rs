use super::*;

#[test]
fn a_digest_is_64_lower_case_hex_digits_and_nothing_else() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Digest::of(b"").to_string(), empty);
    assert_eq!(Digest::parse(empty), Some(Digest::of(b"")));
    for wrong in ["", "0", &empty.to_uppercase(), &empty[1..], &format!("{empty}0"), &empty.replace('e', "g")]
    {
        assert_eq!(Digest::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn a_digest_of_chunks_is_that_of_the_whole() {
    let whole: Vec<u8> = (0..10_000).map(|index| index as u8).collect();
    let mut rest = whole.as_slice();
    let next = |buffer: &mut [u8]| {
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        rest = &rest[count..];
        Ok::<_, ()>(count)
    };
    assert_eq!(Digest::of_chunks(next, 333), Ok(Digest::of(&whole)));
}

#[test]
fn text_is_utf8_without_nul() {
    assert_eq!(text("aéz\n".as_bytes()), Some("aéz\n"));
    assert_eq!(text(b""), Some(""));
    for bytes in [&b"\xff"[..], b"a\0b", b"\xc3", b"\xed\xa0\x80"] {
        assert_eq!(text(bytes), None, "{bytes:?}");
    }
}
