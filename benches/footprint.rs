//! What the daemon costs when nobody asks: its start, its memory, and how fast it lets go.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use support::data::LARGE;
use support::wire::{request, request_with};
use support::{Aim, Contestant, Daemon, Effort, Encoding, Placement, Suite, Wire, data, text};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const SAMPLE: &str = "sample.c";
const REQUESTS: usize = 10_000;
const IDLE_CONNECTIONS: usize = 500;
const FLOOD_BYTES: u64 = 2_000_000_000;

fn main() {
    let Some(mut suite) = Suite::start("footprint") else { return };
    Placement::Free.apply(&[]);
    let root = data::scratch();
    std::fs::write(root.path().join(SAMPLE), text::exactly(1, 4_096)).unwrap();
    start(&mut suite, root.path());
    memory(&mut suite, root.path());
    flood(&mut suite, root.path());
    cancel(&mut suite, root.path());
    suite.finish();
}

/// From the start of the process to the first answer.
fn start(suite: &mut Suite, root: &Path) {
    if !suite.wants("start") {
        return;
    }
    let ping = request(Encoding::Json, "r1", "server.ping", json!({}));
    let begin = || {
        let start = Instant::now();
        let daemon = Daemon::launch(root, &[]);
        let mut wire = loop {
            match Wire::try_connect(&daemon.socket(), Encoding::Json) {
                Some(wire) => break wire,
                None => std::thread::sleep(Duration::from_micros(100)),
            }
        };
        wire.exchange(&ping);
        start.elapsed()
    };
    let effort = Effort { turns: 12, operations: 4 };
    let [ours] = suite.contest("start", effort, [Contestant::timed("to the first answer", begin)]);
    let aim = Aim::Within { p50: Duration::from_millis(8), p99: None };
    suite.row("start to the first answer", Placement::Free, &ours, None, aim);
}

/// Two daemons, one after the other: idle, after many requests, with idle connections.
fn memory(suite: &mut Suite, root: &Path) {
    if !suite.wants("memory") {
        return;
    }
    let runs = [0, 1].map(|_| {
        let daemon = Daemon::start(root);
        daemon.connect(Encoding::Json).ask("server.ping", json!({}));
        let idle = daemon.resident();
        mixed_requests(&daemon);
        let used = daemon.resident();
        let connections: Vec<Wire> = (0..IDLE_CONNECTIONS)
            .map(|_| {
                let mut wire = daemon.connect(Encoding::Json);
                wire.ask("read", json!({"path": SAMPLE}));
                wire
            })
            .collect();
        let each = daemon.resident().saturating_sub(used) / connections.len() as u64;
        (idle, used, each)
    });
    suite.bytes("memory, daemon and helpers, idle", runs.map(|run| run.0), Aim::Bytes(8 * MIB));
    suite.bytes("memory, after 10 000 requests", runs.map(|run| run.1), Aim::Bytes(12 * MIB));
    suite.bytes("memory, each idle connection", runs.map(|run| run.2), Aim::Bytes(16 * KIB));
}

/// What a day brings: mostly reads and pings, some listings and searches, some writes and programs.
fn mixed_requests(daemon: &Daemon) {
    let write = json!({"path": "written.c", "content": "int x;\n", "mode": "replace", "overwrite": true});
    let requests = [
        ("read", json!({"path": SAMPLE}), 70),
        ("server.ping", json!({}), 14),
        ("list", json!({"recursive": true}), 6),
        ("search", json!({"pattern": "return"}), 6),
        ("write", write, 2),
        ("exec", json!({"program": "/bin/true"}), 2),
    ];
    let frames: Vec<Vec<u8>> = requests
        .into_iter()
        .flat_map(|(tool, arguments, share)| vec![request(Encoding::Json, "r1", tool, arguments); share])
        .collect();
    let mut wire = daemon.connect(Encoding::Json);
    for frame in frames.iter().cycle().take(REQUESTS) {
        wire.exchange(frame);
    }
}

/// A program that prints two gigabytes: kept to its bound, and streamed to somebody who stops reading.
fn flood(suite: &mut Suite, root: &Path) {
    if !suite.wants("flood") {
        return;
    }
    let arguments = json!({"program": "/usr/bin/head", "args": ["-c", FLOOD_BYTES.to_string(), "/dev/zero"]});
    let capped = [0, 1].map(|_| {
        let daemon = Daemon::start(root);
        let mut wire = daemon.connect(Encoding::Json);
        let before = daemon.resident();
        wire.send(&request(Encoding::Json, "r1", "exec", arguments.clone()));
        let growth = watch(&daemon, before, || wire.is_ready());
        let answer: serde_json::Value = serde_json::from_slice(&wire.line()).unwrap();
        assert_eq!(answer["output"]["truncated"], true, "{}", answer["error"]);
        growth
    });
    suite.bytes("memory, growth by an exec of 2 GB, capped", capped, Aim::Bytes(8 * MIB));
    let streamed = [0, 1].map(|_| {
        let daemon = Daemon::start(root);
        let mut wire = daemon.connect(Encoding::MessagePack);
        let before = daemon.resident();
        let stream = json!({"stream": true});
        wire.send(&request_with(Encoding::MessagePack, "r1", "exec", arguments.clone(), stream));
        // It reads for a moment, then no more.
        let end = Instant::now() + Duration::from_millis(100);
        while Instant::now() < end {
            wire.receive();
        }
        let stop = Instant::now() + Duration::from_secs(1);
        watch(&daemon, before, || Instant::now() > stop)
    });
    suite.bytes("memory, growth by an exec of 2 GB, streamed, not read", streamed, Aim::Bytes(8 * MIB));
}

