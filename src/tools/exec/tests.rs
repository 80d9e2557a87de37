use axlr_protocol::tool::StringMap;

use super::*;
use crate::workspace::fixture::Fixture;

fn arguments(program: &str, args: &[&str]) -> ExecArguments {
    ExecArguments {
        program: program.to_owned(),
        args: Some(args.iter().map(|argument| (*argument).to_owned()).collect()),
        ..ExecArguments::default()
    }
}

fn shell(script: &str) -> ExecArguments {
    arguments("/bin/sh", &["-c", script])
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn setting(fixture: &Fixture, env: &[(&str, &str)]) -> ExecSetting {
    ExecSetting {
        workspace: fixture.workspace.clone(),
        env: Arc::new(variables(env)),
        containment: Arc::new(Containment::group()),
    }
}

async fn run(setting: &ExecSetting, arguments: ExecArguments) -> Result<ExecOutput, (Kind, String)> {
    let exec = Exec::parse(arguments, false).map_err(|error| (error.kind, error.message))?;
    match super::exec(setting, exec, &Cancel::new(), None, None).await {
        Ok(finished) => Ok(finished.output),
        Err(error) => Err((error.kind, error.message)),
    }
}

fn output(exit_code: i64, stdout: &str) -> ExecOutput {
    ExecOutput {
        exit_code,
        stdout: stdout.to_owned(),
        stderr: String::new(),
        captured_bytes: stdout.len() as u64,
        discarded_bytes: 0,
        truncated: false,
        signal: None,
    }
}

#[test]
fn malformed_arguments_name_member_value_and_rule() {
    let of = |change: fn(&mut ExecArguments)| {
        let mut arguments = arguments("true", &[]);
        change(&mut arguments);
        arguments
    };
    let with_env = |name: &str, value: &str| ExecArguments {
        env: Some(StringMap(variables(&[(name, value)]))),
        ..arguments("true", &[])
    };
    for (arguments, words) in [
        (of(|arguments| arguments.program.clear()), "program must not be empty"),
        (of(|arguments| arguments.program.push('\0')), "program \"true\\0\" must not contain NUL"),
        (of(|arguments| arguments.args = Some(vec!["a".into(), "\0".into()])), "args[1]"),
        (of(|arguments| arguments.stdin = Some("a\0".into())), "stdin"),
        (of(|arguments| arguments.stdin_open = Some(true)), "stdin_open"),
        (of(|arguments| arguments.timeout_ms = Some(-1)), "timeout_ms -1"),
        (of(|arguments| arguments.timeout_ms = Some(300_001)), "300001 exceeds the 300000 ms limit"),
        (of(|arguments| arguments.max_output_bytes = Some(1_048_577)), "exceeds the 1048576 byte limit"),
        (of(|arguments| arguments.max_output_bytes = Some(-5)), "max_output_bytes -5"),
        (of(|arguments| arguments.cwd = Some("/".into())), "cwd \"/\" must be relative"),
        (of(|arguments| arguments.cwd = Some("/tmp".into())), "must be relative"),
        (of(|arguments| arguments.cwd = Some("a/../b".into())), "\"..\""),
        (of(|arguments| arguments.cwd = Some("a\0".into())), "NUL"),
        (with_env("", "x"), "env: the name \"\""),
        (with_env("A=B", "x"), "env: the name \"A=B\""),
        (with_env("A", "\0"), "env: the value of \"A\""),
    ] {
        let shown = format!("{arguments:?}");
        let error = Exec::parse(arguments, false).expect_err(&shown);
        assert_eq!(error.kind, Kind::Malformed, "{shown}");
        assert!(error.message.contains(words), "{shown}: {}", error.message);
    }
}

#[test]
fn limits_have_defaults_and_a_stream_may_take_longer() {
    let timed = |timeout_ms| ExecArguments { timeout_ms, ..arguments("true", &[]) };
    for (timeout_ms, streaming, expected) in [
        (None, false, 30_000),
        (Some(0), false, 30_000),
        (Some(1), false, 1),
        (Some(300_000), false, 300_000),
        (Some(86_400_000), true, 86_400_000),
    ] {
        let exec = Exec::parse(timed(timeout_ms), streaming).unwrap();
        assert_eq!(exec.timeout, Duration::from_millis(expected), "{timeout_ms:?}");
        assert_eq!(exec.max_output_bytes, 262_144);
    }
    assert!(Exec::parse(timed(Some(86_400_001)), true).is_err());
    let open = ExecArguments { stdin_open: Some(true), ..arguments("true", &[]) };
    assert!(Exec::parse(open, true).unwrap().stdin_open);
}

#[tokio::test]
async fn a_program_runs_with_the_merged_environment() {
    let fixture = Fixture::new();
    let setting = setting(&fixture, &[("A", "1"), ("B", "1"), ("PATH", "/nowhere")]);
    let mut arguments = arguments("sh", &["-c", "printf '%s' \"$A$B$C\"; exit 3"]);
    arguments.env = Some(StringMap(variables(&[("B", "2"), ("C", "3"), ("PATH", "/usr/bin:/bin")])));
    assert_eq!(run(&setting, arguments).await, Ok(output(3, "123")));
}

#[tokio::test]
async fn a_killed_program_names_its_signal() {
    let fixture = Fixture::new();
    let killed = ExecOutput { signal: Some("TERM".to_owned()), ..output(-1, "") };
    assert_eq!(run(&setting(&fixture, &[]), shell("kill -TERM $$")).await, Ok(killed));
}

#[tokio::test]
async fn cwd_is_resolved_beneath_the_workspace() {
    let fixture = Fixture::new();
    fixture
        .dir("d/e")
        .file("f", "")
        .link("in", "d/e")
        .link("out", "../outside")
        .link("far", "/tmp")
        .link("loop", "loop");
    fixture.link("chain", "out");
    let setting = setting(&fixture, &[]);
    let root = fixture.path("").canonicalize().unwrap();
    let in_cwd = |cwd: &str| ExecArguments { cwd: Some(cwd.to_owned()), ..arguments("/bin/pwd", &[]) };
    for (cwd, real) in [("", ""), (".", ""), ("./", ""), ("d", "d"), ("d/e//", "d/e"), ("in", "d/e")] {
        let expected = format!("{}\n", root.join(real).display()).replace("/\n", "\n");
        assert_eq!(run(&setting, in_cwd(cwd)).await, Ok(output(0, &expected)), "{cwd}");
    }
    let long = "n".repeat(300);
    for (cwd, kind, words) in [
        (long.as_str(), Kind::Filesystem, "cannot be used: File name too long"),
        ("missing", Kind::NotFound, "cwd \"missing\" does not exist"),
        ("f", Kind::InvalidPath, "cwd \"f\" is not a directory"),
        ("out", Kind::InvalidPath, "cwd \"out\" leads outside the workspace"),
        ("far", Kind::InvalidPath, "leads outside"),
        ("chain", Kind::InvalidPath, "leads outside"),
        ("loop", Kind::InvalidPath, "circle"),
    ] {
        let (found, message) = run(&setting, in_cwd(cwd)).await.expect_err(cwd);
        assert!(found == kind && message.contains(words), "{cwd}: {found:?} {message}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_start_is_named_with_the_reason() {
    let fixture = Fixture::new();
    fixture.file("script", "echo hi\n");
    for (program, words) in [
        ("/no/such", "program \"/no/such\" does not exist"),
        ("sh", "program \"sh\" cannot be looked up"),
        ("./script", "program \"./script\" is not executable"),
    ] {
        let (kind, message) = run(&setting(&fixture, &[]), arguments(program, &[])).await.expect_err(program);
        assert!(kind == Kind::StartFailed && message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn a_timeout_names_the_limit_and_ends_with_the_output() {
    let fixture = Fixture::new();
    let timed = |script| ExecArguments { timeout_ms: Some(500), ..shell(script) };
    let setting = setting(&fixture, &[("PATH", "/usr/bin:/bin")]);
    let (kind, message) = run(&setting, timed("echo some words; exec sleep 600")).await.unwrap_err();
    assert_eq!(kind, Kind::TimedOut);
    assert!(message.contains("timeout_ms of 500") && message.ends_with(":\nsome words\n"), "{message}");
    let (_, message) = run(&setting, timed("exec sleep 600")).await.unwrap_err();
    assert!(message.ends_with("it had written nothing"), "{message}");
}

#[tokio::test]
async fn a_cancelled_exec_never_starts_or_dies() {
    let fixture = Fixture::new();
    let setting = setting(&fixture, &[("PATH", "/usr/bin:/bin")]);
    let cancel = Cancel::new();
    cancel.cancel();
    let exec = Exec::parse(shell("touch started"), false).unwrap();
    let result = super::exec(&setting, exec, &cancel, None, None).await;
    assert!(matches!(result, Err(Error { kind: Kind::Cancelled, .. })));
    assert!(!fixture.path("started").exists());

    let cancel = Cancel::new();
    let exec = Exec::parse(shell("echo $$ > pid; exec sleep 600"), false).unwrap();
    let (result, ()) = tokio::join!(super::exec(&setting, exec, &cancel, None, None), async {
        while !std::fs::read_to_string(fixture.path("pid")).is_ok_and(|pid| !pid.is_empty()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        cancel.cancel();
    });
    assert!(matches!(result, Err(Error { kind: Kind::Cancelled, .. })));
}
