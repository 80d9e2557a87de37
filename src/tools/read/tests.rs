use std::fs;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::workspace::fixture::{Fixture, SECRET};

fn arguments(path: &str) -> ReadArguments {
    ReadArguments { path: path.to_owned(), ..Default::default() }
}

/// Both ways of reading, which must agree whenever the one that never waits answers.
fn ask(fixture: &Fixture, arguments: ReadArguments) -> Result<ReadOutput, Error> {
    let request = Read::parse(arguments)?;
    let answer = read(&fixture.workspace, &request, &Cancel::new());
    if let Some(cached) = read_cached(&fixture.workspace, &request) {
        match (&answer, &cached) {
            (Ok(waited), Ok(cached)) => assert_eq!(waited, cached),
            (Err(waited), Err(cached)) => {
                assert_eq!((waited.kind, &waited.message), (cached.kind, &cached.message));
            }
            _ => panic!("{answer:?} against {cached:?}"),
        }
    }
    answer
}

fn output(content: &str, start: u64, returned: u64, truncated: bool, whole: bool) -> ReadOutput {
    ReadOutput {
        content: content.to_owned(),
        start_offset_bytes: start,
        returned_bytes: returned,
        next_offset_bytes: start + returned,
        truncated,
        content_sha256: whole.then(|| Digest::of(content.as_bytes()).to_string()),
    }
}

#[test]
fn arguments_are_checked_before_any_file() {
    for (offset, max, expected) in [
        (Some(-1), None, "offset_bytes -1 is less than 0"),
        (None, Some(-1), "max_bytes -1 is less than 1 (0 means the default, 65536)"),
        (None, Some(1_048_577), "max_bytes 1048577 exceeds the 1048576 byte limit"),
        (None, Some(i64::MAX), "max_bytes 9223372036854775807 exceeds the 1048576 byte limit"),
    ] {
        let error = Read::parse(ReadArguments { offset_bytes: offset, max_bytes: max, ..arguments("a") });
        let error = error.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Malformed, expected));
    }
    assert_eq!(Read::parse(arguments("../a")).unwrap_err().kind, Kind::Malformed);
    let zero = ReadArguments { max_bytes: Some(0), ..arguments("a") };
    assert_eq!(Read::parse(zero).unwrap(), Read::parse(arguments("a")).unwrap());
}

#[test]
fn a_page_is_text_between_character_boundaries() {
    let fixture = Fixture::new();
    // é is two bytes, € three, 🧪 four.
    fixture.file("t", "aéz€🧪").file("empty", "").file("sub/b", "B").link("in", "sub/b");
    fixture.file("bad", b"ab\xff").file("cut", b"ab\xc3").file("stray", b"ab\xa9\xa9").file("nul", "ab\0c");
    let page = |path: &str, offset: i64, max: i64| {
        let arguments = ReadArguments { offset_bytes: Some(offset), max_bytes: Some(max), ..arguments(path) };
        ask(&fixture, arguments).map_err(|error| error.kind)
    };
    let cases = [
        ("t", 0, 0, Ok(output("aéz€🧪", 0, 11, false, true))),
        ("t", 0, 11, Ok(output("aéz€🧪", 0, 11, false, true))),
        ("t", 0, 10, Ok(output("aéz€", 0, 7, true, false))),
        ("t", 0, 8, Ok(output("aéz€", 0, 7, true, false))),
        ("t", 0, 2, Ok(output("a", 0, 1, true, false))),
        ("t", 1, 2, Ok(output("é", 1, 2, true, false))),
        ("t", 7, 4, Ok(output("🧪", 7, 4, false, false))),
        ("t", 11, 1, Ok(output("", 11, 0, false, false))),
        ("t", 1, 1, Err(Kind::LimitTooSmall)),
        ("t", 4, 2, Err(Kind::LimitTooSmall)),
        ("t", 7, 3, Err(Kind::LimitTooSmall)),
        ("t", 2, 9, Err(Kind::InvalidOffset)),
        ("t", 5, 9, Err(Kind::InvalidOffset)),
        ("t", 6, 9, Err(Kind::InvalidOffset)),
        ("t", 8, 9, Err(Kind::InvalidOffset)),
        ("t", 9, 9, Err(Kind::InvalidOffset)),
        ("t", 10, 9, Err(Kind::InvalidOffset)),
        ("t", 12, 9, Err(Kind::InvalidOffset)),
        ("t", i64::MAX, 9, Err(Kind::InvalidOffset)),
        ("empty", 0, 0, Ok(output("", 0, 0, false, true))),
        ("empty", 1, 0, Err(Kind::InvalidOffset)),
        ("bad", 0, 2, Ok(output("ab", 0, 2, true, false))),
        ("bad", 0, 3, Err(Kind::InvalidText)),
        ("bad", 2, 1, Err(Kind::InvalidText)),
        ("cut", 0, 2, Ok(output("ab", 0, 2, true, false))),
        ("cut", 0, 0, Err(Kind::InvalidText)),
        ("cut", 2, 1, Err(Kind::InvalidText)),
        ("stray", 3, 1, Err(Kind::InvalidText)),
        ("nul", 0, 2, Ok(output("ab", 0, 2, true, false))),
        ("nul", 0, 3, Err(Kind::InvalidText)),
        ("nul", 3, 3, Ok(output("c", 3, 1, false, false))),
        ("in", 0, 0, Ok(output("B", 0, 1, false, true))),
    ];
    for (path, offset, max, expected) in cases {
        assert_eq!(page(path, offset, max), expected, "{path} {offset} {max}");
    }
}

