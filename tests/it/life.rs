//! Start, stop and sudden death.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Daemon, code, is_alive, pid_in, request, wait_until};

/// A tree with an escapee by setsid and one by double fork; each writes its process id.
const TREE: &str = "setsid sh -c 'echo $$ > a; exec sleep 60' & \
     (setsid sh -c '(echo $$ > b; exec sleep 60) & exit' &) ; \
     (sleep 60 & echo $! > c); sleep 60";

pub(crate) fn mechanisms() -> [&'static str; 2] {
    ["cgroup", "keeper"]
}

fn tree_pids(daemon: &Daemon) -> Vec<i64> {
    ["a", "c"].iter().map(|name| pid_in(&daemon.root().join(name))).collect()
}

fn forget_pids(daemon: &Daemon) {
    for name in ["a", "b", "c"] {
        let _ = std::fs::remove_file(daemon.root().join(name));
    }
}

pub(crate) fn held_by(daemon: &Daemon, mechanism: &str) -> bool {
    let info = daemon.connect().output("server.info", json!({}));
    let is = info["capabilities"].as_array().unwrap().contains(&json!(format!("containment.{mechanism}")));
    if !is {
        eprintln!("SKIPPED: this machine has no {mechanism} containment");
    }
    is
}

#[test]
fn a_whole_tree_dies_with_its_request_and_a_neighbour_lives() {
    for mechanism in mechanisms() {
        let daemon = Daemon::start_with(&[], &[("AXLR_CONTAINMENT", mechanism)]);
        if !held_by(&daemon, mechanism) {
            continue;
        }
        let mut neighbour = daemon.connect();
        let script = "setsid sleep 300 >/dev/null 2>&1 </dev/null & echo $! > n";
        let finished = neighbour.output("exec", json!({"program": "/bin/sh", "args": ["-c", script]}));
        assert_eq!(finished["truncated"], false);
        let detached = pid_in(&daemon.root().join("n"));
        assert!(is_alive(detached));

        // By its deadline.
        let mut wire = daemon.connect();
        let exec = json!({"program": "/bin/sh", "args": ["-c", TREE], "timeout_ms": 700});
        wire.start("exec", exec.clone());
        let pids = tree_pids(&daemon);
        assert_eq!(code(&wire.receive()), "timeout");
        wait_until("the tree is gone after a timeout", || !pids.iter().any(|&pid| is_alive(pid)));
        forget_pids(&daemon);

        // By a cancel.
        let id = wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", TREE]}));
        let pids = tree_pids(&daemon);
        wire.start("request.cancel", json!({"request_id": id}));
        wire.receive();
        wire.receive();
        wait_until("the tree is gone after a cancel", || !pids.iter().any(|&pid| is_alive(pid)));
        forget_pids(&daemon);

        // By the end of its connection.
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", TREE]}));
        let pids = tree_pids(&daemon);
        drop(wire);
        wait_until("the tree is gone after a disconnect", || !pids.iter().any(|&pid| is_alive(pid)));
        forget_pids(&daemon);

        assert!(is_alive(detached), "the neighbour's process lives on ({mechanism})");
        assert_eq!(neighbour.output("server.stats", json!({}))["detached"], 1);

        // By the death of the daemon, and then the neighbour's too.
        let mut wire = daemon.connect();
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", TREE]}));
        let pids = tree_pids(&daemon);
        let folder = daemon.kill();
        let killed = Instant::now();
        wait_until("nothing outlives the daemon", || {
            !pids.iter().chain([&detached]).any(|&pid| is_alive(pid))
        });
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?} ({mechanism})", killed.elapsed());
        drop(folder);
    }
}

#[test]
fn a_detached_process_is_counted_until_it_ends() {
    for mechanism in mechanisms() {
        let daemon = Daemon::start_with(&[], &[("AXLR_CONTAINMENT", mechanism)]);
        if !held_by(&daemon, mechanism) {
            continue;
        }
        let mut wire = daemon.connect();
        let script = "setsid sleep 0.5 >/dev/null 2>&1 </dev/null &";
        wire.output("exec", json!({"program": "/bin/sh", "args": ["-c", script]}));
        wait_until("it is counted", || wire.output("server.stats", json!({}))["detached"] == 1);
        wait_until("it has ended", || wire.output("server.stats", json!({}))["detached"] == 0);
    }
}

