use super::*;

fn read(text: &str) -> String {
    match incoming(text.as_bytes()) {
        None => "nothing".to_owned(),
        Some(Incoming::Stray) => "stray".to_owned(),
        Some(Incoming::Response { id, outcome: Outcome::Result(raw) }) => format!("{id} {}", raw.get()),
        Some(Incoming::Response { id, outcome: Outcome::Error { code, message, .. } }) => {
            format!("{id} error {code} {message}")
        }
        Some(Incoming::Response { id, outcome: Outcome::Neither }) => format!("{id} neither"),
        Some(Incoming::Request { id, method }) => format!("{method}? {}", answer(id, &method)),
        Some(Incoming::Notification { method, params }) => {
            format!("{method}! {}", params.map_or("", RawValue::get))
        }
    }
}

#[test]
fn messages_are_told_apart_and_results_keep_their_text() {
    for (text, meaning) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{"b":1e400, "a":[]}}"#, r#"7 {"b":1e400, "a":[]}"#),
        (r#"{"jsonrpc":"2.0","id":"7","result":{}}"#, "7 {}"),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"more":1}"#, "7 {}"),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":" a b "}}"#, "7 error -1  a b "),
        (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1}}"#, "7 error -1 "),
        (r#"{"jsonrpc":"2.0","id":7,"error":"no"}"#, "7 neither"),
        (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "7 neither"),
        (r#"{"jsonrpc":"2.0","id":7}"#, "7 neither"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#, "stray"),
        (r#"{"jsonrpc":"2.0","id":"x","result":{}}"#, "stray"),
        (r#"{"jsonrpc":"2.0","id":-1,"result":{}}"#, "-1 {}"),
        (r#"{"jsonrpc":"2.0","method":"n","params":{"a":1}}"#, r#"n! {"a":1}"#),
        (r#"{"jsonrpc":"2.0","method":"n"}"#, "n! "),
        (r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#, r#"ping? {"jsonrpc":"2.0","id":"p","result":{}}"#),
        (r#"{"jsonrpc":"2.0"}"#, "nothing"),
        (r#"{"id":7,"result":{}}"#, "nothing"),
        (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, "nothing"),
        (r#"{"level":"info","msg":"hello"}"#, "nothing"),
        ("[]", "nothing"),
        (r#"["2.0",7,"ping"]"#, "nothing"),
        ("hello", "nothing"),
        ("{", "nothing"),
    ] {
        assert_eq!(read(text), meaning, "{text}");
    }
    let refused = read(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
    assert!(refused.contains(r#""id":1,"error":{"code":-32601"#), "{refused}");
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&deep).starts_with("1 [["));
}

#[test]
fn a_strangers_text_is_cut() {
    let text = shown(&"x".repeat(2_000));
    assert_eq!(text.chars().count(), 1_001);
    assert!(text.ends_with('…'));
}