#[test]
fn base64_takes_any_bytes() {
    let fixture = Fixture::new();
    fixture.file("b", b"\x00\xff\x01\xc3");
    let ask = |offset, max| {
        let encoding = Some(ContentEncoding::Base64);
        ask(
            &fixture,
            ReadArguments { offset_bytes: Some(offset), max_bytes: Some(max), encoding, ..arguments("b") },
        )
    };
    let whole = ask(0, 0).unwrap();
    assert_eq!(whole.content, "AP8Bww==");
    assert_eq!(whole.content_sha256, Some(Digest::of(b"\x00\xff\x01\xc3").to_string()));
    let page = ask(1, 2).unwrap();
    assert_eq!((page.content.as_str(), page.next_offset_bytes, page.truncated), ("/wE=", 3, true));
    assert_eq!(ask(4, 0).unwrap().content, "");
    assert_eq!(ask(5, 0).unwrap_err().kind, Kind::InvalidOffset);
}

#[test]
fn refusals_say_what_and_where_and_name_nothing_outside() {
    let fixture = Fixture::new();
    fixture.file("nul", "ab\0c").file("bad", b"ab\xff").file("é", "é").dir("sub").fifo("pipe");
    fixture.link("esc", fixture.outside().join("secret")).link("esc-rel", "../outside/secret");
    fixture.link("loop", "loop").link("dangling", "nowhere").link("to-pipe", "pipe");
    let cases = [
        ("missing", Kind::NotFound, "path \"missing\" does not exist"),
        ("dangling", Kind::NotFound, "path \"dangling\" does not exist"),
        ("sub", Kind::NotRegularFile, "path \"sub\" is a directory, not a regular file"),
        ("pipe", Kind::NotRegularFile, "path \"pipe\" is a named pipe, not a regular file"),
        ("to-pipe", Kind::NotRegularFile, "path \"to-pipe\" is a named pipe, not a regular file"),
        ("esc", Kind::Filesystem, "path \"esc\" leads outside the workspace"),
        ("esc-rel", Kind::Filesystem, "path \"esc-rel\" leads outside the workspace"),
        (
            "loop",
            Kind::Filesystem,
            "path \"loop\" cannot be used: Too many levels of symbolic links (os error 40)",
        ),
        ("nul/x", Kind::Filesystem, "path \"nul/x\" cannot be used: Not a directory (os error 20)"),
        (
            "nul",
            Kind::InvalidText,
            "path \"nul\" is not text: a NUL at offset 2; encoding \"base64\" reads any bytes",
        ),
        (
            "bad",
            Kind::InvalidText,
            "path \"bad\" is not text: invalid UTF-8 at offset 2; encoding \"base64\" reads any bytes",
        ),
    ];
    for (path, kind, message) in cases {
        let error = ask(&fixture, arguments(path)).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, message));
    }
    let page = |offset, max| {
        let arguments = ReadArguments { offset_bytes: Some(offset), max_bytes: Some(max), ..arguments("é") };
        ask(&fixture, arguments).unwrap_err().message
    };
    assert_eq!(page(0, 1), "max_bytes 1 is less than the 2 bytes of the character at offset 0");
    assert_eq!(page(1, 9), "offset_bytes 1 points into the middle of a character, which begins at 0");
    assert_eq!(page(3, 9), "offset_bytes 3 lies beyond the end of \"é\"");
}

#[test]
fn a_large_file_comes_in_pages_and_only_a_small_page_inline() {
    let fixture = Fixture::new();
    let text = "0123456789abcdef".repeat(200_000 / 16);
    fixture.file("large", &text).file("exact", &text[..READ_INLINE_MAX_BYTES]);
    let parse = |path, max| Read::parse(ReadArguments { max_bytes: Some(max), ..arguments(path) }).unwrap();
    let cached = |path, max| read_cached(&fixture.workspace, &parse(path, max));
    assert_eq!(
        ask(&fixture, ReadArguments { max_bytes: Some(1_048_576), ..arguments("large") }).unwrap().content,
        text
    );
    assert!(cached("large", 1_048_576).is_none());
    if let Some(page) = cached("large", 0) {
        assert_eq!(page.unwrap(), output(&text[..65_536], 0, 65_536, true, false));
        let whole = cached("exact", 1_048_576).unwrap().unwrap();
        assert_eq!(whole, output(&text[..READ_INLINE_MAX_BYTES], 0, 65_536, false, true));
    }
}

