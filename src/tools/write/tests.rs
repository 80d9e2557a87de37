use super::*;

fn arguments(mode: WriteMode) -> WriteArguments {
    WriteArguments {
        path: "a".to_owned(),
        content: "x".to_owned(),
        mode,
        expected_sha256: None,
        parents: None,
        encoding: None,
        overwrite: None,
    }
}

#[test]
fn arguments_that_do_not_go_together_are_told_from_malformed_ones() {
    let digest = Some(Digest::of(b"").to_string());
    let (create, replace) = (arguments(WriteMode::Create), arguments(WriteMode::Replace));
    let base64 = Some(ContentEncoding::Base64);
    let cases = [
        (WriteArguments { expected_sha256: digest.clone(), ..create.clone() }, Some(Kind::InvalidArguments)),
        (WriteArguments { expected_sha256: Some(String::new()), ..create.clone() }, None),
        (WriteArguments { overwrite: Some(true), ..create.clone() }, Some(Kind::InvalidArguments)),
        (WriteArguments { overwrite: Some(false), ..create.clone() }, None),
        (replace.clone(), Some(Kind::InvalidArguments)),
        (
            WriteArguments { expected_sha256: Some(String::new()), ..replace.clone() },
            Some(Kind::InvalidArguments),
        ),
        (WriteArguments { expected_sha256: digest, ..replace.clone() }, None),
        (WriteArguments { overwrite: Some(true), ..replace.clone() }, None),
        (WriteArguments { expected_sha256: Some("A".repeat(64)), ..replace.clone() }, Some(Kind::Malformed)),
        (WriteArguments { content: "a\0".to_owned(), ..create.clone() }, Some(Kind::Malformed)),
        (WriteArguments { content: "é".repeat(524_288), ..create.clone() }, None),
        (WriteArguments { content: "x".repeat(1_048_577), ..create.clone() }, Some(Kind::Malformed)),
        (WriteArguments { path: "a/".to_owned(), ..create.clone() }, Some(Kind::Malformed)),
        // Malformed comes before what does not go together.
        (WriteArguments { path: String::new(), ..replace.clone() }, Some(Kind::Malformed)),
        (WriteArguments { encoding: base64, content: "AP8B".to_owned(), ..create.clone() }, None),
        (
            WriteArguments { encoding: base64, content: "AP8".to_owned(), ..create.clone() },
            Some(Kind::Malformed),
        ),
        (
            WriteArguments { encoding: base64, content: "AP8B\n".to_owned(), ..create.clone() },
            Some(Kind::Malformed),
        ),
        (
            WriteArguments { encoding: base64, content: "_-==".to_owned(), ..create.clone() },
            Some(Kind::Malformed),
        ),
        (
            WriteArguments {
                encoding: base64,
                content: STANDARD.encode(vec![0; 1_048_576]),
                ..create.clone()
            },
            None,
        ),
        (
            WriteArguments {
                encoding: base64,
                content: STANDARD.encode(vec![0; 1_048_577]),
                ..create.clone()
            },
            Some(Kind::Malformed),
        ),
        (
            WriteArguments { path: "d/.axlr-tmp-0123456789abcdef".to_owned(), ..create },
            Some(Kind::InvalidArguments),
        ),
    ];
    for (arguments, expected) in cases {
        let words = format!("{:.300}", format!("{arguments:?}"));
        assert_eq!(Write::parse(arguments).err().map(|error| error.kind), expected, "{words}");
    }
}

#[test]
fn a_refusal_names_member_and_limit() {
    let message = |arguments| Write::parse(arguments).unwrap_err().message;
    let create = arguments(WriteMode::Create);
    assert_eq!(
        message(WriteArguments { content: "x".repeat(1_048_577), ..create.clone() }),
        "content of 1048577 bytes exceeds the 1048576 byte limit"
    );
    assert_eq!(
        message(WriteArguments { content: "ab\0".to_owned(), ..create.clone() }),
        "content \"ab\\0\" must not contain NUL (there is one at byte 2)"
    );
    assert_eq!(
        message(WriteArguments { expected_sha256: Some("x".repeat(100)), ..create }),
        format!("expected_sha256 \"{}\"… must be 64 lower-case hex digits", "x".repeat(80))
    );
}

#[test]
fn members_that_do_not_go_together_are_named_with_their_values() {
    let create = WriteArguments { overwrite: Some(true), ..arguments(WriteMode::Create) };
    let error = Write::parse(create).unwrap_err();
    assert_eq!(error.message, "overwrite true goes with mode \"replace\", not with mode \"create\"");
}
