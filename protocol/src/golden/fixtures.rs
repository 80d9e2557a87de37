//! Frames in both encodings side by side, for the clients of every language.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use crate::codec::{self, Message};
use crate::decode::{self, Door};
use crate::event::{Event, EventBody};
use crate::request::{Call, Request, Tool};
use crate::response::{ErrorBody, Output, Response};
use crate::tool::*;
use crate::{Code, Encoding, golden};

/// Text that a careless encoder gets wrong.
const AWKWARD: &str = "tab\tquote\"backslash\\newline\r\nescape\u{1b}delete\u{7f}é\u{2028}😀";

/// One line of a file: the JSON without its line end, the MessagePack frame with its length.
fn line(name: &str, json: &[u8], packed: &[u8]) -> String {
    let json = std::str::from_utf8(json).unwrap().strip_suffix('\n').unwrap();
    let mut hex = String::new();
    for byte in packed {
        write!(hex, "{byte:02x}").unwrap();
    }
    // By hand, because the order of members in a Value depends on features that another crate may ask for.
    format!("{{\"name\":{},\"json\":{},\"msgpack_hex\":\"{hex}\"}}\n", Value::from(name), Value::from(json))
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is no object") };
    map
}

fn strings(pairs: &[(&str, &str)]) -> StringMap {
    StringMap(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

fn requests() -> Vec<(&'static str, Request)> {
    let digest = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806".to_owned();
    let plain = |name: &'static str, call: Call| {
        (name, Request { request_id: name.into(), workspace: None, stream: false, call })
    };
    let streamed = |name: &'static str, call: Call| {
        (name, Request { request_id: name.into(), workspace: Some("w1".into()), stream: true, call })
    };
    let write = WriteArguments {
        path: "notes.txt".into(),
        content: "one\n".into(),
        mode: WriteMode::Create,
        expected_sha256: None,
        parents: None,
        encoding: None,
        overwrite: None,
    };
    let exec = ExecArguments { program: "/bin/cat".into(), ..ExecArguments::default() };
    let open =
        WorkspaceOpenArguments { root: "/home/me/project".into(), ..WorkspaceOpenArguments::default() };
    vec![
        plain("read", Call::Read(ReadArguments { path: "a".into(), ..ReadArguments::default() })),
        plain(
            "read-all-members",
            Call::Read(ReadArguments {
                path: "dir/é 😀".into(),
                offset_bytes: Some(i64::MAX),
                max_bytes: Some(0),
                encoding: Some(ContentEncoding::Base64),
            }),
        ),
        plain("write-create", Call::Write(write.clone())),
        plain(
            "write-replace",
            Call::Write(WriteArguments {
                content: AWKWARD.into(),
                mode: WriteMode::Replace,
                expected_sha256: Some(digest.clone()),
                parents: Some(true),
                encoding: Some(ContentEncoding::Utf8),
                overwrite: Some(false),
                ..write
            }),
        ),
        plain(
            "edit",
            Call::Edit(EditArguments {
                path: "a".into(),
                old_text: "x".into(),
                new_text: String::new(),
                expected_sha256: Some(digest),
                replace_all: Some(true),
            }),
        ),
        plain("exec", Call::Exec(exec.clone())),
        streamed(
            "exec-all-members",
            Call::Exec(ExecArguments {
                args: Some(vec!["-u".into(), String::new()]),
                cwd: Some("sub".into()),
                stdin: Some("in\n".into()),
                timeout_ms: Some(86_400_000),
                max_output_bytes: Some(1_048_576),
                env: Some(strings(&[("A", "1"), ("B", "")])),
                stdin_open: Some(true),
                ..exec
            }),
        ),
        streamed(
            "search",
            Call::Search(SearchArguments {
                pattern: r"fn \w+".into(),
                path: Some("src".into()),
                glob: Some("**/*.rs".into()),
                literal: Some(false),
                ignore_case: Some(true),
                context_lines: Some(2),
                max_results: Some(200),
                offset: Some(50),
                max_bytes: Some(4096),
                ignore_files: Some(true),
                explain: Some(true),
            }),
        ),
        plain("list", Call::List(ListArguments::default())),
        streamed(
            "list-all-members",
            Call::List(ListArguments {
                path: Some(".".into()),
                glob: Some("*.md".into()),
                recursive: Some(true),
                max_depth: Some(8),
                max_entries: Some(500),
                offset: Some(0),
                max_bytes: Some(65_536),
                ignore_files: Some(false),
            }),
        ),
        plain("plugins.list", Call::PluginsList(Empty {})),
        streamed(
            "plugins.call",
            Call::PluginsCall(PluginsCallArguments {
                plugin_id: "p".into(),
                tool_name: "t".into(),
                arguments: map(json!({
                    "array": [null, true, -1, 127, 128, 65_536, 1.5],
                    "largest": u64::MAX,
                    "nested": {"": {}},
                    "smallest": i64::MIN,
                })),
                timeout_ms: Some(300_000),
            }),
        ),
        plain("server.ping", Call::ServerPing(Empty {})),
        plain("server.info", Call::ServerInfo(Empty {})),
        plain("server.stats", Call::ServerStats(Empty {})),
        plain("server.stop", Call::ServerStop(ServerStopArguments { drain_ms: Some(0) })),
        plain("workspace.open", Call::WorkspaceOpen(open.clone())),
        plain(
            "workspace.open-all-members",
            Call::WorkspaceOpen(WorkspaceOpenArguments {
                name: Some("project".into()),
                env: Some(StringMap::default()),
                plugins: Some(vec!["/etc/axlr/git.json".into()]),
                plugin_env: Some(BTreeMap::from([("git".into(), strings(&[("HOME", "/home/me")]))])),
                plugin_headers: Some(BTreeMap::from([("web".into(), strings(&[("X-Key", "k")]))])),
                default: Some(true),
                ..open
            }),
        ),
        plain("workspace.list", Call::WorkspaceList(Empty {})),
        plain("workspace.close", Call::WorkspaceClose(WorkspaceCloseArguments { workspace: "w1".into() })),
        plain("request.cancel", Call::RequestCancel(RequestCancelArguments { request_id: "exec".into() })),
        plain(
            "exec.write-text",
            Call::ExecWrite(ExecWriteArguments {
                request_id: "exec".into(),
                data: Some("hello\n".into()),
                base64: None,
                eof: None,
            }),
        ),
        plain(
            "exec.write-bytes",
            Call::ExecWrite(ExecWriteArguments {
                request_id: "exec".into(),
                data: None,
                base64: Some("AP8=".into()),
                eof: Some(true),
            }),
        ),
        plain(
            "exec.signal",
            Call::ExecSignal(ExecSignalArguments { request_id: "exec".into(), signal: SignalName::Usr1 }),
        ),
    ]
}

