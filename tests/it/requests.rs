//! Many requests at a time on one connection, and the workspaces that they run in.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Daemon, code, is_alive, pid_in, request, wait_until};

const SLEEP: &str = "/bin/sleep";

#[test]
fn a_request_may_overtake_another() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let slow = wire.start("exec", json!({"program": SLEEP, "args": ["0.4"]}));
    let quick = wire.start("list", json!({}));
    assert_eq!(wire.receive()["request_id"], quick);
    assert_eq!(wire.receive()["request_id"], slow);
}

#[test]
fn an_id_in_flight_is_refused_and_free_again_after_its_answer() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let exec = request("same", "exec", json!({"program": SLEEP, "args": ["0.3"]}));
    wire.send(&exec);
    for tool in ["list", "server.ping"] {
        wire.send(&request("same", tool, json!({})));
        assert_eq!(code(&wire.receive()), "request_id_in_use");
    }
    assert_eq!(wire.receive()["status"], "completed");
    wire.send(&request("same", "list", json!({})));
    assert_eq!(wire.receive()["status"], "completed");
}

#[test]
fn a_cancel_ends_an_exec_and_says_whether_it_came_in_time() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let exec = wire.start("exec", json!({"program": SLEEP, "args": ["30"]}));
    let began = Instant::now();
    wire.start("request.cancel", json!({"request_id": exec}));
    let (first, second) = (wire.receive(), wire.receive());
    let (cancel, cancelled) =
        if first["tool"] == "request.cancel" { (first, second) } else { (second, first) };
    assert_eq!(cancel["output"], json!({"cancelled": true}));
    assert_eq!((&cancelled["status"], code(&cancelled)), (&json!("cancelled"), "cancelled"));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(wire.output("request.cancel", json!({"request_id": exec})), json!({"cancelled": false}));
}

#[test]
fn requests_past_the_bound_wait_in_order_and_control_passes_them() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let running: Vec<String> =
        (0..128).map(|_| wire.start("exec", json!({"program": SLEEP, "args": ["30"]}))).collect();
    let waiting: Vec<String> = (0..3).map(|_| wire.start("list", json!({}))).collect();
    let stats = wire.output("server.stats", json!({}));
    assert_eq!((&stats["running"], &stats["queued"]), (&json!(128), &json!(3)));
    // One that waits can be cancelled; it is answered before any of the others ran.
    wire.start("request.cancel", json!({"request_id": waiting[1]}));
    let mut answers = [wire.receive(), wire.receive()];
    answers.sort_by_key(|answer| answer["tool"].as_str().map(str::to_owned));
    assert_eq!(code(&answers[0]), "cancelled");
    assert_eq!(answers[1]["output"], json!({"cancelled": true}));
    wire.start("request.cancel", json!({"request_id": running[0]}));
    let ids: Vec<Value> = (0..4).map(|_| wire.receive()["request_id"].clone()).collect();
    for id in [&waiting[0], &waiting[2]] {
        assert!(ids.contains(&json!(id)), "{ids:?}");
    }
}

#[test]
fn an_unknown_workspace_is_refused_and_a_closed_one_is_unknown() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("here"), "x").unwrap();
    let opened = wire.output("workspace.open", json!({"root": other.path()}));
    let id = opened["workspace"].as_str().unwrap().to_owned();
    let list = |wire: &mut crate::support::Wire, id: &str| {
        let sent = wire.start_with("list", json!({}), json!({"workspace": id}));
        wire.until_response(&sent).pop().unwrap()
    };
    assert_eq!(list(&mut wire, &id)["output"]["entries"][0]["path"], "here");
    assert_eq!(code(&list(&mut wire, "nonsense")), "unknown_workspace");
    assert_eq!(code(&list(&mut daemon.connect(), &id)), "unknown_workspace");
    wire.output("workspace.close", json!({"workspace": id}));
    assert_eq!(code(&list(&mut wire, &id)), "unknown_workspace");
    assert_eq!(code(&wire.call("workspace.close", json!({"workspace": id}))), "unknown_workspace");
    assert_eq!(code(&wire.call("workspace.close", json!({"workspace": "w1"}))), "unknown_workspace");
}

