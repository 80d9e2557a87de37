//! Life and death of plugins: sessions, failures, ends, and the workspaces that own them.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::life::{held_by, mechanisms};
use crate::support::plugin::{Manifests, call, refused, text};
use crate::support::{Daemon, code, is_alive, request, wait_until};

fn daemon_with(manifests: &Manifests, mode: &str, variables: &[(&str, &str)]) -> Daemon {
    let manifest = manifests.stdio("p", mode);
    Daemon::start_with(&["--plugin", &manifest], variables)
}

fn are_gone(pids: &[i64]) -> bool {
    !pids.iter().any(|&pid| is_alive(pid))
}

#[test]
fn a_death_in_the_middle_fails_what_is_in_flight_and_the_next_use_starts_anew() {
    let manifests = Manifests::new();
    let daemon = daemon_with(&manifests, "plain", &[]);
    let mut wire = daemon.connect();
    let waiting = wire.start("plugins.call", call("p", "never", json!({})));
    wait_until("it is called", || daemon.root().join("called").exists());
    let dying = wire.start("plugins.call", call("p", "die", json!({})));
    let began = Instant::now();
    for _ in 0..2 {
        let response = wire.receive();
        assert!(response["request_id"] == waiting || response["request_id"] == dying);
        let message = refused(&response, "plugin_failed");
        assert!(
            message.contains("exited with status 3; the last of its stderr:\nfirst words\nlast words"),
            "{message}"
        );
        assert!(message.contains("effects may remain"), "{message}");
    }
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(code(&wire.call("plugins.call", call("p", "echo", json!({})))), "completed");
    assert_eq!(manifests.started("p").len(), 2);

    let response = wire.call("plugins.call", call("p", "die", json!({"signal": 9})));
    assert!(
        refused(&response, "plugin_failed").contains("killed by SIGKILL; the last of its stderr:\nfirst")
    );
    assert_eq!(response["status"], "failed");
    let half = {
        wait_until("it is tried again", || {
            code(&wire.call("plugins.call", call("p", "echo", json!({})))) == "completed"
        });
        wire.call("plugins.call", call("p", "half", json!({})))
    };
    assert!(refused(&half, "plugin_failed").contains("exited with status 0"), "{half}");
}

#[test]
fn an_answer_counts_though_its_server_ends_with_it() {
    let manifests = Manifests::new();
    let ids: Vec<String> = (0..12).map(|number| format!("p{number}")).collect();
    let paths: Vec<String> = ids.iter().map(|id| manifests.stdio(id, "plain")).collect();
    let flags: Vec<&str> = paths.iter().flat_map(|path| ["--plugin", path]).collect();
    let daemon = Daemon::start_with(&flags, &[]);
    let mut wire = daemon.connect();
    // One session each, so that none rests; whose turn comes first is up to the scheduler.
    for id in &ids {
        assert_eq!(text(&wire.call("plugins.call", call(id, "last", json!({})))), "my last");
    }
}