/// The most that the daemon and its helpers grow until something is so. Programs that it runs are small and count.
fn watch(daemon: &Daemon, before: u64, mut is_so: impl FnMut() -> bool) -> u64 {
    let mut most = 0;
    while !is_so() {
        most = most.max(daemon.resident().saturating_sub(before));
        std::thread::sleep(Duration::from_millis(5));
    }
    most
}

/// From the cancel's frame to the answer of the request that it cancels.
fn cancel(suite: &mut Suite, root: &Path) {
    if !suite.wants("cancel") {
        return;
    }
    let millis = Duration::from_millis;
    let effort = Effort { turns: 12, operations: 10 };
    for containment in ["cgroup", "keeper"] {
        let what = format!("cancel exec, {containment}");
        let Some(daemon) = Daemon::try_start(root, &[("AXLR_CONTAINMENT", containment)]) else {
            suite.left_out(&what, "not to be had on this machine");
            continue;
        };
        let mut wire = daemon.connect(Encoding::Json);
        let [ours] = suite.contest(&what, effort, [Contestant::timed("cancel", || cancel_exec(&mut wire))]);
        let aim = Aim::Within { p50: millis(1), p99: Some(millis(10)) };
        suite.row(&what, Placement::Free, &ours, None, aim);
    }
    let daemon = Daemon::start(&LARGE.path());
    let page = json!({"recursive": true, "max_depth": 8, "offset": 19_000});
    for (tool, arguments, head_start) in [
        ("search", json!({"pattern": "(?i)([a-z]+_){3}no_such_word"}), millis(10)),
        ("list", page, millis(2)),
    ] {
        let what = format!("cancel {tool}");
        let mut wire = daemon.connect(Encoding::Json);
        let frame = request(Encoding::Json, "work", tool, arguments);
        let turn = || cancel_work(&mut wire, &frame, head_start);
        let [ours] = suite.contest(&what, effort, [Contestant::timed("cancel", turn)]);
        let aim = Aim::Within { p50: millis(2), p99: Some(millis(20)) };
        suite.row(&what, Placement::Free, &ours, None, aim);
    }
}

/// A shell with a child of its own. When the answer is there, both are gone.
fn cancel_exec(wire: &mut Wire) -> Duration {
    let arguments = json!({"program": "/bin/sh", "args": ["-c", "sleep 60 & echo $! $$; wait"]});
    wire.send(&request_with(Encoding::Json, "work", "exec", arguments, json!({"stream": true})));
    let pids = loop {
        let event: serde_json::Value = serde_json::from_slice(&wire.line()).unwrap();
        if event["event"] == "stdout" {
            break base64(event["data"].as_str().unwrap());
        }
    };
    let took = send_cancel(wire).expect("a sleep is not over so soon");
    for pid in pids.split_whitespace() {
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        assert!(is_dead(pid), "{pid:?} outlived the answer");
    }
    took
}

/// Reaped, or dead and waiting to be.
fn is_dead(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    test_kill_process(pid).is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
}

/// Lets a request work for a moment and cancels it; again, when it was over before.
fn cancel_work(wire: &mut Wire, frame: &[u8], head_start: Duration) -> Duration {
    loop {
        wire.send(frame);
        std::thread::sleep(head_start);
        if let Some(took) = send_cancel(wire) {
            return took;
        }
    }
}

/// `None` when the request had ended.
fn send_cancel(wire: &mut Wire) -> Option<Duration> {
    let frame = request(Encoding::Json, "cancel", "request.cancel", json!({"request_id": "work"}));
    let start = Instant::now();
    wire.send(&frame);
    let mut took = None;
    let mut responses = 0;
    let mut is_cancelled = false;
    while responses < 2 {
        let line = wire.line();
        if memchr::memmem::find(&line, b"\"status\":").is_none() {
            continue;
        }
        responses += 1;
        if memchr::memmem::find(&line, b"\"request_id\":\"work\"").is_some() {
            took = Some(start.elapsed());
            is_cancelled = memchr::memmem::find(&line, b"\"status\":\"cancelled\"").is_some();
        }
    }
    took.filter(|_| is_cancelled)
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
}
