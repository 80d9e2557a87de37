use axlr_protocol::tool::*;
use axlr_protocol::{Call, Output, Tool};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::FACES;
use crate::listen::mcp::arguments;

fn described(tool: Tool, roots: &[&str]) -> rmcp::model::Tool {
    let roots: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
    FACES.iter().find(|face| face.tool == tool).unwrap().describe(&roots)
}

fn input(tool: Tool) -> Value {
    Value::Object((*described(tool, &["/r"]).input_schema).clone())
}

fn output(tool: Tool) -> Value {
    Value::Object((*described(tool, &["/r"]).output_schema.unwrap()).clone())
}

/// The keywords that our schemas use; an unknown one fails the test, so that none is passed over.
fn fault(schema: &Value, value: &Value) -> Option<String> {
    let Value::Object(keywords) = schema else {
        return (schema == &json!(false)).then(|| "false".to_owned());
    };
    keywords.iter().find_map(|(keyword, rule)| keyword_fault(keywords, keyword, rule, value))
}

fn keyword_fault(
    keywords: &Map<String, Value>,
    keyword: &str,
    rule: &Value,
    value: &Value,
) -> Option<String> {
    let broken = |is_broken: bool| is_broken.then(|| format!("{value} against {keyword} {rule}"));
    match keyword {
        "description" | "default" => None,
        "type" => {
            let kinds = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            broken(!kinds.iter().any(|kind| is_of(kind.as_str().unwrap(), value)))
        }
        "const" => broken(rule != value),
        "enum" => broken(!rule.as_array().unwrap().contains(value)),
        "anyOf" | "oneOf" => {
            let fits =
                rule.as_array().unwrap().iter().filter(|schema| fault(schema, value).is_none()).count();
            broken(fits == 0 || keyword == "oneOf" && fits > 1)
        }
        "minimum" => broken(value.as_f64().is_some_and(|value| value < rule.as_f64().unwrap())),
        "maximum" => broken(value.as_f64().is_some_and(|value| value > rule.as_f64().unwrap())),
        "minLength" => {
            broken(value.as_str().is_some_and(|text| (text.chars().count() as u64) < rule.as_u64().unwrap()))
        }
        "maxLength" => {
            broken(value.as_str().is_some_and(|text| text.chars().count() as u64 > rule.as_u64().unwrap()))
        }
        "maxItems" => {
            broken(value.as_array().is_some_and(|items| items.len() as u64 > rule.as_u64().unwrap()))
        }
        "pattern" => {
            let pattern = regex_automata::meta::Regex::new(rule.as_str().unwrap()).unwrap();
            broken(value.as_str().is_some_and(|text| !pattern.is_match(text)))
        }
        "items" => value.as_array()?.iter().find_map(|item| fault(rule, item)),
        "required" => {
            let members = value.as_object()?;
            broken(rule.as_array().unwrap().iter().any(|name| !members.contains_key(name.as_str().unwrap())))
        }
        "properties" => {
            let members = value.as_object()?;
            rule.as_object().unwrap().iter().find_map(|(name, schema)| fault(schema, members.get(name)?))
        }
        "additionalProperties" => {
            let known = keywords.get("properties").and_then(Value::as_object);
            let others = value
                .as_object()?
                .iter()
                .filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)));
            others.into_iter().find_map(|(_, value)| fault(rule, value))
        }
        other => Some(format!("this test does not know the keyword {other}")),
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a type {other}"),
    }
}

#[test]
fn the_names_are_those_that_a_model_would_guess() {
    let names: Vec<&str> = FACES.iter().map(|face| face.name).collect();
    assert_eq!(names, ["read_file", "write_file", "edit_file", "run_program", "search_text", "list_files"]);
}

#[test]
fn what_the_protocol_takes_the_schema_takes() {
    let digest = "0".repeat(64);
    let table = [
        (Tool::Read, json!({"path": "a"})),
        (Tool::Read, json!({"path": "a", "offset_bytes": 0, "max_bytes": 1048576, "encoding": "base64"})),
        (Tool::Read, json!({"path": "a", "offset_bytes": null, "max_bytes": null, "encoding": null})),
        (
            Tool::Write,
            json!({"path": "a", "content": "", "mode": "create", "parents": true, "encoding": "utf-8"}),
        ),
        (
            Tool::Write,
            json!({"path": "a", "content": "x", "mode": "replace", "expected_sha256": digest, "overwrite": false}),
        ),
        (
            Tool::Write,
            json!({"path": "a", "content": "x", "mode": "replace", "expected_sha256": "", "overwrite": null}),
        ),
        (
            Tool::Edit,
            json!({"path": "a", "old_text": "b", "new_text": "", "expected_sha256": digest, "replace_all": true}),
        ),
        (
            Tool::Exec,
            json!({"program": "p", "args": ["", "b"], "cwd": "", "stdin": "i", "timeout_ms": 300000,
            "max_output_bytes": 0, "env": {"A": "b"}}),
        ),
        (
            Tool::Exec,
            json!({"program": "p", "args": null, "cwd": null, "stdin": null, "timeout_ms": null,
            "max_output_bytes": null, "env": null}),
        ),
        (
            Tool::Search,
            json!({"pattern": "p", "path": "", "glob": "*.rs", "literal": true, "ignore_case": false,
            "context_lines": 5, "max_results": 200, "offset": 9, "max_bytes": 1, "ignore_files": true, "explain": true}),
        ),
        (Tool::List, json!({})),
        (
            Tool::List,
            json!({"path": ".", "glob": null, "recursive": true, "max_depth": 8, "max_entries": 500, "offset": 0,
            "max_bytes": 0, "ignore_files": null}),
        ),
    ];
    for (tool, value) in table {
        let raw = RawValue::from_string(value.to_string()).unwrap();
        assert!(arguments::read(tool, Some(&raw)).is_ok(), "{value}");
        assert_eq!(fault(&input(tool), &value), None, "{value}");
    }
}

