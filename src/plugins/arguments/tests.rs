use super::*;

fn parse(plugin_id: &str, tool_name: &str, timeout_ms: Option<i64>) -> Result<u128, String> {
    let arguments = PluginsCallArguments {
        plugin_id: plugin_id.to_owned(),
        tool_name: tool_name.to_owned(),
        arguments: Map::new(),
        timeout_ms,
    };
    PluginCall::parse(arguments).map(|call| call.timeout.as_millis()).map_err(|error| error.message)
}

#[test]
fn the_deadline_has_a_default_and_a_limit() {
    for (given, milliseconds) in [(None, 30_000), (Some(0), 30_000), (Some(1), 1), (Some(300_000), 300_000)] {
        assert_eq!(parse("p", "t", given), Ok(milliseconds));
    }
    assert!(parse("p", "t", Some(300_001)).unwrap_err().contains("300000 ms limit"));
    assert!(parse("p", "t", Some(-1)).unwrap_err().contains("-1 must not be negative"));
}

#[test]
fn names_keep_to_their_alphabets() {
    let longest = "n".repeat(128);
    for (id, name) in [("a", "b"), ("A-_9", "._-9Z"), ("p", longest.as_str())] {
        assert!(parse(id, name, None).is_ok(), "{id} {name}");
    }
    let too_long = "n".repeat(129);
    for (id, name) in
        [("", "t"), ("9", "t"), ("a.b", "t"), ("a ", "t"), ("é", "t"), ("p", ""), ("p", "a b"), ("p", "é")]
    {
        assert!(parse(id, name, None).is_err(), "{id} {name}");
    }
    assert!(parse("p", &too_long, None).unwrap_err().contains("1 to 128"));
}
