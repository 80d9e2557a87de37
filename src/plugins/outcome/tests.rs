use serde_json::json;

use super::*;

fn read(text: &str) -> Result<Value, String> {
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let output = output(&raw).map_err(|trouble| trouble.to_string())?;
    Ok(serde_json::to_value(output).unwrap())
}

#[test]
fn blocks_are_passed_through_as_they_are() {
    let blocks = r#"[{"type":"hologram","z":18446744073709551615,"a":-9223372036854775808,"_meta":{"$serde_json::private::RawValue":"1"}},
                     {"type":"text","text":"t","annotations":{"x":null}},7,null,"s"]"#;
    let content: Value =
        serde_json::from_str(&blocks.replace("$serde_json::private::RawValue", "other")).unwrap();
    let answer = read(&format!(r#"{{"content":{blocks},"more":1}}"#)).unwrap();
    assert_eq!(
        answer.to_string().replace("$serde_json::private::RawValue", "other"),
        json!({"content": content, "is_error": false}).to_string()
    );
    // An integer beyond 64 bits is the nearest double.
    let answer = read(r#"{"content":[18446744073709551616,-9223372036854775809]}"#).unwrap();
    assert_eq!(answer["content"], json!([18446744073709551616.0, -9223372036854775808.0]));
}

#[test]
fn what_a_result_has_is_taken() {
    for (text, meaning) in [
        (r#"{"content":[]}"#, json!({"content": [], "is_error": false})),
        (r#"{"content":[],"isError":true}"#, json!({"content": [], "is_error": true})),
        (
            r#"{"content":[],"isError":null,"structuredContent":null}"#,
            json!({"content": [], "is_error": false}),
        ),
        (
            r#"{"structuredContent":{"a":1}}"#,
            json!({"content": [], "structured_content": {"a": 1}, "is_error": false}),
        ),
        (
            r#"{"content":null,"structuredContent":[1],"resultType":"complete"}"#,
            json!({"content": [], "structured_content": [1], "is_error": false}),
        ),
    ] {
        assert_eq!(read(text), Ok(meaning), "{text}");
    }
}

#[test]
fn what_is_no_result_is_said() {
    let deep =
        |levels: usize| format!(r#"{{"content":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert!(read(&deep(127)).is_ok());
    for (text, reason) in [
        ("{}".to_owned(), "neither content nor"),
        (r#"{"content":null}"#.to_owned(), "neither content nor"),
        (r#"{"content":{}}"#.to_owned(), "no list"),
        (r#"{"content":[],"isError":1}"#.to_owned(), "isError"),
        ("[]".to_owned(), "no object"),
        ("\"x\"".to_owned(), "no object"),
        (r#"{"content":[1e400]}"#.to_owned(), "can't be carried"),
        (r#"{"content":[],"resultType":"input_required"}"#.to_owned(), "wants to ask"),
        (r#"{"resultType":"task"}"#.to_owned(), "a kind that is not known, \"task\""),
        (r#"{"content":[],"resultType":1}"#.to_owned(), "resultType"),
        (deep(128), "recursion limit"),
        (deep(100_000), "can't be carried"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(reason), "{text:.60}: {error}");
    }
}