#[test]
fn what_the_schema_refuses_is_a_mistake() {
    let table = [
        (Tool::Read, json!({})),
        (Tool::Read, json!({"path": "a", "pth": 1})),
        (Tool::Read, json!({"path": "a", "max_bytes": 1048577})),
        (Tool::Exec, json!({"program": "p", "stdin_open": true})),
        (Tool::Exec, json!({"program": "p", "timeout_ms": 300001})),
        (Tool::Write, json!({"path": "a", "content": "", "mode": "append"})),
    ];
    for (tool, value) in table {
        assert!(fault(&input(tool), &value).is_some(), "{value}");
    }
}

#[test]
fn every_output_fits_its_schema() {
    let sha = "0".repeat(64);
    let read = |content_sha256| {
        Output::Read(ReadOutput {
            content: "c".into(),
            start_offset_bytes: 0,
            returned_bytes: 1,
            next_offset_bytes: u64::MAX,
            truncated: true,
            content_sha256,
        })
    };
    let exec = |signal: Option<&str>| {
        Output::Exec(ExecOutput {
            exit_code: -1,
            stdout: String::new(),
            stderr: "e".into(),
            captured_bytes: 1,
            discarded_bytes: 2,
            truncated: true,
            signal: signal.map(str::to_owned),
        })
    };
    let found = Match {
        path: "p".into(),
        line: 1,
        column: 1,
        text: "t".into(),
        before: vec!["b".into()],
        after: vec![],
        truncated: true,
    };
    let search = SearchOutput {
        matches: vec![found],
        next_offset: Some(1),
        limit_reached: true,
        files_ignored: Some(0),
        skipped: Some(Skipped::default()),
        ..Default::default()
    };
    let entry = |kind, size, name_lossy| Entry { path: "p".into(), kind, size, name_lossy };
    let list = ListOutput {
        entries: vec![entry(EntryType::File, Some(1), true), entry(EntryType::Other, None, false)],
        ..Default::default()
    };
    let table = [
        (Tool::Read, read(Some(sha.clone()))),
        (Tool::Read, read(None)),
        (Tool::Write, Output::Write(WriteOutput { written_bytes: 1, content_sha256: sha.clone() })),
        (
            Tool::Edit,
            Output::Edit(EditOutput { written_bytes: 1, content_sha256: sha, replacements: Some(2) }),
        ),
        (Tool::Exec, exec(None)),
        (Tool::Exec, exec(Some("KILL"))),
        (Tool::Search, Output::Search(search)),
        (Tool::Search, Output::Search(SearchOutput::default())),
        (Tool::List, Output::List(list)),
    ];
    for (tool, value) in table {
        let value = serde_json::to_value(value).unwrap();
        assert_eq!(fault(&output(tool), &value), None, "{value}");
    }
}

#[test]
fn a_schema_says_nothing_that_validators_do_not_know() {
    for face in FACES {
        for schema in [input(face.tool), output(face.tool)] {
            let text = schema.to_string();
            assert_eq!(schema["type"], "object", "{}", face.name);
            assert!(!text.contains("\"format\""), "{}: {text}", face.name);
            assert!(!text.contains("$ref") && !text.contains("stdin_open"), "{}: {text}", face.name);
        }
    }
}

#[test]
fn hints_tell_what_a_call_may_do() {
    for face in FACES {
        let annotations = face.describe(&["/r".to_owned()]).annotations.unwrap();
        let (reads, runs) = (face.only_reads(), face.tool == Tool::Exec);
        assert_eq!(annotations.read_only_hint, Some(reads), "{}", face.name);
        assert_eq!(annotations.destructive_hint, Some(!reads), "{}", face.name);
        assert_eq!(annotations.open_world_hint, Some(runs), "{}", face.name);
        assert!(annotations.title.is_some() && annotations.idempotent_hint.is_some(), "{}", face.name);
    }
}

#[test]
fn several_roots_can_be_named() {
    let schema = described(Tool::List, &["/a", "/b"]).input_schema;
    assert_eq!(schema["properties"]["root"]["enum"], json!(["/a", "/b"]));
    assert!(
        !described(Tool::List, &["/a"]).input_schema["properties"].as_object().unwrap().contains_key("root")
    );
}

#[test]
fn a_call_of_every_face_can_be_made() {
    for face in FACES {
        let minimal = match face.tool {
            Tool::Read => r#"{"path":"a"}"#,
            Tool::Write => r#"{"path":"a","content":"","mode":"create"}"#,
            Tool::Edit => r#"{"path":"a","old_text":"a","new_text":""}"#,
            Tool::Exec => r#"{"program":"a"}"#,
            Tool::Search => r#"{"pattern":"a"}"#,
            _ => "{}",
        };
        let raw = RawValue::from_string(minimal.to_owned()).unwrap();
        assert_eq!(arguments::read(face.tool, Some(&raw)).as_ref().map(Call::tool), Ok(face.tool));
    }
}
