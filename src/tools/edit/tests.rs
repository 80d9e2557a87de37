use proptest::prelude::*;

use super::*;
use crate::tools::mutation::{Mutation, apply};
use crate::workspace::Durability;
use crate::workspace::fixture::Fixture;

fn arguments(old: &str, new: &str) -> EditArguments {
    EditArguments {
        path: "a".to_owned(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        ..Default::default()
    }
}

/// The file afterwards.
fn edited(content: impl AsRef<[u8]>, arguments: EditArguments) -> Result<String, Error> {
    let fixture = Fixture::new();
    fixture.file("a", &content);
    let mutation = Mutation::Edit(Edit::parse(arguments)?);
    let answer = apply(&fixture.workspace, &mutation, Durability::Atomic, &Cancel::new());
    fixture.assert_clean();
    let now = fixture.content("a").unwrap();
    match answer {
        Ok(Output::Edit(output)) => {
            assert_eq!(output.written_bytes, now.len() as u64);
            assert_eq!(output.content_sha256, Digest::of(now.as_bytes()).to_string());
            Ok(now)
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => {
            assert_eq!(now, String::from_utf8_lossy(content.as_ref()));
            Err(error)
        }
    }
}

#[test]
fn exactly_one_occurrence_is_replaced_and_nothing_else() {
    for (content, old, new, expected) in [
        ("alpha beta gamma", "beta", "BETA", Ok("alpha BETA gamma")),
        ("alpha", "alpha", "", Ok("")),
        ("\u{feff}one\r\ntwo\r\nthree", "two", "2", Ok("\u{feff}one\r\n2\r\nthree")),
        ("a\r\nb\r\n", "a\r\nb", "A\r\nB", Ok("A\r\nB\r\n")),
        ("log(\"done\");\n", "log(\"done\");", "log(\"$& ok\");", Ok("log(\"$& ok\");\n")),
        ("aéz", "é", "e", Ok("aez")),
        ("a a", "a", "b", Err(Kind::Conflict)),
        ("aaa", "aa", "b", Err(Kind::Conflict)),
        ("abab ab", "zz", "b", Err(Kind::Conflict)),
        ("a\r\nb\r\n", "a\nb", "x", Err(Kind::Conflict)),
        ("", "x", "y", Err(Kind::Conflict)),
        ("x", "a longer text than the file", "y", Err(Kind::Conflict)),
        ("nul\0", "nul", "y", Err(Kind::InvalidText)),
    ] {
        let answer = edited(content, arguments(old, new)).map_err(|error| error.kind);
        assert_eq!(answer, expected.map(str::to_owned), "{content:?} {old:?}");
    }
    assert_eq!(edited(b"a\xff", arguments("a", "b")).unwrap_err().kind, Kind::InvalidText);
}

#[test]
fn malformed_arguments_are_refused() {
    for (old, new) in [("", "x"), ("a\0", "x"), ("a", "\0")] {
        assert_eq!(Edit::parse(arguments(old, new)).unwrap_err().kind, Kind::Malformed);
    }
    let digest = |text: &str| Some(text.to_owned());
    let wrong = EditArguments { expected_sha256: digest("abc"), ..arguments("a", "b") };
    assert_eq!(Edit::parse(wrong).unwrap_err().kind, Kind::Malformed);
    let empty = EditArguments { expected_sha256: digest(""), ..arguments("a", "b") };
    assert_eq!(Edit::parse(empty).unwrap().expected, None);
}

#[test]
fn a_digest_is_checked_before_the_text() {
    let with =
        |digest: Digest| EditArguments { expected_sha256: Some(digest.to_string()), ..arguments("zz", "c") };
    let stale = edited("abc", with(Digest::of(b"other"))).unwrap_err();
    assert!(stale.message.contains(&Digest::of(b"abc").to_string()), "{}", stale.message);
    let current = edited("abc", with(Digest::of(b"abc"))).unwrap_err();
    assert!(current.message.starts_with("old_text \"zz\" does not occur"), "{}", current.message);
}

#[test]
fn the_result_has_a_limit() {
    let limit = "x".repeat(1_048_575) + "y";
    assert_eq!(edited(&limit, arguments("y", "z")).unwrap().len(), 1_048_576);
    assert_eq!(edited(&limit, arguments("y", "zz")).unwrap_err().kind, Kind::FileTooLarge);
    let error = edited("x".repeat(1_048_577), arguments("y", "")).unwrap_err();
    assert_eq!(error.message, "path \"a\" has 1048577 bytes, which exceeds the 1048576 byte limit");
    let all = EditArguments { replace_all: Some(true), ..arguments("x", &"y".repeat(1_048_576)) };
    assert_eq!(edited("x".repeat(1_000_000), all).unwrap_err().kind, Kind::FileTooLarge);
}

#[test]
fn all_occurrences_are_replaced_from_left_to_right() {
    let all = |old, new| EditArguments { replace_all: Some(true), ..arguments(old, new) };
    assert_eq!(edited("aaaaa", all("aa", "b")).unwrap(), "bba");
    assert_eq!(edited("a.a.a", all("a", "aa")).unwrap(), "aa.aa.aa");
    assert_eq!(edited("abc", all("x", "y")).unwrap_err().kind, Kind::Conflict);
    let edit = Edit::parse(all("aa", "b")).unwrap();
    let fixture = Fixture::new();
    fixture.file("a", "aaaaa");
    let mutation = Mutation::Edit(edit);
    match apply(&fixture.workspace, &mutation, Durability::Atomic, &Cancel::new()).unwrap() {
        Output::Edit(output) => assert_eq!(output.replacements, Some(2)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ambiguous_text_names_its_first_five_lines() {
    let message = |content: &str, old: &str| edited(content, arguments(old, "x")).unwrap_err().message;
    assert_eq!(
        message("a\nb\na\n", "a"),
        "old_text \"a\" occurs more than once in \"a\": on lines 1, 3; make it longer, or set replace_all"
    );
    assert_eq!(
        message("\naaa", "aa"),
        "old_text \"aa\" occurs more than once in \"a\": on lines 2, 2; make it longer, or set replace_all"
    );
    assert!(message(&"a\n".repeat(5), "a").contains("on lines 1, 2, 3, 4, 5;"));
    assert!(message(&"a\n".repeat(6), "a").contains("on lines 1, 2, 3, 4, 5 and more;"));
}

#[test]
fn hostile_texts_cost_no_more_than_they_are_long() {
    let started = std::time::Instant::now();
    let (many, half) = ("a".repeat(1_048_576), "a".repeat(524_288));
    for old in [half.clone(), half.clone() + "b", "b".to_owned() + &half, "ab".repeat(262_144)] {
        assert_eq!(edited(&many, arguments(&old, "x")).unwrap_err().kind, Kind::Conflict);
    }
    let (spaces, lines) = (" ".repeat(1_000_000), "\n".repeat(1_000_000));
    assert_eq!(edited(&spaces, arguments(&(spaces.clone() + "x"), "")).unwrap_err().kind, Kind::Conflict);
    assert_eq!(edited(&lines, arguments(&(lines.clone() + "x"), "")).unwrap_err().kind, Kind::Conflict);
    // Quadratic work would take minutes; this is a second in a debug build on a busy machine.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

/// The contract, as simply as it can be said.
fn model(content: &str, old: &str, new: &str, all: bool) -> Result<String, Kind> {
    let places =
        (0..content.len()).filter(|at| content.as_bytes()[*at..].starts_with(old.as_bytes())).count();
    match (places, all) {
        (0, _) => Err(Kind::Conflict),
        (1, _) | (_, true) => Ok(content.replace(old, new)),
        _ => Err(Kind::Conflict),
    }
}

#[test]
fn an_edit_does_what_the_model_does() {
    let fixture = Fixture::new();
    fixture.file("a", "");
    let folder = Folder::open(&fixture.workspace, "").unwrap();
    let attributes = folder.attributes("a").unwrap();
    proptest!(|(
        content in "[abé \t\r\n]{0,60}",
        old in "[abé \t\r\n]{1,4}",
        new in "[abc]{0,4}",
        all: bool,
    )| {
        let edit = Edit::parse(EditArguments { replace_all: Some(all), ..arguments(&old, &new) }).unwrap();
        let seen = Seen::File { attributes, content: Content::Bytes(content.clone().into_bytes()) };
        let answer = edit.change(&seen).map(|change| String::from_utf8(change.content.into_owned()).unwrap());
        prop_assert_eq!(answer.map_err(|error| error.kind), model(&content, &old, &new, all));
    });
}