#[test]
fn a_fork_storm_ends_with_its_request() {
    for mechanism in mechanisms() {
        let daemon = Daemon::start_with(&[], &[("AXLR_CONTAINMENT", mechanism)]);
        if !held_by(&daemon, mechanism) {
            continue;
        }
        let mut wire = daemon.connect();
        let script = "ulimit -u 400 2>/dev/null; i=0; while [ $i -lt 300 ]; do (setsid sleep 77.$$ &) ; i=$((i+1)); done; wait; sleep 60";
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", script], "timeout_ms": 1000}));
        assert_eq!(code(&wire.receive()), "timeout");
        wait_until("the storm is over", || {
            let listed = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
            !String::from_utf8_lossy(&listed.stdout).contains("sleep 77.")
        });
        assert_eq!(wire.output("server.ping", json!({})), json!({}));
        let hi = wire.output("exec", json!({"program": "/bin/echo", "args": ["hi"]}));
        assert_eq!(hi["stdout"], "hi\n");
    }
}

#[test]
fn a_stop_lets_running_requests_finish_and_refuses_new_ones() {
    let mut daemon = Daemon::start();
    let mut wire = daemon.connect();
    let slow = wire
        .start("exec", json!({"program": "/bin/sh", "args": ["-c", "echo $$ > pid; sleep 0.5; echo done"]}));
    pid_in(&daemon.root().join("pid"));
    daemon.signal(libc::SIGTERM);
    wait_until("new requests are refused", || code(&wire.call("list", json!({}))) == "shutting_down");
    let answer = wire.receive();
    assert_eq!((&answer["request_id"], &answer["output"]["stdout"]), (&json!(slow), &json!("done\n")));
    assert!(daemon.wait().success());
    assert!(wire.is_closed());
}

#[test]
fn the_drain_ends_and_a_second_signal_skips_it() {
    for skip in [false, true] {
        let drain = if skip { "30" } else { "0.3" };
        let mut daemon = Daemon::start_with(&["--drain", drain], &[]);
        let mut wire = daemon.connect();
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", "echo $$ > pid; sleep 60"]}));
        let pid = pid_in(&daemon.root().join("pid"));
        let began = Instant::now();
        daemon.signal(libc::SIGTERM);
        if skip {
            std::thread::sleep(Duration::from_millis(50));
            daemon.signal(libc::SIGTERM);
        }
        assert_eq!(code(&wire.receive()), "cancelled");
        assert!(daemon.wait().success());
        assert!(!is_alive(pid));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[test]
fn server_stop_is_answered_then_carried_out() {
    let mut daemon = Daemon::start();
    let mut wire = daemon.connect();
    assert_eq!(code(&wire.call("server.stop", json!({"drain_ms": -1}))), "invalid_request");
    assert_eq!(wire.output("server.stop", json!({"drain_ms": 100})), json!({}));
    assert!(daemon.wait().success());
}

#[test]
fn one_connection_on_stdin_and_stdout_speaks_the_same_protocol() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "alpha\n").unwrap();
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_axlrd"))
        .args(["--stdio", "--root"])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    write!(
        stdin,
        "{}\n{}",
        request("1", "read", json!({"path": "a"})),
        request("2", "server.ping", json!({}))
    )
    .unwrap();
    drop(stdin);
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().any(|answer| answer["output"]["content"] == "alpha\n"), "{answers:?}");
}

fn on_stdio(
    folder: &std::path::Path,
) -> (std::process::Child, std::process::ChildStdin, std::process::ChildStdout) {
    let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_axlrd"))
        .args(["--stdio", "--root"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    (process, stdin, stdout)
}

#[test]
fn messagepack_on_stdio_is_answered_while_stdin_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut stdin, mut stdout) = on_stdio(folder.path());
    let frame = rmp_serde::to_vec_named(&request("1", "server.ping", json!({}))).unwrap();
    for _ in 0..2 {
        stdin.write_all(&u32::try_from(frame.len()).unwrap().to_be_bytes()).unwrap();
        stdin.write_all(&frame).unwrap();
        let mut length = [0; 4];
        stdout.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        stdout.read_exact(&mut answer).unwrap();
        let answer: Value = rmp_serde::from_slice(&answer).unwrap();
        assert_eq!(answer["status"], "completed");
    }
    drop(stdin);
    assert!(process.wait().unwrap().success());
}

