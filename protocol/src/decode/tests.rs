use proptest::prelude::*;
use serde_json::json;

use super::{Door, Malformed, request};
use crate::codec;
use crate::frame::Encoding;
use crate::limits;
use crate::request::{Call, Request, Tool};
use crate::sample;
use crate::tool::{ExecArguments, ReadArguments};

/// Decodes JSON at the socket.
fn socket(text: &str) -> Result<Request, Malformed> {
    request(Encoding::Json, text.as_bytes(), Door::Socket)
}

/// A request with these members after the version, the id and the tool.
fn with(tool: &str, rest: &str) -> String {
    format!(r#"{{"protocol_version":1,"request_id":"r","tool":"{tool}",{rest}}}"#)
}

fn arguments(tool: &str, arguments: &str) -> String {
    with(tool, &format!(r#""arguments":{arguments}"#))
}

#[track_caller]
fn accepts(text: &str) -> Request {
    socket(text).unwrap_or_else(|malformed| panic!("{text}\nrefused: {malformed}"))
}

#[track_caller]
fn refuses(text: &str, message: &str) -> Malformed {
    let malformed = socket(text).expect_err(text);
    assert_eq!(malformed.message, message, "{text}");
    malformed
}

#[test]
fn a_request_becomes_its_types() {
    let expected = Request {
        request_id: "r".into(),
        workspace: None,
        stream: false,
        call: Call::Read(ReadArguments { path: "a".into(), ..ReadArguments::default() }),
    };
    for text in [
        r#"{"protocol_version":1,"request_id":"r","tool":"read","arguments":{"path":"a"}}"#,
        r#"{"arguments":{"path":"a"},"tool":"read","request_id":"r","protocol_version":1}"#,
        " \t\r\n{ \"protocol_version\" : 1 , \"request_id\":\"\\u0072\", \"tool\":\"re\\u0061d\",\"arguments\":{\"pat\\u0068\":\"a\"}} \r\n\t",
        r#"{"protocol_version":1,"request_id":"r","tool":"read","arguments":{"path":"a","max_bytes":null},"workspace":null,"stream":null}"#,
    ] {
        assert_eq!(accepts(text), expected, "{text}");
    }
}

#[test]
fn strings_are_read_as_rfc_8259_has_them() {
    for (spelled, text) in [
        (r#""""#, ""),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9\u00E9é""#, "ééé"),
        (r#""\ud83d\ude00x""#, "😀x"),
        (r#""\\ud800""#, "\\ud800"),
        (r#""\uffff\ufdd0\u0000""#, "\u{ffff}\u{fdd0}\0"),
        ("\"\u{7f}\u{2028}\"", "\u{7f}\u{2028}"),
        (
            r#""a long plain beginning, then \n and a long plain end of it""#,
            "a long plain beginning, then \n and a long plain end of it",
        ),
    ] {
        let Call::Write(write) =
            accepts(&arguments("write", &format!(r#"{{"path":"a","mode":"create","content":{spelled}}}"#)))
                .call
        else {
            panic!("not a write")
        };
        assert_eq!(write.content, text, "{spelled}");
    }
}

#[test]
fn a_message_names_the_member_the_value_and_the_rule() {
    for (tool, given, message) in [
        ("read", r#"{"path":"a","max_bytes":1.5}"#, "max_bytes must be an integer, got 1.5"),
        ("read", r#"{"path":"a","max_bytes":1.0}"#, "max_bytes must be an integer, got 1.0"),
        ("read", r#"{"path":"a","max_bytes":1e3}"#, "max_bytes must be an integer, got 1e3"),
        ("read", r#"{"path":"a","max_bytes":1e400}"#, "max_bytes must be an integer, got 1e400"),
        ("read", r#"{"path":"a","max_bytes":"1"}"#, "max_bytes must be an integer, got \"1\""),
        (
            "read",
            r#"{"path":"a","offset_bytes":9223372036854775808}"#,
            "offset_bytes must be an integer between -2^63 and 2^63-1, got 9223372036854775808",
        ),
        (
            "read",
            r#"{"path":"a","offset_bytes":-9223372036854775809}"#,
            "offset_bytes must be an integer between -2^63 and 2^63-1, got -9223372036854775809",
        ),
        ("read", r#"{"path":null}"#, "path must be a string, got null"),
        ("read", r#"{"path":["a",{"b":[ ]}]}"#, "path must be a string, got [\"a\",{\"b\":[]}]"),
        ("read", "{}", "arguments of read: missing member \"path\""),
        ("read", r#"{"path":"a","path":"a"}"#, "arguments of read: repeated member \"path\""),
        (
            "read",
            r#"{"path":"a","max_bytes":null,"max_bytes":1}"#,
            "arguments of read: repeated member \"max_bytes\"",
        ),
        (
            "read",
            r#"{"path":"a","maxBytes":1}"#,
            "arguments of read: unknown member \"maxBytes\" (did you mean \"max_bytes\"?); \
             known are path, offset_bytes, max_bytes, encoding",
        ),
        (
            "server.ping",
            r#"{"x":1}"#,
            "arguments of server.ping: unknown member \"x\"; no member is known here",
        ),
        ("read", r#"["a"]"#, "arguments must be an object, got [\"a\"]"),
        ("read", "null", "arguments must be an object, got null"),
        ("read", r#""{}""#, "arguments must be an object, got \"{}\""),
        ("search", r#"{"pattern":"x","literal":1}"#, "literal must be true or false, got 1"),
        ("exec", r#"{"program":"p","args":"x"}"#, "args must be an array, got \"x\""),
        ("exec", r#"{"program":"p","args":["x",null]}"#, "args[1] must be a string, got null"),
        ("exec", r#"{"program":"p","env":{"A":"1","A":"1"}}"#, "env: repeated member \"A\""),
        ("exec", r#"{"program":"p","env":{"A":1}}"#, "env.A must be a string, got 1"),
        (
            "write",
            r#"{"path":"a","content":"","mode":"Create"}"#,
            "mode must be \"create\" or \"replace\", got \"Create\"",
        ),
        (
            "write",
            r#"{"path":"a","content":"","mode":{"create":null}}"#,
            "mode must be \"create\" or \"replace\", got {\"create\":null}",
        ),
        (
            "workspace.open",
            r#"{"root":"/","plugin_env":{"a":{},"a":{}}}"#,
            "plugin_env: repeated member \"a\"",
        ),
        (
            "plugins.call",
            r#"{"plugin_id":"p","tool_name":"t","arguments":{"a":[{"b":18446744073709551616}]}}"#,
            "arguments.a[0].b must be an integer between -2^63 and 2^64-1, got 18446744073709551616",
        ),
        (
            "plugins.call",
            r#"{"plugin_id":"p","tool_name":"t","arguments":{"a":[{"b":1,"\u0062":1}]}}"#,
            "arguments.a[0]: repeated member \"b\"",
        ),
        (
            "plugins.call",
            r#"{"plugin_id":"p","tool_name":"t","arguments":{"a":1e400}}"#,
            "arguments.a must be a number that a double can hold, got 1e400",
        ),
        (
            "exec",
            r#"{"program":"p","stdin_open":true}"#,
            "stdin_open is allowed only with \"stream\": true beside the arguments",
        ),
    ] {
        let malformed = refuses(&arguments(tool, given), message);
        assert_eq!((malformed.request_id.as_str(), malformed.tool), ("r", Tool::from_name(tool)));
        // The same arguments before the tool.
        refuses(
            &format!(r#"{{"arguments":{given},"protocol_version":1,"request_id":"r","tool":"{tool}"}}"#),
            message,
        );
    }
}

#[test]
fn a_long_value_is_cut_in_the_message() {
    let long = "é".repeat(200);
    let shown = "é".repeat(limits::MESSAGE_VALUE_MAX_CHARS - 1);
    refuses(
        &arguments("read", &format!(r#"{{"path":"a","max_bytes":"{long}"}}"#)),
        &format!("max_bytes must be an integer, got \"{shown}…"),
    );
}

#[test]
fn the_envelope_is_as_strict_as_the_arguments() {
    let rest = r#""arguments":{}"#;
    for (text, message) in [
        ("", "the request is empty; expected one object"),
        (" ", "not well-formed JSON: expected a value, but the text ends"),
        ("[]", "the request must be an object, got []"),
        ("{}", "missing member \"protocol_version\""),
        (r#"{"protocol_version":1,"request_id":"r","arguments":{}}"#, "missing member \"tool\""),
        (r#"{"protocol_version":1,"request_id":"r","tool":"list"}"#, "missing member \"arguments\""),
        (r#"{"protocol_version":2}"#, "protocol_version must be 1, got 2"),
        (r#"{"protocol_version":1.0}"#, "protocol_version must be an integer, got 1.0"),
        (r#"{"protocol_version":"1"}"#, "protocol_version must be an integer, got \"1\""),
        (r#"{"request_id":""}"#, "request_id must have 1 to 128 bytes, got 0: \"\""),
        (
            r#"{"request_id":"\u001f"}"#,
            "request_id must have no character below U+0020 and no U+007F, got \"\\u001f\"",
        ),
        (r#"{"request_id":7}"#, "request_id must be a string, got 7"),
        (r#"{"request_id":"\ud800"}"#, "unpaired surrogate \\ud800 at byte 15"),
        (
            r#"{"Request_ID":"r"}"#,
            "unknown member \"Request_ID\" (did you mean \"request_id\"?); known are protocol_version, request_id, tool, arguments, workspace, stream",
        ),
        (&with("list", &format!("{rest},{rest}")), "repeated member \"arguments\""),
        (&with("list", &format!(r#"{rest},"stream":1"#)), "stream must be true or false, got 1"),
        (&with("list", &format!(r#"{rest},"workspace":1"#)), "workspace must be a string, got 1"),
        (&with("list", &format!(r#"{rest},"stream":null,"stream":true"#)), "repeated member \"stream\""),
        (
            &(with("list", rest) + "x"),
            "not well-formed JSON at byte 68: nothing but white space may follow the object, found \"x\"",
        ),
        (
            &(with("list", rest) + "\u{a0}"),
            "not well-formed JSON at byte 68: nothing but white space may follow the object, found \"\u{a0}\"",
        ),
        (
            &with("list", &format!("{rest},")),
            "not well-formed JSON at byte 68: expected the name of a member in double quotes, found \"}\"",
        ),
    ] {
        refuses(text, message);
    }
}

#[test]
fn numbers_follow_the_grammar() {
    let number =
        |number: &str| socket(&arguments("read", &format!(r#"{{"path":"a","max_bytes":{number}}}"#)));
    for good in ["0", "-0", "-1", "10", "9223372036854775807", "-9223372036854775808"] {
        assert!(number(good).is_ok(), "{good}");
    }
    for bad in ["01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "1_0", "NaN", "-Infinity", "１"] {
        assert!(number(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_worker_knows_no_members_of_a_connection() {
    let worker = |text: &str| request(Encoding::Json, text.as_bytes(), Door::Worker);
    let message = |text: &str| worker(text).expect_err(text).message;
    let known = "known are protocol_version, request_id, tool, arguments";
    for member in ["workspace", "stream"] {
        let text = with("list", &format!(r#""arguments":{{}},"{member}":null"#));
        assert_eq!(message(&text), format!("unknown member \"{member}\"; {known}"));
        assert!(socket(&text).is_ok());
    }
    let known = "known are program, args, cwd, stdin, timeout_ms, max_output_bytes, env";
    for member in ["stdin_open", "surprise"] {
        assert_eq!(
            message(&arguments("exec", &format!(r#"{{"program":"p","{member}":null}}"#))),
            format!("arguments of exec: unknown member \"{member}\"; {known}"),
        );
    }
    assert!(worker(&arguments("exec", r#"{"program":"p","env":{"stdin_open":"1"}}"#)).is_ok());
    for tool in Tool::ALL {
        let malformed = worker(&arguments(tool.as_str(), r#"{"surprise":1}"#)).unwrap_err();
        assert_eq!(malformed.tool, tool.is_worker_tool().then_some(*tool));
        assert_eq!(malformed.message.starts_with("tool must be "), !tool.is_worker_tool());
    }
}

#[test]
fn stdin_open_goes_with_stream() {
    let exec = r#""arguments":{"program":"p","stdin_open":true}"#;
    let expected = ExecArguments { program: "p".into(), stdin_open: Some(true), ..ExecArguments::default() };
    for text in
        [with("exec", &format!(r#"{exec},"stream":true"#)), with("exec", &format!(r#""stream":true,{exec}"#))]
    {
        assert_eq!(accepts(&text).call, Call::Exec(expected.clone()));
    }
    for stream in ["false", "null"] {
        assert!(socket(&with("exec", &format!(r#"{exec},"stream":{stream}"#))).is_err());
    }
    assert!(socket(&arguments("exec", r#"{"program":"p","stdin_open":null}"#)).is_ok());
}

#[test]
fn plugin_arguments_are_carried_exactly() {
    let given = r#"{"":[],"big":18446744073709551615,"small":-9223372036854775808,"zero":-0,"float":1e2,
        "$serde_json::private::RawValue":"{","$serde_json::private::Number":"x","stdin_open":{"a":null}}"#;
    let text =
        arguments("plugins.call", &format!(r#"{{"plugin_id":"p","tool_name":"t","arguments":{given}}}"#));
    let Call::PluginsCall(call) = accepts(&text).call else { panic!("not a plugin call") };
    assert_eq!(
        serde_json::Value::Object(call.arguments),
        json!({"": [], "big": u64::MAX, "small": i64::MIN, "zero": 0, "float": 100.0,
            "$serde_json::private::RawValue": "{", "$serde_json::private::Number": "x", "stdin_open": {"a": null}}),
    );
}

/// Plugin arguments whose innermost level is `level` of the request.
fn nested(level: usize, open: &str, close: &str) -> String {
    let inner = level - 3;
    let value = format!("{}0{}", open.repeat(inner), close.repeat(inner));
    arguments("plugins.call", &format!(r#"{{"plugin_id":"p","tool_name":"t","arguments":{{"v":{value}}}}}"#))
}

#[test]
fn level_128_is_the_deepest() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        accepts(&nested(limits::DEPTH_MAX, open, close));
        let malformed =
            refuses(&nested(limits::DEPTH_MAX + 1, open, close), "nesting is deeper than 128 levels");
        assert_eq!((malformed.request_id.as_str(), malformed.tool), ("", None));
    }
    for unit in ["[", r#"{"a":"#, r#"[{"a":"#] {
        for head in ["", r#"{"x":"#, r#"{"protocol_version":1,"request_id":"r","tool":"list","arguments":"#] {
            refuses_any(&(head.to_owned() + &unit.repeat(100_000)));
        }
    }
    for unit in [&[0x91][..], &[0x81, 0xa1, 0x61], &[0xdd, 0xff, 0xff, 0xff, 0xff]] {
        assert!(request(Encoding::MessagePack, &unit.repeat(100_000), Door::Socket).is_err());
    }
}

#[track_caller]
fn refuses_any(text: &str) {
    assert!(socket(text).is_err());
}

#[test]
fn a_request_has_at_most_4_mib() {
    let text = arguments("list", "{}");
    let pad = |size: usize| text.clone() + &" ".repeat(size - text.len());
    accepts(&pad(limits::REQUEST_MAX_BYTES));
    let malformed = refuses(
        &pad(limits::REQUEST_MAX_BYTES + 1),
        "the request has 4194305 bytes, over the limit of 4194304",
    );
    assert_eq!((malformed.request_id.as_str(), malformed.tool), ("", None));
}

#[test]
fn the_echo_takes_what_is_whole_single_and_valid() {
    for (text, request_id, tool) in [
        (r#"{"request_id":"r","tool":"read"}"#, "r", Some(Tool::Read)),
        (
            r#"{"x":[1.5,{"a":1,"a":1e999}],"request_id":"r","tool":"read","arguments":99999999999999999999}"#,
            "r",
            Some(Tool::Read),
        ),
        (r#"{"request_id":"r","request_id":"r","tool":"read"}"#, "", Some(Tool::Read)),
        (r#"{"request_id":"r","tool":"read","\u0074ool":"read"}"#, "r", None),
        (r#"{"request_id":"r","tool":"delete"}"#, "r", None),
        (r#"{"request_id":{"a":1},"tool":["read"]}"#, "", None),
        (r#"{"request_id":"","tool":"list"}"#, "", Some(Tool::List)),
        (r#"{"request_id":"\ud800","tool":"list"}"#, "", Some(Tool::List)),
        (r#"{"request_id":"r","tool":"list","x":"\udc00"}"#, "r", Some(Tool::List)),
        (r#"{"request_id":"r","tool":"list""#, "", None),
        (r#"{"request_id":"r","tool":"list"}{}"#, "", None),
        (r#"{"request_id":"r","tool":"list",}"#, "", None),
        (r#"[{"request_id":"r","tool":"list"}]"#, "", None),
        (r#"{"a":{"request_id":"r","tool":"list"}}"#, "", None),
    ] {
        let malformed = socket(text).unwrap_err();
        assert_eq!((malformed.request_id.as_str(), malformed.tool), (request_id, tool), "{text}");
    }
    let mut text = br#"{"request_id":"r","tool":"list","x":"?"}"#.to_vec();
    text[37] = 0xff;
    let malformed = request(Encoding::Json, &text, Door::Socket).unwrap_err();
    assert_eq!(
        malformed,
        Malformed { request_id: String::new(), tool: None, message: "not valid UTF-8 at byte 37".into() }
    );
}

/// A MessagePack request for a read of `path`, whose arguments end in `rest`.
fn packed(members: u8, path: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut frame = b"\x84\xb0protocol_version\x01\xaarequest_id\xa1r\xa4tool\xa4read\xa9arguments".to_vec();
    frame.push(0x80 | members);
    frame.extend_from_slice(b"\xa4path");
    frame.extend_from_slice(path);
    frame.extend_from_slice(rest);
    frame
}

#[test]
fn messagepack_has_the_same_meaning() {
    let decode = |frame: &[u8]| request(Encoding::MessagePack, frame, Door::Socket);
    for frame in [
        packed(1, b"\xa1a", b""),
        packed(1, b"\xd9\x01a", b""),
        packed(1, b"\xc4\x01a", b""),
        packed(2, b"\xa1a", b"\xa9max_bytes\xc0"),
    ] {
        assert_eq!(
            decode(&frame).unwrap().call,
            Call::Read(ReadArguments { path: "a".into(), ..Default::default() })
        );
    }
    for (value, number) in [
        (&b"\x05"[..], 5),
        (b"\xcc\x05", 5),
        (b"\xcd\x01\x00", 256),
        (b"\xd3\xff\xff\xff\xff\xff\xff\xff\xff", -1),
        (b"\xff", -1),
        (b"\xd0\x80", -128),
    ] {
        let frame = packed(2, b"\xa1a", &[b"\xa9max_bytes", value].concat());
        let Call::Read(read) = decode(&frame).unwrap().call else { panic!("not a read") };
        assert_eq!(read.max_bytes, Some(number), "{value:?}");
    }
    for (frame, message, is_echoed) in [
        (
            packed(2, b"\xa1a", b"\xa9max_bytes\xcb\x3f\xf0\0\0\0\0\0\0"),
            "max_bytes must be an integer, got 1.0",
            true,
        ),
        (
            packed(2, b"\xa1a", b"\xa9max_bytes\xcf\x80\0\0\0\0\0\0\0"),
            "max_bytes must be an integer between -2^63 and 2^63-1, got 9223372036854775808",
            true,
        ),
        (packed(2, b"\xa1a", b"\xa9max_bytes\xa2ab"), "max_bytes must be an integer, got \"ab\"", true),
        (packed(1, b"\xc0", b""), "path must be a string, got null", true),
        (packed(1, b"\x92\x01\x81\xa1a\xc3", b""), "path must be a string, got [1,{\"a\":true}]", true),
        (packed(2, b"\xa1a", b"\xa4path\xa1a"), "arguments of read: repeated member \"path\"", true),
        (packed(1, b"\xd4\x01\x00", b""), "an ext type at byte 59 has no meaning here", true),
        (packed(1, b"\xc4\x01\xff", b""), "a string is not valid UTF-8 at byte 60", true),
        (packed(1, b"\xa1\xff", b""), "a string is not valid UTF-8 at byte 59", false),
        (packed(2, b"\xa1a", b"\x01\x01"), "the name of a member at byte 60 is no string", false),
        (packed(1, b"\xa1a", b"\xc0"), "1 bytes follow the object; a frame holds one", false),
        (
            packed(1, b"\xdb\xff\xff\xff\xff", b""),
            "not well-formed MessagePack at byte 63: 4294967295 bytes are announced, 0 are left",
            false,
        ),
        (packed(1, b"\xc1", b""), "not well-formed MessagePack at byte 58: 0xc1", false),
        (b"\xc0".to_vec(), "the request must be an object, got null", false),
        (Vec::new(), "the request is empty; expected one object", false),
    ] {
        let malformed = decode(&frame).unwrap_err();
        assert_eq!(malformed.message, message);
        let echoed = if is_echoed { ("r", Some(Tool::Read)) } else { ("", None) };
        assert_eq!((malformed.request_id.as_str(), malformed.tool), echoed, "{message}");
    }
}

proptest! {
    #[test]
    fn both_encodings_carry_every_request(request in sample::request()) {
        for encoding in [Encoding::Json, Encoding::MessagePack] {
            let mut frame = Vec::new();
            codec::request(encoding, &request, &mut frame).unwrap();
            let document = match encoding {
                Encoding::Json => &frame[..frame.len() - 1],
                Encoding::MessagePack => &frame[4..],
            };
            prop_assert_eq!(&super::request(encoding, document, Door::Socket), &Ok(request.clone()));
        }
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for encoding in [Encoding::Json, Encoding::MessagePack] {
            let _ = request(encoding, &bytes, Door::Socket);
            let _ = codec::message(encoding, &bytes);
        }
    }

    #[test]
    fn a_spoiled_request_is_judged_without_a_panic(
        request in sample::request(), place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        for encoding in [Encoding::Json, Encoding::MessagePack] {
            let mut frame = Vec::new();
            codec::request(encoding, &request, &mut frame).unwrap();
            let place = place.index(frame.len());
            if cut { frame.truncate(place) } else { frame[place] = byte }
            let _ = super::request(encoding, &frame, Door::Worker);
        }
    }

    #[test]
    fn json_texts_are_judged_as_serde_json_judges_them(text in r#"[ \[\]{}:,"\\a0-2eE.+-]{0,24}|\[("(\\u[dD][89c][0-9]{2}|[a-zé\\n/]){0,3}"|-?[0-9]{1,25}(\.[0-9]{1,3})?(e[+-]?[0-9]{1,2})?)\]"#) {
        let text = arguments("plugins.call", &format!(r#"{{"plugin_id":"p","tool_name":"t","arguments":{{"v":{text}}}}}"#));
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match socket(&text) {
            Ok(ours) => {
                let Call::PluginsCall(ours) = ours.call else { panic!("not a plugin call") };
                let theirs = theirs.expect("serde_json refuses what we accept");
                // It reads -0 as a float, and rounds long fractions in its own way.
                if !text.contains("-0") && !text.contains(['.', 'e', 'E']) {
                    prop_assert_eq!(&serde_json::Value::Object(ours.arguments), &theirs["arguments"]["arguments"]);
                }
            }
            Err(malformed) => {
                let is_ours_alone = ["repeated", "integer between", "double can hold"];
                prop_assert!(theirs.is_err() || is_ours_alone.iter().any(|ours| malformed.message.contains(ours)), "{} {}", text, malformed);
            }
        }
    }
}
