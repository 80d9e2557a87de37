//! Odd surroundings that a host may start the binaries in.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::request;

/// The commands that answer one request on stdin and end.
fn doors(root: &Path) -> [Command; 2] {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_axlr"));
    worker.args(["--profile", "trusted-local", "--root"]).arg(root);
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_axlrd"));
    daemon.args(["--stdio", "--root"]).arg(root);
    [worker, daemon]
}

fn answer(mut command: Command, tool: &str, arguments: Value) -> Value {
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    writeln!(stdin, "{}", request("1", tool, arguments)).unwrap();
    drop(stdin);
    let Output { status, stdout, .. } = process.wait_with_output().unwrap();
    assert!(status.success(), "{status}");
    serde_json::from_slice(&stdout).unwrap()
}

#[test]
fn a_host_that_ignores_its_children_still_learns_how_a_program_ended() {
    let folder = tempfile::tempdir().unwrap();
    for mut command in doors(folder.path()) {
        let ignore = || {
            // SAFETY: signal(2) is async-signal-safe.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            Ok(())
        };
        // SAFETY: as above.
        unsafe { command.pre_exec(ignore) };
        let answer = answer(command, "exec", json!({"program": "/bin/sh", "args": ["-c", "exit 7"]}));
        assert_eq!(answer["output"]["exit_code"], 7, "{answer}");
    }
}

#[test]
fn a_write_past_the_file_size_limit_fails_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for mut command in doors(folder.path()) {
        let limit = || {
            let most = libc::rlimit { rlim_cur: 1 << 16, rlim_max: 1 << 16 };
            // SAFETY: setrlimit(2) is async-signal-safe.
            unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &most) };
            Ok(())
        };
        // SAFETY: as above.
        unsafe { command.pre_exec(limit) };
        let arguments = json!({"path": "big", "content": "x".repeat(1 << 17), "mode": "create"});
        assert_eq!(answer(command, "write", arguments)["error"]["code"], "filesystem_error");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
