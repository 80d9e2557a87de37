use serde_json::json;

use super::*;

#[test]
fn annotated_arguments_become_headers() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        "x-mcp-header": {"type": "string"},
        "other": {"default": {"x-mcp-header": 1}, "enum": [{"x-mcp-header": 1}]},
    }});
    let params = ParamHeaders::of(&schema).unwrap();
    let headers = |arguments: Value| {
        let headers = params.headers("tool", arguments.as_object().unwrap());
        let shown =
            |(name, value): (&HeaderName, &HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
        let mut shown: Vec<String> = headers.iter().map(shown).collect();
        shown.sort();
        shown
    };
    assert_eq!(
        headers(json!({"region": "us-west1", "deep": {"n": -7}, "flag": true})),
        ["mcp-name: tool", "mcp-param-flag: true", "mcp-param-n: -7", "mcp-param-region: us-west1"]
    );
    assert_eq!(headers(json!({"region": null, "deep": 1, "flag": []})), ["mcp-name: tool"]);
}

#[test]
fn values_that_a_header_can_not_carry_are_encoded() {
    for (text, header) in [
        ("us-west1", "us-west1"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ] {
        assert_eq!(encoded(text).unwrap().to_str().unwrap(), header, "{text}");
    }
}

#[test]
fn annotations_that_can_not_be_are_refused() {
    let at = |schema: Value| json!({"properties": {"p": schema}});
    for schema in [
        at(json!({"type": "string", "x-mcp-header": ""})),
        at(json!({"type": "string", "x-mcp-header": "a b"})),
        at(json!({"type": "string", "x-mcp-header": "a\r\nb"})),
        at(json!({"type": "string", "x-mcp-header": 1})),
        at(json!({"type": "number", "x-mcp-header": "N"})),
        at(json!({"x-mcp-header": "N"})),
        at(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "N"}})),
        at(json!({"anyOf": [{"type": "string", "x-mcp-header": "N"}]})),
        json!({"x-mcp-header": "N"}),
        json!({"$defs": {"d": {"type": "string", "x-mcp-header": "N"}}}),
        json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "N"},
            "b": {"type": "string", "x-mcp-header": "n"},
        }}),
    ] {
        assert!(ParamHeaders::of(&schema).is_err(), "{schema}");
    }
}