#[test]
fn a_server_that_keeps_dying_is_left_alone_for_a_while() {
    let manifests = Manifests::new();
    let daemon = daemon_with(&manifests, "exit", &[]);
    let mut wire = daemon.connect();
    let (mut resting, mut fastest) = (0, Duration::MAX);
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        let began = Instant::now();
        let response = wire.call("plugins.call", call("p", "echo", json!({})));
        let message = refused(&response, "plugin_unavailable");
        assert!(message.contains("exited with status 5"), "{message}");
        if message.contains("is not tried before") {
            resting += 1;
            fastest = fastest.min(began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let started = manifests.started("p").len();
    assert!((2..=5).contains(&started) && resting > started, "{started} starts, {resting} told to wait");
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}

#[test]
fn launch_and_handshake_count_in_the_deadline() {
    let manifests = Manifests::new();
    let daemon = daemon_with(&manifests, "mute", &[]);
    let mut wire = daemon.connect();
    let mut late = call("p", "echo", json!({}));
    late["timeout_ms"] = json!(300);
    let began = Instant::now();
    refused(&wire.call("plugins.call", late), "timeout");
    assert!(began.elapsed() < Duration::from_secs(3));
    // The start itself has ten seconds, counted from its own beginning.
    let response = wire.call("plugins.call", call("p", "echo", json!({})));
    let message = refused(&response, "plugin_unavailable");
    let reason = "not done within 10 seconds; the last of its stderr:\nasking for a licence";
    assert!(message.contains(reason), "{message}");
    let took = began.elapsed();
    assert!((Duration::from_secs(9)..Duration::from_secs(13)).contains(&took), "{took:?}");
    wait_until("the mute one is gone", || are_gone(&manifests.started("p")));
}

#[test]
fn a_server_that_does_not_read_times_its_calls_out() {
    let manifests = Manifests::new();
    let daemon = daemon_with(&manifests, "deaf", &[]);
    let mut wire = daemon.connect();
    let mut late = call("p", "echo", json!({"text": "x".repeat(3_000_000)}));
    late["timeout_ms"] = json!(500);
    for _ in 0..3 {
        refused(&wire.call("plugins.call", late.clone()), "timeout");
    }
}

#[test]
fn what_can_not_be_started_is_unavailable() {
    let manifests = Manifests::new();
    for (command, reason) in [
        (manifests.folder().join("missing"), "does not exist"),
        (manifests.folder().to_owned(), "not executable"),
    ] {
        let manifest = manifests.write("p", &json!({"command": command, "args": [], "allow_tools": ["*"]}));
        let daemon = Daemon::start_with(&["--plugin", &manifest], &[]);
        let mut wire = daemon.connect();
        let response = wire.call("plugins.call", call("p", "echo", json!({})));
        assert!(refused(&response, "plugin_unavailable").contains(reason), "{response}");
    }
}

#[test]
fn plugins_end_with_the_daemon_even_those_that_will_not() {
    for (mode, mechanism) in [("plain", "best"), ("stubborn", "best"), ("stubborn", "keeper")] {
        let manifests = Manifests::new();
        let mut daemon = daemon_with(&manifests, mode, &[("AXLR_CONTAINMENT", mechanism)]);
        let mut wire = daemon.connect();
        wire.output("plugins.call", call("p", "echo", json!({})));
        let began = Instant::now();
        daemon.signal(libc::SIGTERM);
        assert!(daemon.wait().success());
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
        assert!(are_gone(&manifests.started("p")), "{mode}");
        let goodbye = if mode == "plain" { "ended" } else { "eof" };
        assert!(daemon.root().join(goodbye).exists(), "{mode} was not asked first");
    }
}

#[test]
fn no_plugin_outlives_a_daemon_that_is_killed() {
    for mechanism in mechanisms() {
        let manifests = Manifests::new();
        let daemon = daemon_with(&manifests, "stubborn", &[("AXLR_CONTAINMENT", mechanism)]);
        if !held_by(&daemon, mechanism) {
            continue;
        }
        let mut wire = daemon.connect();
        wire.output("plugins.call", call("p", "echo", json!({})));
        let pids = manifests.started("p");
        assert!(!pids.is_empty() && !are_gone(&pids));
        let _folder = daemon.kill();
        let killed = Instant::now();
        wait_until("the plugin is gone", || are_gone(&pids));
        assert!(killed.elapsed() < Duration::from_secs(1), "{mechanism}: {:?}", killed.elapsed());
    }
}

#[test]
fn a_workspace_that_is_closed_takes_its_plugins_with_it() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("p", "plain");
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let open = json!({"root": daemon.root(), "plugins": [manifest]});
    let id = wire.output("workspace.open", open.clone())["workspace"].as_str().unwrap().to_owned();
    let within = json!({"workspace": id});
    let ask = wire.start_with("plugins.call", call("p", "pid", json!({})), within.clone());
    let answer = wire.until_response(&ask).pop().unwrap();
    let pid: i64 = text(&answer).parse().unwrap();

    // The same settings are the same workspace, and so the same session.
    let same = wire.output("workspace.open", open)["workspace"].as_str().unwrap().to_owned();
    assert_eq!(same, id);
    wire.output("workspace.close", json!({"workspace": id}));
    let flying = wire.start_with("plugins.call", call("p", "never", json!({})), within);
    wait_until("it is called", || daemon.root().join("called").exists());
    let closing = wire.start("workspace.close", json!({"workspace": id}));
    let answers = [wire.receive(), wire.receive()];
    let of = |id: &String| answers.iter().find(|answer| answer["request_id"] == *id).unwrap();
    assert_eq!(code(of(&closing)), "completed");
    assert_eq!(code(of(&flying)), "cancelled", "{answers:?}");
    wait_until("the plugin is gone", || !is_alive(pid));
}

#[test]
fn workspaces_with_other_plugins_are_others() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("p", "plain");
    let daemon = Daemon::start_with(&["--plugin", &manifest, "--plugin-env", "p:KEY=daemon"], &[]);
    let mut wire = daemon.connect();
    let mut open = |more: Value| {
        let mut arguments = json!({"root": daemon.root(), "env": {"PATH": "/usr/bin:/bin"}});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        wire.output("workspace.open", arguments)["workspace"].as_str().unwrap().to_owned()
    };
    let daemons_own = open(json!({}));
    assert_eq!(open(json!({"plugins": [manifest]})), daemons_own);
    let bare = open(json!({"plugin_env": {}}));
    let other = open(json!({"plugin_env": {"p": {"KEY": "other"}}}));
    let none = open(json!({"plugins": []}));
    // What counts is the content of a manifest when the workspace was opened.
    let changed = {
        manifests.allowing("p", "plain", json!(["env"]));
        open(json!({"plugins": [manifest]}))
    };
    let ids = [&daemons_own, &bare, &other, &none, &changed];
    assert!(ids.iter().enumerate().all(|(place, id)| !ids[..place].contains(id)), "{ids:?}");
    for (id, value) in [(&daemons_own, Some("daemon")), (&bare, None), (&other, Some("other"))] {
        let ask = wire.start_with("plugins.call", call("p", "env", json!({})), json!({"workspace": id}));
        let answer = wire.until_response(&ask).pop().unwrap();
        let env: Value = serde_json::from_str(text(&answer)).unwrap();
        assert_eq!(env.get("KEY").and_then(Value::as_str), value);
    }
    let ask = wire.start_with("plugins.list", json!({}), json!({"workspace": none}));
    assert_eq!(wire.until_response(&ask)[0]["output"], json!({"tools": []}));
    assert!(!daemon.log().contains("other"), "a value of an environment is in the log");
}

