//! The daemon's command line, against the daemon.

use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::Daemon;

fn axlr(daemon: &Daemon, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axlr"));
    command.env_clear().env("AXLR_SOCKET", daemon.socket()).current_dir(daemon.root());
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn call_reads_writes_edits_and_lists_in_the_current_folder() {
    let daemon = Daemon::start();
    let wrote = axlr(&daemon, &["call", "write", "path=a.txt", "content=one two", "mode=create"]);
    assert!(wrote.status.success(), "{}", said(&wrote));
    assert!(
        axlr(&daemon, &["call", "edit", r#"{"path":"a.txt","old_text":"two","new_text":"2"}"#])
            .status
            .success()
    );
    assert_eq!(text(&axlr(&daemon, &["call", "read", "path=a.txt"])), "one 2");
    assert!(text(&axlr(&daemon, &["call", "list"])).contains("a.txt"));
    let answer: Value =
        serde_json::from_str(&text(&axlr(&daemon, &["call", "read", "path=a.txt", "max_bytes=3", "--json"])))
            .unwrap();
    assert_eq!(answer["output"]["content"], "one");
}

#[test]
fn call_search_goes_on_to_the_last_page_and_stops_at_max() {
    let daemon = Daemon::start();
    for number in 0..30 {
        std::fs::write(daemon.root().join(format!("f{number:02}")), "needle\n".repeat(10)).unwrap();
    }
    let all = text(&axlr(&daemon, &["call", "search", "pattern=needle"]));
    assert_eq!(all.matches("needle").count(), 300, "{all}");
    assert!(!all.contains('\u{1b}'), "no colour into a pipe");
    let some = text(&axlr(&daemon, &["call", "search", "pattern=needle", "--max", "7"]));
    assert_eq!(some.matches("needle").count(), 7, "{some}");
}

#[test]
fn the_exit_status_tells_what_came_of_it() {
    let daemon = Daemon::start();
    assert_eq!(axlr(&daemon, &["call", "read", "path=../x"]).status.code(), Some(2));
    assert_eq!(axlr(&daemon, &["call", "read", "path=missing"]).status.code(), Some(3));
    assert_eq!(
        axlr(&daemon, &["call", "exec", "--", "/bin/sh", "-c", "echo hi; exit 9"]).status.code(),
        Some(0)
    );
    let wrong = axlr(&daemon, &["call", "read", "pth=x"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(said(&wrong).contains("path"), "{}", said(&wrong));
    let socket = daemon.folder().join("nobody.sock");
    let nobody = axlr(&daemon, &["status", "--socket", socket.to_str().unwrap()]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(said(&nobody).contains("axlrd"), "{}", said(&nobody));
}

#[test]
fn exec_streams_through() {
    let daemon = Daemon::start();
    let output = axlr(&daemon, &["call", "exec", "--", "/bin/sh", "-c", "echo out; echo err >&2"]);
    assert_eq!(text(&output), "out\n");
    assert!(said(&output).contains("err\n"));
}

#[test]
fn status_tools_and_completions_print_and_stop_stops() {
    let mut daemon = Daemon::start();
    assert!(text(&axlr(&daemon, &["status"])).contains("connections"));
    let stats: Value = serde_json::from_str(&text(&axlr(&daemon, &["status", "--json"]))).unwrap();
    assert!(stats.pointer("/output/uptime_ms").or(stats.get("uptime_ms")).is_some(), "{stats}");
    assert!(text(&axlr(&daemon, &["tools"])).contains("search"));
    assert!(text(&axlr(&daemon, &["completions", "bash"])).contains("axlr"));
    assert!(axlr(&daemon, &["stop"]).status.success());
    assert!(daemon.wait().success());
}

#[test]
fn the_help_of_both_programs_teaches_by_example() {
    for program in [env!("CARGO_BIN_EXE_axlr"), env!("CARGO_BIN_EXE_axlrd")] {
        let output = Command::new(program).arg("--help").output().unwrap();
        let help = text(&output);
        assert!(output.status.success() && help.contains("Examples:"), "{help}");
        assert_eq!(
            json!(text(&Command::new(program).arg("--version").output().unwrap()).trim().ends_with("0.1.0")),
            true
        );
    }
}

#[test]
fn the_example_of_a_request_on_stdin_runs_as_the_help_has_it() {
    let daemon = std::path::Path::new(env!("CARGO_BIN_EXE_axlrd"));
    let help = text(&Command::new(daemon).arg("--help").output().unwrap());
    let from = help.find("  echo '{").unwrap();
    let example = help[from..].split("\n\n").next().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let path =
        std::env::join_paths([daemon.parent().unwrap(), "/usr/bin".as_ref(), "/bin".as_ref()]).unwrap();
    let output =
        Command::new("bash").args(["-c", example]).env("PATH", path).current_dir(&folder).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).expect(example);
    assert_eq!(answer["status"], "completed", "{answer}");
}
