use super::*;

#[test]
fn a_bounded_number_names_member_value_and_limit() {
    let page = Bound { min: 1, max: 1_048_576, default: 65_536, zero_is_default: true, unit: "byte" };
    let plain = Bound { min: 0, max: 5, default: 0, zero_is_default: false, unit: "" };
    let check = |value, bound| bounded("m", value, bound).map_err(|error| error.message);
    assert_eq!(check(None, page), Ok(65_536));
    assert_eq!(check(Some(0), page), Ok(65_536));
    assert_eq!(check(Some(1), page), Ok(1));
    assert_eq!(check(Some(1_048_576), page), Ok(1_048_576));
    assert_eq!(check(Some(2_097_152), page), Err("m 2097152 exceeds the 1048576 byte limit".into()));
    assert_eq!(check(Some(-1), page), Err("m -1 is less than 1 (0 means the default, 65536)".into()));
    assert_eq!(check(Some(0), plain), Ok(0));
    assert_eq!(check(Some(6), plain), Err("m 6 exceeds the limit of 5".into()));
    assert_eq!(check(Some(i64::MIN), plain), Err("m -9223372036854775808 is less than 0".into()));
}

#[test]
fn a_quoted_value_is_cut_and_shows_what_cannot_be_seen() {
    assert_eq!(quoted("it's"), r#""it's""#);
    assert_eq!(quoted("a\"b\\\n\0\u{1b}"), r#""a\"b\\\n\0\u{1b}""#);
    assert_eq!(quoted(&"é".repeat(80)), format!("\"{}\"", "é".repeat(80)));
    assert_eq!(quoted(&"é".repeat(81)), format!("\"{}\"…", "é".repeat(80)));
}

#[test]
fn a_path_that_breaks_a_rule_is_malformed() {
    for path in ["", ".", "/etc/passwd", "a/", "../a", "a/../b", "..", "a\0b"] {
        let error = file_path("path", path).unwrap_err();
        assert_eq!(error.kind, Kind::Malformed, "{path:?}");
        assert!(error.message.starts_with("path \""), "{}", error.message);
    }
    for path in ["a", "./a", "a//b", "..a", "...", "a/.", "a\\b"] {
        assert_eq!(file_path("path", path).unwrap().as_str(), path);
    }
}

#[test]
fn an_empty_digest_was_not_given() {
    assert_eq!(digest("d", None).unwrap(), None);
    assert_eq!(digest("d", Some("")).unwrap(), None);
    assert_eq!(digest("d", Some("A")).unwrap_err().message, "d \"A\" must be 64 lower-case hex digits");
}