fn a_match() -> Match {
    Match {
        path: "src/é.rs".into(),
        line: 300,
        column: 5,
        text: "    fn main() {".into(),
        before: vec!["// \"main\"".into()],
        after: vec!["    }".into(), String::new()],
        truncated: true,
    }
}

fn entries() -> Vec<Entry> {
    let entry = |path: &str, kind, size| Entry { path: path.into(), kind, size, name_lossy: false };
    vec![
        entry("a", EntryType::File, Some(70_000)),
        entry("b", EntryType::Dir, None),
        Entry { name_lossy: true, ..entry("c\u{fffd}", EntryType::Symlink, None) },
        entry("d", EntryType::Other, None),
    ]
}

fn outputs() -> Vec<(&'static str, Tool, Output)> {
    let digest = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806".to_owned();
    let samples = |count| SkippedFiles { count, paths: vec!["big".into()] };
    vec![
        (
            "read",
            Tool::Read,
            Output::Read(ReadOutput {
                content: AWKWARD.into(),
                start_offset_bytes: 0,
                returned_bytes: AWKWARD.len() as u64,
                next_offset_bytes: AWKWARD.len() as u64,
                truncated: false,
                content_sha256: Some(digest.clone()),
            }),
        ),
        (
            "write",
            Tool::Write,
            Output::Write(WriteOutput { written_bytes: 4, content_sha256: digest.clone() }),
        ),
        (
            "edit",
            Tool::Edit,
            Output::Edit(EditOutput { written_bytes: 4, content_sha256: digest, replacements: Some(2) }),
        ),
        (
            "exec",
            Tool::Exec,
            Output::Exec(ExecOutput {
                exit_code: -1,
                stdout: "out\n".into(),
                stderr: "\u{fffd}".into(),
                captured_bytes: 5,
                discarded_bytes: 1 << 40,
                truncated: true,
                signal: Some("KILL".into()),
            }),
        ),
        (
            "search",
            Tool::Search,
            Output::Search(SearchOutput {
                matches: vec![a_match()],
                files_scanned: 10,
                files_skipped: 4,
                next_offset: Some(1),
                truncated: true,
                limit_reached: true,
                files_ignored: Some(2),
                skipped: Some(Skipped {
                    too_large: samples(1),
                    binary: samples(1),
                    not_utf8: samples(2),
                    unreadable: SkippedFiles::default(),
                }),
            }),
        ),
        ("search-streamed", Tool::Search, Output::Search(SearchOutput::default())),
        (
            "list",
            Tool::List,
            Output::List(ListOutput {
                entries: entries(),
                next_offset: Some(4),
                truncated: true,
                limit_reached: false,
                entries_ignored: Some(0),
            }),
        ),
        (
            "plugins.list",
            Tool::PluginsList,
            Output::PluginsList(PluginsListOutput {
                tools: vec![PluginTool {
                    plugin_id: "p".into(),
                    tool_name: "t".into(),
                    description: Some("d".into()),
                    input_schema: json!({"type": "object"}),
                    output_schema: Some(json!({"type": "object"})),
                }],
            }),
        ),
        (
            "plugins.call",
            Tool::PluginsCall,
            Output::PluginsCall(PluginsCallOutput {
                content: vec![json!({"text": "x", "type": "text"}), json!({"type": "new"})],
                structured_content: Some(json!({"n": u64::MAX, "x": 1e300})),
                is_error: true,
            }),
        ),
        ("server.ping", Tool::ServerPing, Output::Empty(Empty {})),
        (
            "server.info",
            Tool::ServerInfo,
            Output::ServerInfo(Box::new(ServerInfoOutput {
                name: "axlrd".into(),
                version: "0.1.0".into(),
                protocol_versions: vec![1],
                pid: 4242,
                uptime_ms: 1,
                tools: vec![ToolInfo {
                    name: "server.ping".into(),
                    description: "Answers.".into(),
                    arguments_schema: json!({"type": "object"}),
                    output_schema: json!({"type": "object"}),
                }],
                limits: BTreeMap::from([("request_max_bytes".into(), 4_194_304)]),
                capabilities: vec!["stream".into()],
            })),
        ),
        (
            "server.stats",
            Tool::ServerStats,
            Output::ServerStats(ServerStatsOutput {
                bytes_in: 1 << 33,
                tools: BTreeMap::from([("read".into(), ToolStats { completed: 7, ..ToolStats::default() })]),
                ..ServerStatsOutput::default()
            }),
        ),
        (
            "workspace.open",
            Tool::WorkspaceOpen,
            Output::WorkspaceOpen(WorkspaceOpenOutput { workspace: "w1".into(), root: "/r".into() }),
        ),
        (
            "workspace.list",
            Tool::WorkspaceList,
            Output::WorkspaceList(WorkspaceListOutput {
                workspaces: vec![WorkspaceInfo {
                    workspace: "w1".into(),
                    root: "/r".into(),
                    name: None,
                    handles: 2,
                    in_flight: 0,
                }],
            }),
        ),
        (
            "request.cancel",
            Tool::RequestCancel,
            Output::RequestCancel(RequestCancelOutput { cancelled: true }),
        ),
    ]
}