#[test]
fn the_last_answer_on_stdio_arrives_whole_however_slowly_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), "x".repeat(1 << 20)).unwrap();
    let (mut process, mut stdin, mut stdout) = on_stdio(folder.path());
    writeln!(stdin, "{}", request("1", "read", json!({"path": "a", "max_bytes": 1 << 20}))).unwrap();
    drop(stdin);
    // The pipe is full: from here on a daemon that trusts its writes would end.
    wait_until("the pipe is full", || rustix::io::ioctl_fionread(&stdout).unwrap() >= 65_536);
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["output"]["returned_bytes"], 1 << 20);
    assert!(process.wait().unwrap().success());
}

#[test]
fn a_daemon_on_stdio_whose_reader_left_ends_with_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut stdin, stdout) = on_stdio(folder.path());
    let script = json!({"program": "/bin/sh", "args": ["-c", "echo $$ > pid; exec /bin/sleep 60"]});
    writeln!(stdin, "{}", request("1", "exec", script)).unwrap();
    let pid = pid_in(&folder.path().join("pid"));
    drop(stdin);
    drop(stdout);
    wait_until("the daemon has ended", || process.try_wait().unwrap().is_some());
    wait_until("its child has ended", || !is_alive(pid));
}

#[test]
fn sudden_death_leaves_old_or_new_content_and_no_temporary_file() {
    let mut folder = Some(tempfile::tempdir().unwrap());
    let root = folder.as_ref().unwrap().path().join("root");
    std::fs::create_dir(&root).unwrap();
    let (old, new) = ("o".repeat(40_000), "n".repeat(40_000));
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..20 {
        for name in 0..10 {
            std::fs::write(root.join(name.to_string()), &old).unwrap();
        }
        let daemon = Daemon::start_in(folder.take().unwrap(), &[], &[]);
        let mut wire = daemon.connect();
        for name in 0..10 {
            let arguments =
                json!({"path": name.to_string(), "content": new, "mode": "replace", "overwrite": true});
            wire.start("write", arguments);
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::thread::sleep(Duration::from_micros(state % 30_000));
        folder = Some(daemon.kill());
        for name in 0..10 {
            let content = std::fs::read_to_string(root.join(name.to_string())).unwrap();
            assert!(content == old || content == new, "round {round}: half a file");
        }
    }
    let opened = Instant::now();
    let daemon = Daemon::start_in(folder.take().unwrap(), &[], &[]);
    wait_until("no temporary file is left", || {
        std::fs::read_dir(&root)
            .unwrap()
            .all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with(".axlr-tmp-"))
    });
    assert!(opened.elapsed() < Duration::from_secs(2));
    drop(daemon);
}

