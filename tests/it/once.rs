//! The one-request worker, by itself and through a daemon.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Daemon, code, is_alive, pid_in, request, wait_until};

fn worker(root: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axlr"));
    command.env_clear().arg("--root").arg(root).args(["--profile", "trusted-local"]).args(flags);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(command: &mut Command, document: &str) -> Output {
    let mut process = command.spawn().unwrap();
    // A worker that refused its flags has closed its stdin.
    let _ = process.stdin.take().unwrap().write_all(document.as_bytes());
    process.wait_with_output().unwrap()
}

/// The exit status and the one line of the answer.
fn ask(command: &mut Command, document: &str) -> (i32, Value) {
    let output = run(command, document);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text:?}, {}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), serde_json::from_str(&text).unwrap())
}

#[test]
fn a_valid_request_exits_0_whatever_its_status_and_a_malformed_one_2() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "alpha\n").unwrap();
    let daemon = Daemon::start();
    let socket = daemon.socket();
    for flags in [vec![], vec!["--socket", socket.to_str().unwrap()]] {
        let check = |document: &str| {
            let (exit, answer) = ask(&mut worker(root.path(), &flags), document);
            (exit, code(&answer).to_owned(), answer)
        };
        let (exit, _, answer) = check(&request("1", "read", json!({"path": "a"})).to_string());
        assert_eq!((exit, &answer["output"]["content"]), (0, &json!("alpha\n")));
        let (exit, code, _) = check(&request("1", "read", json!({"path": "missing"})).to_string());
        assert_eq!((exit, code.as_str()), (0, "not_found"));
        for malformed in [
            "{".to_owned(),
            request("1", "read", json!({"path": "../a"})).to_string(),
            request("1", "server.ping", json!({})).to_string(),
            request("1", "search", json!({"pattern": "("})).to_string(),
            request("1", "exec", json!({"program": "x", "stdin_open": true})).to_string(),
            json!({"protocol_version": 1, "request_id": "1", "tool": "list", "arguments": {}, "stream": true}).to_string(),
        ] {
            let (exit, code, answer) = check(&malformed);
            assert_eq!((exit, code.as_str()), (2, "invalid_request"), "{malformed}");
            assert_eq!(answer["started_at"], answer["finished_at"]);
        }
    }
}

#[test]
fn what_is_wrong_before_the_request_exits_1_and_says_nothing_on_stdout() {
    let root = tempfile::tempdir().unwrap();
    let document = request("1", "list", json!({})).to_string();
    let missing = root.path().join("missing");
    let socket = root.path().join("no.sock");
    for (command, said) in [
        (&mut worker(root.path(), &["--env", "NOEQUALS"]), "KEY=VALUE"),
        (&mut worker(root.path(), &["--frobnicate"]), "--frobnicate"),
        (&mut worker(&missing, &[]), "missing"),
        (&mut worker(root.path(), &["--socket", socket.to_str().unwrap()]), "axlrd"),
        (
            Command::new(env!("CARGO_BIN_EXE_axlr"))
                .args(["--root", "/"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
            "--profile",
        ),
    ] {
        let output = run(command, &document);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(output.stdout.is_empty() && stderr.contains(said), "{stderr}");
    }
}

#[test]
fn a_signal_cancels_the_exec_and_is_still_answered() {
    let root = tempfile::tempdir().unwrap();
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut process = worker(root.path(), &[]).spawn().unwrap();
        let script = json!({"program": "/bin/sh", "args": ["-c", "echo $$ > pid; while :; do :; done"]});
        process.stdin.take().unwrap().write_all(request("1", "exec", script).to_string().as_bytes()).unwrap();
        let pid = pid_in(&root.path().join("pid"));
        // SAFETY: plain kill(2) of a child that is not reaped yet.
        assert_eq!(unsafe { libc::kill(process.id() as i32, signal) }, 0);
        let output = process.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), code(&answer)), (Some(0), "cancelled"));
        wait_until("the child has ended", || !is_alive(pid));
        std::fs::remove_file(root.path().join("pid")).unwrap();
    }
}

#[test]
fn an_answer_that_nobody_can_take_exits_1() {
    let root = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = run(worker(root.path(), &[]).stdout(full), &request("1", "list", json!({})).to_string());
    assert_eq!(output.status.code(), Some(1));
}