#[test]
fn the_same_root_with_the_same_settings_is_the_same_workspace() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let other = tempfile::tempdir().unwrap();
    let link = daemon.folder().join("link");
    std::os::unix::fs::symlink(other.path(), &link).unwrap();
    let mut open = |arguments: Value| wire.output("workspace.open", arguments)["workspace"].clone();
    let first = open(json!({"root": other.path()}));
    assert_eq!(open(json!({"root": link})), first);
    assert_ne!(open(json!({"root": link, "env": {"A": "1"}})), first);
    assert_eq!(open(json!({"root": link, "env": {"PATH": "/usr/bin:/bin"}})), first);
    let listed = wire.output("workspace.list", json!({}));
    let handles: Vec<&Value> =
        listed["workspaces"].as_array().unwrap().iter().map(|one| &one["handles"]).collect();
    assert_eq!(handles, [&json!(1), &json!(3), &json!(1)], "{listed}");
    drop(wire);
    let mut wire = daemon.connect();
    wait_until("the connection's end gave its opens back", || {
        wire.output("workspace.list", json!({}))["workspaces"].as_array().unwrap().len() == 1
    });
}

#[test]
fn what_is_opened_as_default_holds_for_the_connection() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("mine"), "x").unwrap();
    wire.output("workspace.open", json!({"root": other.path(), "default": true}));
    assert_eq!(wire.output("list", json!({}))["entries"][0]["path"], "mine");
    assert_eq!(daemon.connect().output("list", json!({}))["entries"], json!([]));
}

#[test]
fn a_root_that_can_not_be_opened_says_why() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    std::fs::write(daemon.root().join("file"), "x").unwrap();
    let mut refused = |arguments: Value| code(&wire.call("workspace.open", arguments)).to_owned();
    assert_eq!(refused(json!({"root": "relative"})), "invalid_request");
    assert_eq!(refused(json!({"root": "/a\u{0}b"})), "invalid_request");
    assert_eq!(refused(json!({"root": "/no/such/folder"})), "not_found");
    assert_eq!(refused(json!({"root": daemon.root().join("file")})), "invalid_path");
    assert_eq!(refused(json!({"root": daemon.root(), "plugins": ["/x.json"]})), "invalid_manifest");
    assert_eq!(refused(json!({"root": daemon.root(), "env": {"": "x"}})), "invalid_request");
}

#[test]
fn without_plugins_none_is_known() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    assert_eq!(wire.output("plugins.list", json!({})), json!({"tools": []}));
    let call = |id: &str| json!({"plugin_id": id, "tool_name": "t", "arguments": {}});
    assert_eq!(code(&wire.call("plugins.call", call("nope"))), "unknown_plugin");
    assert_eq!(code(&wire.call("plugins.call", call("9"))), "invalid_request");
}

