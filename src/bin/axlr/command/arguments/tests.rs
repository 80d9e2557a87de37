use serde_json::json;

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn check(tool: Tool, given: &[&str], program: &[&str], expected: Result<Value, &str>) {
    match (text(tool, &words(given), &words(program)), expected) {
        (Ok(text), Ok(expected)) => {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected, "{tool:?} {given:?}");
        }
        (Err(error), Err(expected)) => assert_eq!(format!("{error:#}"), expected, "{tool:?} {given:?}"),
        (text, expected) => panic!("{tool:?} {given:?}: got {text:?}, expected {expected:?}"),
    }
}

#[test]
fn a_value_takes_the_type_of_the_schema() {
    let cases: &[(Tool, &[&str], Value)] = &[
        (Tool::List, &[], json!({})),
        (Tool::Read, &["path=a=b"], json!({"path": "a=b"})),
        (Tool::Read, &["path=12", "max_bytes=12"], json!({"path": "12", "max_bytes": 12})),
        (Tool::Read, &["path=a", "encoding=base64"], json!({"path": "a", "encoding": "base64"})),
        (Tool::Search, &["pattern=", "context_lines=-1"], json!({"pattern": "", "context_lines": -1})),
        (Tool::Search, &["pattern=true", "literal=true"], json!({"pattern": "true", "literal": true})),
        (Tool::Search, &["pattern=@@x", "glob=null"], json!({"pattern": "@x", "glob": "null"})),
        (Tool::Exec, &["program=ls", "args=-l", "args=a b"], json!({"program": "ls", "args": ["-l", "a b"]})),
        (Tool::Exec, &["program=ls", r#"args=["-l","a"]"#], json!({"program": "ls", "args": ["-l", "a"]})),
        (Tool::Exec, &["program=test", "args=[1]"], json!({"program": "test", "args": ["[1]"]})),
        (Tool::Exec, &["env=A=1", "env=B=x=y"], json!({"env": {"A": "1", "B": "x=y"}})),
        (Tool::Exec, &[r#"env={"A":"1"}"#], json!({"env": {"A": "1"}})),
        (Tool::PluginsCall, &[r#"arguments={"a":1.5}"#], json!({"arguments": {"a": 1.5}})),
        (Tool::ExecSignal, &["signal=INT"], json!({"signal": "INT"})),
        (Tool::Read, &[r#"{"path":"a"}"#], json!({"path": "a"})),
    ];
    for (tool, given, expected) in cases {
        check(*tool, given, &[], Ok(expected.clone()));
    }
}

#[test]
fn a_program_after_the_dashes_is_exec_s() {
    check(Tool::Exec, &[], &["true"], Ok(json!({"program": "true"})));
    let expected = json!({"program": "git", "args": ["log", "--oneline"], "timeout_ms": 5});
    check(Tool::Exec, &["timeout_ms=5"], &["git", "log", "--oneline"], Ok(expected));
    check(Tool::Exec, &["program=a"], &["b"], Err("program is given twice"));
    check(Tool::Exec, &["{}"], &["b"], Err("give the program either in the JSON or after --"));
    check(Tool::Read, &[], &["b"], Err("a program after -- is for exec; read takes key=value"));
}

#[test]
fn what_is_wrong_is_named() {
    let cases: &[(Tool, &[&str], &str)] = &[
        (Tool::Read, &["README.md"], r#"expected key=value, or one JSON object, got "README.md""#),
        (
            Tool::Read,
            &["pth=a"],
            r#"read has no argument "pth"; did you mean "path"? It takes path, encoding, max_bytes, offset_bytes"#,
        ),
        (Tool::ServerPing, &["x=1"], r#"server.ping takes no arguments, got "x""#),
        (Tool::Read, &["path=a", "path=b"], "path is given twice"),
        (Tool::Read, &["max_bytes=1k"], r#"max_bytes takes a whole number, got "1k""#),
        (Tool::Search, &["literal=yes"], r#"literal takes true or false, got "yes""#),
        (Tool::Write, &["mode=append"], r#"mode takes create, replace, got "append""#),
        (Tool::Exec, &["env=PATH"], r#"env takes NAME=VALUE or a JSON object, got "PATH""#),
        (Tool::Exec, &["env=A=1", "env=A=2"], r#"env: "A" is given twice"#),
        (Tool::PluginsCall, &["arguments=[]"], r#"arguments takes a JSON object, got "[]""#),
        (Tool::Read, &["path=@/does/not/exist"], "@/does/not/exist: No such file or directory (os error 2)"),
    ];
    for (tool, given, expected) in cases {
        check(*tool, given, &[], Err(expected));
    }
}

#[test]
fn files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    let text = file("text", "one\ntwo=2\n".as_bytes());
    let number = file("number", b"7\n");
    let binary = file("binary", &[0xff, 0]);
    let json = file("json", br#"{"path":"a"}"#);
    check(Tool::Edit, &[&format!("old_text=@{text}")], &[], Ok(json!({"old_text": "one\ntwo=2\n"})));
    check(Tool::Read, &[&format!("max_bytes=@{number}")], &[], Ok(json!({"max_bytes": 7})));
    check(Tool::Read, &[&format!("@{json}")], &[], Ok(json!({"path": "a"})));
    let content = format!("content=@{binary}");
    let expected = json!({"content": "/wA=", "encoding": "base64"});
    check(Tool::Write, &[&content, "encoding=base64"], &[], Ok(expected));
    let refused =
        format!("{content}: the file is not UTF-8 text (write takes any bytes with encoding=base64)");
    check(Tool::Write, &[&content], &[], Err(&refused));
}

#[test]
fn the_strict_reader_has_the_last_word() {
    let cases: &[(Tool, &[&str], &str)] = &[
        (Tool::Read, &[], "path"),
        (Tool::Read, &[r#"{"path":"a","x":1}"#], "x"),
        (Tool::Read, &[r#"{"path":"a","path":"b"}"#], "path"),
        (Tool::Read, &[r#"{"path":"a"},"workspace":"w""#], "not one JSON object"),
        (Tool::Read, &["{"], "not one JSON object"),
    ];
    for (tool, given, named) in cases {
        let malformed = call(*tool, &words(given), &[]).unwrap().unwrap_err();
        assert!(malformed.message.contains(named), "{given:?}: {}", malformed.message);
        assert_eq!(malformed.tool, Some(*tool));
    }
    let open = call(Tool::Exec, &words(&["program=cat", "stdin_open=true"]), &[]).unwrap().unwrap();
    assert_eq!(open.tool(), Tool::Exec);
}