#[test]
fn a_cancelled_read_says_so() {
    let fixture = Fixture::new();
    fixture.file("a", "a");
    let cancel = Cancel::new();
    cancel.cancel();
    let request = Read::parse(arguments("a")).unwrap();
    assert_eq!(read(&fixture.workspace, &request, &cancel).unwrap_err().kind, Kind::Cancelled);
}

#[test]
fn a_file_that_grows_while_it_is_read_still_gives_one_answer() {
    let fixture = Fixture::new();
    fixture.file("log", "");
    let done = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::OpenOptions::new().append(true).open(fixture.path("log")).unwrap();
            while !done.is_cancelled() {
                if file.metadata().unwrap().len() > 100_000 {
                    file.set_len(0).unwrap();
                }
                file.write_all("zeile é\n".as_bytes()).unwrap();
            }
        });
        for _ in 0..500 {
            let request = Read::parse(arguments("log")).unwrap();
            let answers = [
                Some(read(&fixture.workspace, &request, &Cancel::new())),
                read_cached(&fixture.workspace, &request),
            ];
            for answer in answers.into_iter().flatten().filter_map(Result::ok) {
                assert_eq!(answer.returned_bytes, answer.content.len() as u64);
                assert_eq!(answer.content_sha256.is_some(), !answer.truncated);
                if let Some(digest) = answer.content_sha256 {
                    assert_eq!(digest, Digest::of(answer.content.as_bytes()).to_string());
                }
            }
        }
        done.cancel();
    });
}

#[test]
fn a_read_never_sees_outside_while_symlinks_are_swapped() {
    let fixture = Fixture::new();
    fixture.dir("in").file("in/secret", "inside\n").link("swap", "in");
    let done = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !done.is_cancelled() {
                for target in ["../outside", "in", "in/../../outside"] {
                    number += 1;
                    let name = format!("link-{number}");
                    fixture.link(&name, target);
                    fs::rename(fixture.path(&name), fixture.path("swap")).unwrap();
                }
            }
        });
        let request = Read::parse(arguments("swap/secret")).unwrap();
        for _ in 0..10_000 {
            let answers = [
                Some(read(&fixture.workspace, &request, &Cancel::new())),
                read_cached(&fixture.workspace, &request),
            ];
            for answer in answers.into_iter().flatten() {
                match answer {
                    Ok(output) => assert_eq!(output.content, "inside\n"),
                    Err(error) => assert_eq!(error.kind, Kind::Filesystem, "{}", error.message),
                }
            }
        }
        done.cancel();
    });
    assert_eq!(fs::read_to_string(fixture.outside().join("secret")).unwrap(), SECRET);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_joined_are_the_file(text in "[ -~é€🧪\n]{0,400}", sizes in prop::collection::vec(4_i64..64, 1..20)) {
        let fixture = Fixture::new();
        fixture.file("t", &text);
        for encoding in [ContentEncoding::Utf8, ContentEncoding::Base64] {
            let mut joined = Vec::new();
            for index in 0.. {
                let page = ask(&fixture, ReadArguments {
                    offset_bytes: Some(joined.len() as i64),
                    max_bytes: Some(sizes[index % sizes.len()]),
                    encoding: Some(encoding),
                    ..arguments("t")
                }).unwrap();
                match encoding {
                    ContentEncoding::Utf8 => joined.extend(page.content.bytes()),
                    ContentEncoding::Base64 => joined.extend(STANDARD.decode(page.content).unwrap()),
                }
                prop_assert_eq!(page.next_offset_bytes, joined.len() as u64);
                if !page.truncated {
                    break;
                }
            }
            prop_assert_eq!(&joined, text.as_bytes());
        }
    }

    #[test]
    fn any_bytes_and_any_page_are_answered_by_the_rules(
        bytes in prop::collection::vec(prop::sample::select(vec![b'a', 0, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xff]), 0..12),
        offset in 0_i64..14,
        max in 1_i64..14,
    ) {
        let fixture = Fixture::new();
        fixture.file("b", &bytes);
        let arguments = ReadArguments { offset_bytes: Some(offset), max_bytes: Some(max), ..arguments("b") };
        if let Ok(page) = ask(&fixture, arguments) {
            let (start, end) = (offset as usize, page.next_offset_bytes as usize);
            prop_assert_eq!(page.content.as_bytes(), &bytes[start..end]);
            prop_assert!(!page.content.contains('\0'));
            prop_assert_eq!(page.truncated, end < bytes.len());
            prop_assert!(end > start || end == bytes.len());
        }
    }
}