#[test]
fn the_daemon_describes_itself() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let info = wire.output("server.info", json!({}));
    assert_eq!(info["name"], "axlrd");
    assert_eq!(info["pid"], daemon.process.id());
    assert_eq!(info["tools"].as_array().unwrap().len(), 18);
    assert_eq!(info["limits"]["connection_running_max"], 128);
    let capabilities: Vec<&str> =
        info["capabilities"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(capabilities.contains(&"stream") && capabilities.contains(&"cancel"), "{capabilities:?}");
    assert!(capabilities.iter().any(|name| name.starts_with("containment.")), "{capabilities:?}");
    wire.output("list", json!({}));
    let stats = wire.output("server.stats", json!({}));
    assert_eq!(stats["tools"]["list"]["completed"], 1);
    assert!(stats["bytes_in"].as_u64().unwrap() > 0 && stats["resident_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn mutations_apply_in_order_of_arrival_across_connections_and_workspaces() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let other =
        wire.output("workspace.open", json!({"root": daemon.root(), "env": {"A": "1"}}))["workspace"].clone();
    wire.output("write", json!({"path": "log", "content": "0\n", "mode": "create"}));
    // Each edit needs its predecessor's result; they are all sent before the first answer is read.
    for number in 0..60 {
        let arguments = json!({"path": "log", "old_text": format!("{number}\n"), "new_text": format!("{}\n", number + 1)});
        let more = if number % 2 == 0 { json!({}) } else { json!({"workspace": other}) };
        wire.start_with("edit", arguments, more);
    }
    for _ in 0..60 {
        let response = wire.receive();
        assert_eq!(response["status"], "completed", "{response}");
    }
    assert_eq!(std::fs::read_to_string(daemon.root().join("log")).unwrap(), "60\n");
}

#[test]
fn a_failure_that_its_predecessor_cures_is_none() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    wire.start("write", json!({"path": "d/f", "content": "one", "mode": "create", "parents": true}));
    wire.start("write", json!({"path": "d/g", "content": "two", "mode": "create"}));
    wire.start("edit", json!({"path": "d/g", "old_text": "two", "new_text": "three"}));
    wire.start("write", json!({"path": "d/g", "content": "x", "mode": "create"}));
    let answers: Vec<String> = {
        let mut answers: Vec<Value> = (0..4).map(|_| wire.receive()).collect();
        answers.sort_by_key(|answer| answer["request_id"].as_str().unwrap().to_owned());
        answers.iter().map(|answer| code(answer).to_owned()).collect()
    };
    assert_eq!(answers, ["completed", "completed", "completed", "conflict"]);
}

#[test]
fn of_many_clients_that_create_one_file_one_wins() {
    let daemon = Daemon::start();
    let mut wires: Vec<_> = (0..64).map(|_| daemon.connect()).collect();
    for (number, wire) in wires.iter_mut().enumerate() {
        wire.start("write", json!({"path": "one", "content": number.to_string(), "mode": "create"}));
    }
    let answers: Vec<Value> = wires.iter_mut().map(|wire| wire.receive()).collect();
    let winners: Vec<usize> = (0..64).filter(|&number| answers[number]["status"] == "completed").collect();
    assert_eq!(winners.len(), 1, "{winners:?}");
    assert!(answers.iter().filter(|answer| code(answer) == "conflict").count() == 63);
    assert_eq!(std::fs::read_to_string(daemon.root().join("one")).unwrap(), winners[0].to_string());
    assert_eq!(std::fs::read_dir(daemon.root()).unwrap().count(), 1);
}

#[test]
fn every_answer_is_out_before_a_half_closed_connection_is_closed() {
    let daemon = Daemon::start();
    for round in 0..100 {
        let mut wire = daemon.connect();
        let requests: String =
            (0..20).map(|id| format!("{}\n", request(&id.to_string(), "list", json!({})))).collect();
        wire.stream.write_all(requests.as_bytes()).unwrap();
        wire.stream.shutdown(Shutdown::Write).unwrap();
        let answers = BufReader::new(&wire.stream).lines().map_while(Result::ok).count();
        assert_eq!(answers, 20, "round {round}");
    }
}

#[test]
fn the_last_open_of_a_workspace_ends_what_others_still_run_there() {
    for disconnect in [false, true] {
        let daemon = Daemon::start();
        let root = daemon.folder().join("other");
        std::fs::create_dir(&root).unwrap();
        let (mut first, mut last) = (daemon.connect(), daemon.connect());
        let open = json!({"root": root});
        let workspace = first.output("workspace.open", open.clone())["workspace"].clone();
        assert_eq!(last.output("workspace.open", open)["workspace"], workspace);
        let script = "echo $$ > pid; exec sleep 60";
        let exec = first.start_with(
            "exec",
            json!({"program": "/bin/sh", "args": ["-c", script]}),
            json!({"workspace": workspace}),
        );
        let pid = pid_in(&root.join("pid"));
        let close = json!({"workspace": workspace});
        assert_eq!(first.output("workspace.close", close.clone()), json!({}));
        assert!(is_alive(pid), "another connection holds the workspace");
        if disconnect {
            drop(last);
        } else {
            assert_eq!(last.output("workspace.close", close), json!({}));
        }
        let answer = first.receive();
        assert_eq!((&answer["request_id"], code(&answer)), (&json!(exec), "cancelled"));
        assert!(!is_alive(pid));
    }
}

#[test]
fn an_open_that_is_cancelled_leaves_no_handle() {
    let daemon = Daemon::start();
    let root = daemon.folder().join("other");
    std::fs::create_dir(&root).unwrap();
    let mut wire = daemon.connect();
    for _ in 0..300 {
        let open = wire.start("workspace.open", json!({"root": root}));
        wire.start("request.cancel", json!({"request_id": open}));
        wire.receive();
        wire.receive();
    }
    drop(wire);
    let mut wire = daemon.connect();
    wait_until("all opens are given back", || {
        wire.output("workspace.list", json!({}))["workspaces"].as_array().unwrap().len() == 1
    });
}

#[test]
fn execs_in_line_for_a_place_shut_out_no_other_tool() {
    let daemon = Daemon::start();
    // All 256 children, and the whole line of 1 024.
    let mut crowd: Vec<_> = (0..10).map(|_| daemon.connect()).collect();
    for wire in &mut crowd {
        for _ in 0..128 {
            wire.start("exec", json!({"program": SLEEP, "args": ["60"]}));
        }
    }
    let mut wire = daemon.connect();
    wait_until("all are admitted", || {
        let stats = wire.output("server.stats", json!({}));
        (&stats["running"], &stats["children"]) == (&json!(1280), &json!(256))
    });
    assert_eq!(code(&wire.call("list", json!({}))), "completed");
    wire.start("exec", json!({"program": SLEEP, "args": ["60"]}));
    let mut other = daemon.connect();
    wait_until("the line is full for one", || {
        other.output("server.stats", json!({}))["tools"]["exec"]["rejected"] == 1
    });
    drop(crowd);
    wait_until("those who left are gone", || {
        let stats = other.output("server.stats", json!({}));
        stats["running"].as_u64().unwrap() <= 1
    });
}
