use axlr_protocol::tool::{ExecArguments, ExecOutput, Match, SearchArguments, SearchOutput};
use axlr_protocol::{Call, EventBody, Output};

use super::{Note, Watch};

fn exec(timeout_ms: Option<i64>, max_output_bytes: Option<i64>) -> Call {
    Call::Exec(ExecArguments { program: "p".into(), timeout_ms, max_output_bytes, ..Default::default() })
}

fn streamed(sent: u64) -> Output {
    Output::Exec(ExecOutput {
        exit_code: 0,
        stdout: String::new(),
        stderr: String::new(),
        captured_bytes: sent,
        discarded_bytes: 0,
        truncated: false,
        signal: None,
    })
}

#[test]
fn a_watched_program_is_captured_as_one_that_is_not() {
    let watch = Watch::new(&exec(None, Some(6))).unwrap();
    watch.tell(&EventBody::Started { pid: 1 });
    watch.tell(&EventBody::Stdout { data: b"one ".to_vec() });
    watch.tell(&EventBody::Stderr { data: "ö".as_bytes()[..1].to_vec() });
    watch.tell(&EventBody::Stderr { data: "ö".as_bytes()[1..].to_vec() });
    watch.tell(&EventBody::Stdout { data: b"two".to_vec() });
    let expected = ExecOutput {
        exit_code: 0,
        stdout: "one ".into(),
        stderr: "ö".into(),
        captured_bytes: 6,
        discarded_bytes: 3,
        truncated: true,
        signal: None,
    };
    assert_eq!(watch.complete(streamed(9)), Output::Exec(expected));
    assert_eq!(watch.note(), None);
}

#[test]
fn what_only_a_stream_may_ask_for_is_not_streamed() {
    assert!(Watch::new(&exec(Some(300_000), None)).is_some());
    assert!(Watch::new(&exec(Some(300_001), None)).is_none());
    assert!(Watch::new(&exec(None, Some(1_048_577))).is_none());
    assert!(Watch::new(&exec(Some(-1), Some(-1))).is_some());
}

#[test]
fn a_note_shows_the_last_line_that_says_something() {
    let watch = Watch::new(&exec(None, None)).unwrap();
    let message = || watch.note().unwrap().message.unwrap();
    assert_eq!(message(), "running for 0 s");
    watch.tell(&EventBody::Stdout { data: b"\n\n".to_vec() });
    assert_eq!(message(), "running for 0 s, 2 bytes of output");
    watch.tell(&EventBody::Stderr { data: b"a\n  50 %\r  60 %\x1b[K\n\n".to_vec() });
    assert_eq!(message(), "60 %[K");
    watch.tell(&EventBody::Stdout { data: vec![b'x'; 5_000] });
    assert_eq!(message().len(), 200);
}

#[test]
fn a_search_tells_of_files_when_there_are_more_and_keeps_its_matches() {
    let watch = Watch::new(&Call::Search(SearchArguments::default())).unwrap();
    let found = Match {
        path: "a".into(),
        line: 1,
        column: 1,
        text: String::new(),
        before: vec![],
        after: vec![],
        truncated: false,
    };
    assert_eq!(watch.note(), None);
    watch.tell(&EventBody::Matches { matches: vec![found.clone()] });
    watch.tell(&EventBody::SearchProgress { files_scanned: 3, files_skipped: 1 });
    let note = Note { progress: 4.0, total: None, message: Some("4 files looked at, 1 matches".into()) };
    assert_eq!((watch.note(), watch.note()), (Some(note), None));
    let output = SearchOutput { files_scanned: 5, ..Default::default() };
    let expected = SearchOutput { matches: vec![found], ..output.clone() };
    assert_eq!(watch.complete(Output::Search(output)), Output::Search(expected));
}

#[test]
fn a_plugin_is_quoted() {
    let call = axlr_protocol::tool::PluginsCallArguments {
        plugin_id: "p".into(),
        tool_name: "t".into(),
        arguments: Default::default(),
        timeout_ms: None,
    };
    let watch = Watch::new(&Call::PluginsCall(call)).unwrap();
    watch.tell(&EventBody::PluginProgress { progress: 1.0, total: Some(2.0), message: None });
    assert_eq!(watch.note(), Some(Note { progress: 1.0, total: Some(2.0), message: None }));
    assert_eq!(watch.note(), None);
}