fn responses() -> Vec<(String, Response)> {
    let started_at = UNIX_EPOCH + Duration::new(1_767_323_045, 123_456_789);
    let response = |name: &str, tool, outcome| Response {
        request_id: name.into(),
        tool,
        started_at,
        finished_at: started_at + Duration::from_millis(877),
        duration_ms: 877,
        outcome,
    };
    let completed = outputs()
        .into_iter()
        .map(|(name, tool, output)| (name.to_owned(), response(name, Some(tool), Ok(output))));
    let failed = Code::ALL.iter().map(|code| {
        let error = ErrorBody { code: *code, message: format!("what {} says", code.as_str()) };
        let name = format!("error-{}", code.as_str());
        let response = response(&name, Some(Tool::Exec), Err(error));
        (name, response)
    });
    let unread = ErrorBody { code: Code::InvalidRequest, message: "missing member \"tool\"".into() };
    let unread = Response { finished_at: started_at, duration_ms: 0, ..response("", None, Err(unread)) };
    completed.chain(failed).chain([("error-without-ids".to_owned(), unread)]).collect()
}

fn events() -> Vec<(&'static str, Event)> {
    let bodies = [
        ("started", EventBody::Started { pid: 70_000 }),
        ("stdout", EventBody::Stdout { data: b"text\n\0\xff".to_vec() }),
        ("stdout-empty", EventBody::Stdout { data: Vec::new() }),
        ("stderr", EventBody::Stderr { data: "é".into() }),
        ("matches", EventBody::Matches { matches: vec![a_match()] }),
        ("search-progress", EventBody::SearchProgress { files_scanned: 1_000, files_skipped: 3 }),
        ("entries", EventBody::Entries { entries: entries() }),
        ("list-progress", EventBody::ListProgress { entries_seen: 9_000 }),
        ("plugin-progress", EventBody::PluginProgress { progress: 0.25, total: None, message: None }),
        (
            "plugin-progress-all-members",
            EventBody::PluginProgress { progress: 3.0, total: Some(12.0), message: Some("m".into()) },
        ),
    ];
    let event = |(seq, (name, body))| (name, Event { request_id: "r".into(), seq, body });
    (0..).zip(bodies).map(event).collect()
}