#[test]
fn a_wrong_setup_refuses_the_workspace() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("p", "plain");
    let http = manifests.http("h", "http://localhost:1/");
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    for (more, reason) in [
        (json!({"plugins": ["/nowhere/x.json"]}), "can't be read"),
        (json!({"plugins": ["x.json"]}), "absolute path"),
        (json!({"plugins": [manifest, manifest]}), "two plugins have the id \"p\""),
        (json!({"plugin_env": {"p": {}}}), "no plugin \"p\" is registered"),
        (json!({"plugins": [manifest], "plugin_env": {"p": {"": "v"}}}), "must not be empty"),
        (json!({"plugins": [manifest], "plugin_headers": {"p": {"A": "v"}}}), "is a program"),
        (json!({"plugins": [http], "plugin_env": {"h": {"A": "v"}}}), "is an HTTP server"),
        (json!({"plugins": [http], "plugin_headers": {"h": {"A b": "v"}}}), "no name of a header"),
        (json!({"plugins": [http], "plugin_headers": {"h": {"Mcp-X": "v"}}}), "transport's own"),
    ] {
        let mut arguments = json!({"root": daemon.root()});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let response = wire.call("workspace.open", arguments);
        assert!(refused(&response, "invalid_manifest").contains(reason), "{response}");
        assert_eq!(response["status"], "rejected");
    }
}

#[test]
fn two_hundred_sessions_leave_no_process() {
    let manifests = Manifests::new();
    // Starting python so often would take minutes: this one answers each line by its place.
    let script = r#"echo $$ >> "$0"; read l; printf '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n'; read l; read l; printf '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{}}]}}\n'; while read l; do :; done"#;
    let members =
        json!({"command": "/bin/sh", "args": ["-c", script, manifests.pids("p")], "allow_tools": ["*"]});
    let manifest = manifests.write("p", &members);
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    for number in 0..200 {
        // Another environment is another workspace.
        let open = json!({"root": daemon.root(), "plugins": [manifest], "plugin_env": {"p": {"N": number.to_string()}}});
        let id = wire.output("workspace.open", open)["workspace"].clone();
        let ask = wire.start_with("plugins.list", json!({}), json!({"workspace": id}));
        let answer = wire.until_response(&ask).pop().unwrap();
        assert_eq!(answer["output"]["tools"][0]["tool_name"], "t", "{answer}");
        wire.output("workspace.close", json!({"workspace": id}));
    }
    let pids = manifests.started("p");
    assert_eq!(pids.len(), 200);
    wait_until("they are gone", || are_gone(&pids));
}

