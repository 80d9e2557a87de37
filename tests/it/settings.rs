//! Flags, environment and configuration file: what wins.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{Daemon, code, request, wait_until};

/// Runs one request through `axlrd` with these flags and variables, on stdin and stdout if they say so.
fn run(flags: &[&str], variables: &[(&str, &str)], tool: &str, arguments: Value) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_axlrd"))
        .args(flags)
        .env_clear()
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let line = request("1", tool, arguments).to_string();
    // A daemon that refuses to start does not read it.
    let _ = process.stdin.take().unwrap().write_all(line.as_bytes());
    process.wait_with_output().unwrap()
}

fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_flag_stdio_wins_against_a_socket_of_the_environment_and_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "config.toml", "socket = \"/nowhere/a\"\n");
    let flags = ["--stdio", "--config", &config];
    let output = run(&flags, &[("AXLR_SOCKET", "/nowhere/b")], "server.ping", json!({}));
    assert_eq!(code(&answer(&output)), "completed");
}

#[test]
fn a_socket_of_the_flags_or_the_environment_wins_against_stdio_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = write(folder.path(), "config.toml", "stdio = true\n");
    for by_flag in [false, true] {
        let socket = folder.path().join(if by_flag { "flag" } else { "variable" });
        let mut command = Command::new(env!("CARGO_BIN_EXE_axlrd"));
        command.env_clear().args(["--config", &config]).stdin(Stdio::null()).stderr(Stdio::null());
        if by_flag {
            command.arg("--socket").arg(&socket).env("AXLR_SOCKET", "/nowhere/b");
        } else {
            command.env("AXLR_SOCKET", &socket);
        }
        let mut process = command.spawn().unwrap();
        wait_until("it listens", || UnixStream::connect(&socket).is_ok());
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

#[test]
fn lists_of_the_flags_replace_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let text = format!("stdio = true\ndrain = 3\nroot = [{root:?}]\nenv = [\"A=1\"]\n");
    let config = write(folder.path(), "config.toml", &text);
    for (flags, expected) in [(vec![], "A=1\n"), (vec!["--env", "B=2"], "B=2\n")] {
        let flags = [vec!["--config", &config], flags].concat();
        let output = run(&flags, &[], "exec", json!({"program": "/usr/bin/env"}));
        assert_eq!(answer(&output)["output"]["stdout"], expected);
    }
}

#[test]
fn empty_variables_and_a_configuration_folder_that_is_none_count_as_not_set() {
    let variables = [("AXLR_LOG", ""), ("AXLR_SOCKET", ""), ("XDG_CONFIG_HOME", "/dev/null")];
    let output = run(&["--stdio"], &variables, "server.ping", json!({}));
    assert_eq!(code(&answer(&output)), "completed");
}

#[test]
fn what_is_wrong_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let unknown = write(folder.path(), "unknown.toml", "zap = true\n");
    let file = write(folder.path(), "env", "A=1\nB\n");
    for (flags, reason) in [
        (vec!["--drain", "x"], "'x'"),
        (vec!["--drain=-1"], "--drain -1"),
        (vec!["--drain", "nan"], "--drain NaN"),
        (vec!["--env", "A"], "KEY=VALUE"),
        (vec!["--env", "=1"], "must not be empty"),
        (vec!["--env-file", &file], "line 2"),
        (vec!["--env-file", "/nowhere/a"], "/nowhere/a"),
        (vec!["--env-pass", "A=1"], "--env-pass"),
        (vec!["--config", &unknown], "zap"),
        (vec!["--config", "/nowhere/a"], "/nowhere/a"),
        (vec!["--root", "/nowhere/a"], "--root /nowhere/a"),
        (vec!["--root", &file], "Not a directory"),
        (vec!["--log", "a=b=c"], "--log"),
        (vec!["--profile", "z"], "'z'"),
        (vec!["--plugin", "/nowhere/a"], "manifest \"/nowhere/a\" can't be read"),
        (vec!["--plugin", "a"], "absolute path"),
        (vec!["--plugin", &file], "is not a manifest"),
        (vec!["--plugin-env", "a:K=V"], "plugin_env: no plugin \"a\" is registered"),
        (vec!["--plugin-env", "K=V"], "--plugin-env: must be ID:KEY=VALUE"),
        (vec!["--plugin-env-file", "a:/nowhere/a"], "/nowhere/a"),
        (vec!["--plugin-header", "a:K=V"], "--plugin-header: must be"),
        (vec!["--plugin-header", "a:K=$NOT_SET"], "NOT_SET"),
        (vec!["--socket", "/nowhere/a"], "cannot be used with"),
    ] {
        let output = run(&[vec!["--stdio"], flags.clone()].concat(), &[], "server.ping", json!({}));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{flags:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(reason), "{flags:?}: {said}");
    }
}

#[test]
fn a_log_that_nobody_reads_ends_no_daemon() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("root")).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut process = Daemon::command(folder.path()).args(["--log", "trace"]).stderr(writer).spawn().unwrap();
    let socket = folder.path().join("axlr.sock");
    wait_until("it listens", || UnixStream::connect(&socket).is_ok());
    let mut wire = crate::support::Wire::new(UnixStream::connect(&socket).unwrap());
    // This one is logged.
    assert_eq!(code(&wire.call("read", json!({"path": "missing"}))), "not_found");
    assert_eq!(wire.output("server.ping", json!({})), json!({}));
    process.kill().unwrap();
    process.wait().unwrap();
}