#[test]
fn a_daemon_without_descriptors_answers_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("root")).unwrap();
    std::fs::write(folder.path().join("root/f"), "x").unwrap();
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["-c", "ulimit -Hn 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_axlrd")]);
    command
        .arg("--socket")
        .arg(folder.path().join("axlr.sock"))
        .arg("--root")
        .arg(folder.path().join("root"));
    let mut process = command.stderr(Stdio::null()).spawn().unwrap();
    let socket = folder.path().join("axlr.sock");
    wait_until("it listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let mut wire = crate::support::Wire::new(std::os::unix::net::UnixStream::connect(&socket).unwrap());
    for number in 0..60 {
        wire.send(&request(&format!("e{number}"), "exec", json!({"program": "/bin/sleep", "args": ["0.2"]})));
    }
    let codes: Vec<String> = (0..60).map(|_| code(&wire.receive()).to_owned()).collect();
    let known = ["completed", "start_failed", "overloaded", "filesystem_error"];
    assert!(codes.iter().all(|code| known.contains(&code.as_str())), "{codes:?}");
    wait_until("it has recovered", || {
        code(&wire.call("exec", json!({"program": "/bin/true"}))) == "completed"
            && code(&wire.call("read", json!({"path": "f"}))) == "completed"
    });
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn a_signal_after_server_stop_skips_the_drain() {
    let mut daemon = Daemon::start();
    let mut wire = daemon.connect();
    wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", "echo $$ > pid; sleep 60"]}));
    let pid = pid_in(&daemon.root().join("pid"));
    assert_eq!(wire.output("server.stop", json!({"drain_ms": 60_000})), json!({}));
    daemon.signal(libc::SIGTERM);
    assert_eq!(code(&wire.receive()), "cancelled");
    assert!(daemon.wait().success());
    assert!(!is_alive(pid));
}

#[test]
fn a_daemon_on_stdio_notices_that_its_reader_left_while_its_input_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, mut stdin, stdout) = on_stdio(folder.path());
    let script = json!({"program": "/bin/sh", "args": ["-c", "echo $$ > pid; exec /bin/sleep 60"]});
    writeln!(stdin, "{}", request("1", "exec", script)).unwrap();
    let pid = pid_in(&folder.path().join("pid"));
    drop(stdout);
    wait_until("the daemon has ended", || process.try_wait().unwrap().is_some());
    wait_until("its child has ended", || !is_alive(pid));
    drop(stdin);
}

/// The helper that ends the children when the daemon is gone.
fn warden_of(daemon: &Daemon) -> Option<i64> {
    let is_warden = |pid: &i64| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name == "axlr-warden\n" && is_alive(*pid)
    };
    std::fs::read_dir(format!("/proc/{}/task", daemon.process.id()))
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|pids| pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<i64>>())
        .find(is_warden)
}

#[test]
fn nothing_outlives_a_daemon_whose_helper_was_killed_before() {
    for mechanism in mechanisms() {
        let daemon = Daemon::start_with(&[], &[("AXLR_CONTAINMENT", mechanism)]);
        if !held_by(&daemon, mechanism) {
            continue;
        }
        let mut wire = daemon.connect();
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", TREE]}));
        let pids = tree_pids(&daemon);
        let warden = warden_of(&daemon).unwrap();
        // SAFETY: plain kill(2) of a process that was just seen.
        unsafe { libc::kill(warden as i32, libc::SIGKILL) };
        wait_until("another helper is there", || warden_of(&daemon).is_some_and(|pid| pid != warden));
        assert_eq!(wire.output("server.ping", json!({})), json!({}));
        daemon.kill();
        wait_until("nothing outlives the daemon", || !pids.iter().any(|&pid| is_alive(pid)));
    }
}

#[test]
fn a_tree_that_stops_or_kills_its_keeper_dies_all_the_same() {
    let daemon = Daemon::start_with(&[], &[("AXLR_CONTAINMENT", "keeper")]);
    if !held_by(&daemon, "keeper") {
        return;
    }
    let mut wire = daemon.connect();
    for signal in ["STOP", "KILL"] {
        let script = format!("setsid sleep 60 & echo $! > pid; kill -{signal} $PPID; sleep 60");
        let id = wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", script]}));
        let pid = pid_in(&daemon.root().join("pid"));
        wire.start("request.cancel", json!({"request_id": id}));
        wire.receive();
        wire.receive();
        wait_until("the tree is gone", || !is_alive(pid));
        std::fs::remove_file(daemon.root().join("pid")).unwrap();
    }
    assert_eq!(code(&wire.call("exec", json!({"program": "/bin/true"}))), "completed");
}

#[test]
fn daemons_that_start_at_once_do_not_sweep_each_others_groups() {
    if !held_by(&Daemon::start(), "cgroup") {
        return;
    }
    for _ in 0..5 {
        let start = || Daemon::start_with(&[], &[("AXLR_CONTAINMENT", "cgroup")]);
        std::thread::scope(|scope| {
            let starts: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            for daemon in starts {
                let daemon = daemon.join().unwrap();
                let mut wire = daemon.connect();
                assert_eq!(code(&wire.call("exec", json!({"program": "/bin/true"}))), "completed");
            }
        });
    }
}