pub(crate) fn worker(root: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axlr"));
    command.env_clear().arg("--root").arg(root).args(["--profile", "trusted-local"]).args(flags);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(command: &mut Command, tool: &str, arguments: Value) -> Output {
    let mut process = command.spawn().unwrap();
    let _ = process.stdin.take().unwrap().write_all(request("1", tool, arguments).to_string().as_bytes());
    process.wait_with_output().unwrap()
}

#[test]
fn one_request_alone_and_through_a_daemon_means_the_same() {
    let root = tempfile::tempdir().unwrap();
    let manifests = Manifests::new();
    let manifest = manifests.stdio("p", "plain");
    let daemon = Daemon::start();
    let socket = daemon.socket();
    let env_file = manifests.folder().join("env");
    std::fs::write(&env_file, "A=1\nB=1\n").unwrap();
    let env_file = format!("p:{}", env_file.display());
    let plugin = ["--plugin", &manifest, "--plugin-env-file", &env_file, "--plugin-env", "p:B=2"];
    for door in [vec![], vec!["--socket", socket.to_str().unwrap()]] {
        let flags = [&plugin[..], &door].concat();
        let ask = |tool: &str, arguments: Value| {
            let output = run(&mut worker(root.path(), &flags), tool, arguments);
            let answer: Value =
                serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
            (output.status.code().unwrap(), answer)
        };
        let (exit, answer) = ask("plugins.call", call("p", "env", json!({})));
        let mut env: Value = serde_json::from_str(text(&answer)).unwrap();
        env.as_object_mut().unwrap().remove("LC_CTYPE");
        assert_eq!((exit, env), (0, json!({"A": "1", "B": "2"})));
        let (exit, answer) = ask("plugins.list", json!({}));
        assert_eq!((exit, &answer["output"]["tools"][0]["tool_name"]), (0, &json!("echo")));
        for (arguments, exit, code) in [
            (call("q", "echo", json!({})), 0, "unknown_plugin"),
            (call("p", "missing", json!({})), 0, "unknown_plugin_tool"),
            (call("p", "die", json!({})), 0, "plugin_failed"),
            (call("9", "echo", json!({})), 2, "invalid_request"),
        ] {
            let (status, answer) = ask("plugins.call", arguments);
            assert_eq!(status, exit);
            refused(&answer, code);
        }
        let mut late = call("p", "never", json!({}));
        late["timeout_ms"] = json!(1_000);
        refused(&ask("plugins.call", late).1, "timeout");
        for (wrong, reason) in [
            (vec!["--plugin", &manifest, "--plugin", &manifest], "two plugins"),
            (vec!["--plugin-env", "p:A=1"], "no plugin \"p\""),
            (vec!["--plugin", "/nowhere/x"], "/nowhere/x"),
        ] {
            let output = run(&mut worker(root.path(), &[wrong, door.clone()].concat()), "list", json!({}));
            assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
        }
    }
    wait_until("no process is left", || are_gone(&manifests.started("p")));
}

#[test]
fn one_request_closes_its_plugin_whatever_the_plugin_wants() {
    let manifests = Manifests::new();
    let root = tempfile::tempdir().unwrap();
    let manifest = manifests.stdio("p", "stubborn");
    let began = Instant::now();
    let output =
        run(&mut worker(root.path(), &["--plugin", &manifest]), "plugins.call", call("p", "echo", json!({})));
    assert_eq!(output.status.code(), Some(0));
    assert!(are_gone(&manifests.started("p")) && began.elapsed() < Duration::from_secs(8));
    assert!(root.path().join("eof").exists());
}

#[test]
fn a_signal_cancels_the_one_call_and_is_still_answered() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("p", "plain");
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let root = tempfile::tempdir().unwrap();
        let mut process = worker(root.path(), &["--plugin", &manifest]).spawn().unwrap();
        let document = request("1", "plugins.call", call("p", "never", json!({}))).to_string();
        process.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
        wait_until("it is called", || root.path().join("called").exists());
        // SAFETY: plain kill(2) of a child that is not reaped yet.
        assert_eq!(unsafe { libc::kill(process.id() as i32, signal) }, 0);
        let output = process.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), code(&answer)), (Some(0), "cancelled"));
        assert!(are_gone(&manifests.started("p")));
        assert!(root.path().join("cancelled").exists(), "the server was not told");
    }
}