#[test]
fn requests_are_golden_and_decode_to_themselves() {
    let mut lines = String::new();
    for (name, request) in requests() {
        let (mut json, mut packed) = (Vec::new(), Vec::new());
        codec::request(Encoding::Json, &request, &mut json).unwrap();
        codec::request(Encoding::MessagePack, &request, &mut packed).unwrap();
        assert_eq!(decode::request(Encoding::Json, &json, Door::Socket).as_ref(), Ok(&request));
        assert_eq!(decode::request(Encoding::MessagePack, &packed[4..], Door::Socket).as_ref(), Ok(&request));
        lines += &line(name, &json, &packed);
    }
    for tool in Tool::ALL {
        assert!(requests().iter().any(|(_, request)| request.call.tool() == *tool), "{tool:?}");
    }
    golden::check("fixtures/requests.jsonl", &lines);
}

#[test]
fn responses_are_golden_and_mean_the_same_in_both_encodings() {
    let mut lines = String::new();
    for (name, response) in responses() {
        let (mut json, mut packed) = (Vec::new(), Vec::new());
        codec::response(Encoding::Json, &response, &mut json);
        codec::response(Encoding::MessagePack, &response, &mut packed);
        let read = codec::message(Encoding::Json, &json).unwrap();
        assert_eq!(codec::message(Encoding::MessagePack, &packed[4..]).as_ref(), Ok(&read));
        let Message::Response(read) = read else { panic!("{name} is no response") };
        assert_eq!((read.status, read.error.as_ref()), (response.status(), response.outcome.as_ref().err()));
        if let Some(output) = &read.output {
            golden::check_output(&read.tool, output);
        }
        lines += &line(&name, &json, &packed);
    }
    golden::check("fixtures/responses.jsonl", &lines);
}

#[test]
fn events_are_golden_and_decode_to_themselves() {
    let mut lines = String::new();
    for (name, event) in events() {
        let (mut json, mut packed) = (Vec::new(), Vec::new());
        codec::event(Encoding::Json, &event, &mut json);
        codec::event(Encoding::MessagePack, &event, &mut packed);
        assert_eq!(codec::message(Encoding::Json, &json), Ok(Message::Event(event.clone())));
        assert_eq!(codec::message(Encoding::MessagePack, &packed[4..]), Ok(Message::Event(event)));
        lines += &line(name, &json, &packed);
    }
    golden::check("fixtures/events.jsonl", &lines);
}

#[test]
fn no_fixture_is_left_over() {
    let names = golden::names("fixtures");
    assert_eq!(names, ["README.md", "events.jsonl", "requests.jsonl", "responses.jsonl"]);
}
