use serde_json::Value;

use super::{event, request, response, tools};
use crate::golden;
use crate::request::Tool;

/// With sorted members, whichever order the features of serde_json that others ask for would give.
fn pretty(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

#[test]
fn the_schemas_are_checked_in() {
    let mut names = Vec::new();
    for (name, schema) in [("request", request()), ("response", response()), ("event", event())] {
        names.push(format!("{name}.json"));
        golden::check(&format!("schema/{name}.json"), &pretty(&schema));
    }
    for tool in tools() {
        let name = format!("tool.{}.json", tool.name);
        golden::check(&format!("schema/{name}"), &pretty(&serde_json::to_value(tool).unwrap()));
        names.push(name);
    }
    names.sort();
    assert_eq!(golden::names("schema"), names, "a file that nothing makes");
}

#[test]
fn every_tool_is_described_in_one_sentence() {
    let names: Vec<&str> = tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, Tool::ALL.iter().map(|tool| tool.as_str()).collect::<Vec<_>>());
    for tool in tools() {
        assert!(
            tool.description.ends_with('.') && tool.description.matches(". ").count() == 0,
            "{}",
            tool.name
        );
        assert_eq!(tool.arguments_schema["type"], "object", "{}", tool.name);
        assert_eq!(tool.arguments_schema["additionalProperties"], false, "{}", tool.name);
        assert_eq!(tool.output_schema["type"], "object", "{}", tool.name);
        assert!(!tool.arguments_schema.to_string().contains("$ref"), "{}", tool.name);
    }
}
