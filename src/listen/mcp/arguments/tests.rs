use axlr_protocol::tool::{ListArguments, PluginsCallArguments, ReadArguments};
use axlr_protocol::{Call, Code, Tool};
use serde_json::value::RawValue;

use super::{of_plugin, read};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn refused(tool: Tool, arguments: &str) -> String {
    let error = read(tool, Some(&raw(arguments))).unwrap_err();
    assert_eq!(error.code, Code::InvalidRequest);
    error.message
}

#[test]
fn arguments_are_read_as_at_every_other_door() {
    let read_file = Call::Read(ReadArguments { path: "a".into(), max_bytes: Some(3), ..Default::default() });
    assert_eq!(
        read(Tool::Read, Some(&raw(r#"{"path":"a","max_bytes":3,"offset_bytes":null}"#))),
        Ok(read_file)
    );
    assert_eq!(read(Tool::List, None), Ok(Call::List(ListArguments::default())));
}

#[test]
fn a_mistake_is_told_so_that_a_model_can_mend_it() {
    let table = [
        (Tool::Read, r#"{"pth":"a"}"#, "unknown member \"pth\" (did you mean \"path\"?)"),
        (Tool::Read, "{}", "path"),
        (Tool::Read, r#"{"path":"a","max_bytes":"3"}"#, "max_bytes"),
        (Tool::Read, r#"{"path":"a","path":"b"}"#, "path"),
        (Tool::Read, r#"{"path":"\ud800"}"#, "surrogate"),
        (Tool::Read, r#"["a"]"#, "object"),
        (Tool::Write, r#"{"path":"a","content":"","mode":"append"}"#, "mode"),
        (Tool::Exec, r#"{"program":"a","stdin_open":true}"#, "stdin_open"),
        (Tool::List, r#"{"workspace":"1"}"#, "workspace"),
    ];
    for (tool, arguments, expected) in table {
        let message = refused(tool, arguments);
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}

#[test]
fn nothing_in_the_arguments_can_end_them() {
    // The reader sees one member, whatever stands in it.
    let sneaky = r#"{"path":"a"},"tool":"exec","arguments":{"program":"sh"}"#;
    assert!(RawValue::from_string(sneaky.to_owned()).is_err());
    let message = refused(Tool::Read, r#"{"path":"a","arguments":{}}"#);
    assert!(message.contains("unknown member \"arguments\""), "{message}");
}

#[test]
fn a_plugin_gets_its_arguments_as_they_are() {
    let arguments = raw(r#"{"n":18446744073709551615,"deep":{"x":[1,null]}}"#);
    let Ok(Call::PluginsCall(call)) = of_plugin("a\"b", "t", Some(&arguments)) else {
        panic!("a call of a plugin");
    };
    let expected = PluginsCallArguments {
        plugin_id: "a\"b".into(),
        tool_name: "t".into(),
        arguments: serde_json::from_str(arguments.get()).unwrap(),
        timeout_ms: Some(300_000),
    };
    assert_eq!(call, expected);
}
