//! The HTTP bridge: what lives as long as its client, and no longer; slow readers; the daemon's end.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::http::{Bridge, Http};
use crate::support::{is_alive, pid_in, wait_until};

/// A script that leaves the ids of a process, a child of its and one that fled its session in files, then waits.
const FAMILY: &str = "setsid sh -c 'echo $$ > fled; exec sleep 600' & sh -c 'echo $$ > child; exec sleep 600' & echo $$ > self; sleep 600; sleep 600";

fn family(bridge: &Bridge) -> [i64; 3] {
    ["self", "child", "fled"].map(|name| pid_in(&bridge.daemon.root().join(name)))
}

fn assert_dead_within(limit: Duration, pids: &[i64]) {
    let begun = Instant::now();
    while pids.iter().any(|&pid| is_alive(pid)) {
        assert!(begun.elapsed() < limit, "alive after {:?}", begun.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What the contract promises, and what a busy machine takes.
const PROMISE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 100 });

/// What a stream's line holds.
fn json_line(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn what_runs_for_a_client_dies_with_its_connection() {
    let reset = |http: Http| {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        // SAFETY: the option is of the size that is told.
        let set = unsafe {
            libc::setsockopt(
                std::os::fd::AsRawFd::as_raw_fd(http.stream()),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size_of_val(&linger) as u32,
            )
        };
        assert_eq!(set, 0);
    };
    let close = |http: Http| drop(http);
    let half = |http: Http| {
        http.stream().shutdown(Shutdown::Write).unwrap();
        std::mem::forget(http);
    };
    for (path, mechanism) in
        [("/exec", "cgroup"), ("/exec", "keeper"), ("/spawn", "cgroup"), ("/spawn", "keeper")]
    {
        for leave in [&close as &dyn Fn(Http), &reset, &half] {
            let bridge = Bridge::start_with(&[], &[("AXLR_CONTAINMENT", mechanism)]);
            let mut http = bridge.connect();
            http.send(&bridge.request(path, &json!({"cmd": FAMILY})));
            let pids = family(&bridge);
            leave(http);
            assert_dead_within(PROMISE, &pids);
        }
    }
}

#[test]
fn a_client_that_leaves_with_requests_behind_is_noticed_too() {
    let bridge = Bridge::start();
    let mut http = bridge.connect();
    let request = bridge.request("/exec", &json!({"cmd": FAMILY}));
    let next = bridge.request("/exec", &json!({"cmd": "touch ran"}));
    http.send(&(request + &next));
    let pids = family(&bridge);
    drop(http);
    assert_dead_within(PROMISE, &pids);
    std::thread::sleep(Duration::from_millis(100));
    assert!(!bridge.daemon.root().join("ran").exists());
}

#[test]
fn a_client_that_takes_nothing_and_leaves_is_noticed_too() {
    let bridge = Bridge::start();
    let mut http = bridge.connect();
    http.send(&bridge.request("/spawn", &json!({"cmd": "echo $$ > self; exec cat /dev/zero"})));
    let pid = pid_in(&bridge.daemon.root().join("self"));
    // The child is stopped by a full pipe.
    wait_until("the child waits", || {
        std::fs::read_to_string(format!("/proc/{pid}/wchan")).is_ok_and(|place| place.contains("pipe"))
            || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") S "))
    });
    drop(http);
    assert_dead_within(PROMISE, &[pid]);
}

#[test]
fn who_leaves_the_line_does_not_run() {
    let bridge = Bridge::start();
    let hold: Vec<Http> = (0..256)
        .map(|_| {
            let mut http = bridge.connect();
            http.send(&bridge.request("/exec", &json!({"cmd": "sleep 600"})));
            http
        })
        .collect();
    let mut wire = bridge.daemon.connect();
    wait_until("every place is taken", || wire.output("server.stats", json!({}))["children"] == 256);
    let mut waiting = bridge.connect();
    waiting.send(&bridge.request("/exec", &json!({"cmd": "touch ran"})));
    let running = |wire: &mut crate::support::Wire, number: u64| {
        wait_until("the line is as long", || wire.output("server.stats", json!({}))["running"] == number);
    };
    running(&mut wire, 257);
    drop(waiting);
    running(&mut wire, 256);
    let begun = Instant::now();
    drop(hold);
    running(&mut wire, 0);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!bridge.daemon.root().join("ran").exists());
}

#[test]
fn a_stream_flows_while_the_program_runs() {
    let bridge = Bridge::start();
    let mut http = bridge.connect();
    let cmd = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2";
    http.send(&bridge.request("/spawn", &json!({"cmd": cmd})));
    assert_eq!(http.begin().0, 200);
    assert_eq!(json_line(&http.chunk().unwrap()), json!({"t": "out", "b": "b25lCg=="}));
    std::fs::write(bridge.daemon.root().join("go"), "").unwrap();
    assert_eq!(json_line(&http.chunk().unwrap()), json!({"t": "err", "b": "dHdvCg=="}));
    assert_eq!(json_line(&http.chunk().unwrap()), json!({"t": "exit", "code": 0}));
    assert_eq!(http.chunk(), None);
    // The connection goes on.
    http.send(&bridge.request("/exec", &json!({"cmd": "echo again"})));
    assert_eq!(http.answer().json()["stdout"], "again\n");
}

#[test]
fn a_program_that_leaves_its_pipe_to_others_is_waited_for_a_second() {
    let bridge = Bridge::start();
    for path in ["/exec", "/spawn"] {
        let begun = Instant::now();
        let cmd = "echo out; sleep 600 & echo $! > holder; exit 3";
        let answer = bridge.post(path, json!({"cmd": cmd}));
        let took = begun.elapsed();
        assert!(took > Duration::from_millis(900) && took < Duration::from_secs(4), "{took:?}");
        match path {
            "/exec" => assert_eq!(answer.json(), json!({"errno": 3, "stdout": "out\n", "stderr": ""})),
            _ => assert_eq!(answer.body, "{\"t\":\"out\",\"b\":\"b3V0Cg==\"}\n{\"t\":\"exit\",\"code\":3}\n"),
        }
        assert_dead_within(Duration::from_secs(1), &[pid_in(&bridge.daemon.root().join("holder"))]);
    }
}

#[test]
fn what_detached_from_a_command_that_completed_lives_until_the_daemon_ends() {
    let mut bridge = Bridge::start();
    let cmd = "setsid sleep 600 >/dev/null 2>&1 & echo $! > left";
    assert_eq!(bridge.exec(json!({"cmd": cmd}))["errno"], 0);
    let pid = pid_in(&bridge.daemon.root().join("left"));
    let mut wire = bridge.daemon.connect();
    assert_eq!(wire.output("server.stats", json!({}))["detached"], 1);
    std::thread::sleep(Duration::from_millis(200));
    assert!(is_alive(pid));
    bridge.daemon.signal(libc::SIGTERM);
    assert!(bridge.daemon.wait().success());
    assert_dead_within(Duration::from_secs(1), &[pid]);
}

#[test]
fn a_reader_that_stops_costs_the_daemon_nothing() {
    let bridge = Bridge::start();
    bridge.spawn(json!({"cmd": "head -c 1000000 /dev/zero"}));
    let before = bridge.daemon.resident();
    let mut readers: Vec<Http> = Vec::new();
    for _ in 0..4 {
        let mut http = bridge.connect();
        http.send(&bridge.request("/spawn", &json!({"cmd": "exec cat /dev/zero"})));
        readers.push(http);
    }
    let mut wire = bridge.daemon.connect();
    let mut sent = 0;
    wait_until("nothing moves any more", || {
        std::thread::sleep(Duration::from_millis(100));
        let now = wire.output("server.stats", json!({}))["bytes_out"].as_u64().unwrap();
        let stands = now - sent < 10_000;
        sent = now;
        stands
    });
    let growth = bridge.daemon.resident().saturating_sub(before);
    assert!(growth < 4 * 2_000, "{growth} KiB for four readers that stopped");
    // What was held back comes when it is asked for.
    let mut bytes = vec![0; 50_000_000];
    let mut reader = readers.swap_remove(0);
    assert_eq!(reader.begin().0, 200);
    reader.stream().read_exact(&mut bytes).unwrap();
}

#[test]
fn a_body_in_tiny_chunks_costs_no_more_than_its_bytes() {
    const CHUNKS: usize = 200_000;
    let bridge = Bridge::start();
    bridge.exec(json!({"cmd": "true"}));
    let mut wire = bridge.daemon.connect();
    let mut read = || wire.output("server.stats", json!({}))["bytes_in"].as_u64().unwrap();
    let (before, begun) = (bridge.daemon.resident(), read());
    let mut http = bridge.connect();
    http.send(&format!("{}Transfer-Encoding: chunked\r\n\r\n", bridge.head("/exec")));
    http.send(&"1\r\n \r\n".repeat(CHUNKS));
    wait_until("all of it is read", || read() >= begun + 6 * CHUNKS as u64);
    let growth = bridge.daemon.resident().saturating_sub(before);
    assert!(growth < 3_000, "{growth} KiB for {CHUNKS} bytes");
    http.send("e\r\n{\"cmd\":\"true\"}\r\n0\r\n\r\n");
    assert_eq!(http.answer().json()["errno"], 0);
}

#[test]
fn a_stop_ends_streams_with_an_exit_line() {
    let mut bridge = Bridge::start_with(&["--drain", "0.2"], &[]);
    let mut stream = bridge.connect();
    stream.send(
        &bridge
            .request("/spawn", &json!({"cmd": FAMILY.replace("echo $$ > self", "echo $$ > self; echo on")})),
    );
    assert_eq!(stream.begin().0, 200);
    assert!(stream.chunk().is_some());
    let mut whole = bridge.connect();
    whole.send(&bridge.request("/exec", &json!({"cmd": "echo so far; touch started; sleep 600"})));
    wait_until("it runs", || bridge.daemon.root().join("started").exists());
    let mut idle = bridge.connect();
    idle.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(idle.answer().status, 200);
    let pids = family(&bridge);
    bridge.daemon.signal(libc::SIGTERM);
    assert!(idle.is_closed());
    assert_eq!(json_line(&stream.chunk().unwrap()), json!({"t": "exit", "code": 137}));
    assert_eq!(stream.chunk(), None);
    assert!(stream.is_closed());
    assert_eq!(whole.answer().json(), json!({"errno": 137, "stdout": "so far\n", "stderr": ""}));
    assert!(bridge.daemon.wait().success());
    assert_dead_within(Duration::from_millis(1), &pids);
}

#[test]
fn a_daemon_that_drains_lets_commands_finish_and_takes_no_more() {
    let mut bridge = Bridge::start();
    let mut running = bridge.connect();
    let cmd = "touch started; while [ ! -e go ]; do sleep 0.02; done; echo finished";
    running.send(&bridge.request("/exec", &json!({"cmd": cmd})));
    wait_until("it runs", || bridge.daemon.root().join("started").exists());
    let mut late = bridge.connect();
    let request = bridge.request("/exec", &json!({"cmd": "touch ran"}));
    let (begin, end) = request.split_at(request.len() - 1);
    late.send(begin);
    // The head is read, the body is not whole.
    std::thread::sleep(Duration::from_millis(100));
    bridge.daemon.signal(libc::SIGTERM);
    let port = bridge.port;
    wait_until("nothing is accepted", || std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    late.send(end);
    let answer = late.answer();
    assert_eq!((answer.status, answer.error().as_str()), (503, "shutting_down"));
    std::fs::write(bridge.daemon.root().join("go"), "").unwrap();
    assert_eq!(running.answer().json()["stdout"], "finished\n");
    assert!(bridge.daemon.wait().success());
    assert!(!bridge.daemon.root().join("ran").exists());
}

#[test]
fn a_daemon_on_stdio_can_have_a_bridge_for_as_long_as_it_lives() {
    let folder = tempfile::TempDir::new().unwrap();
    let token_file = folder.path().join("token");
    let mut daemon = std::process::Command::new(env!("CARGO_BIN_EXE_axlrd"))
        .args(["--stdio", "--http", "127.0.0.1:0", "--http-token-file"])
        .arg(&token_file)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(daemon.stderr.take().unwrap()), &mut line)
        .unwrap();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    drop(daemon.stdin.take());
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn bodies_and_heads_come_in_every_lawful_manner() {
    let bridge = Bridge::start();
    let body = json!({"cmd": "echo hi"}).to_string();
    // In chunks.
    let (one, two) = body.split_at(7);
    let chunked = format!(
        "{}Transfer-Encoding: chunked\r\n\r\n7\r\n{one}\r\n{:x};x=y\r\n{two}\r\n0\r\n\r\n",
        bridge.head("/exec"),
        two.len()
    );
    assert_eq!(bridge.say(&chunked).json()["stdout"], "hi\n");
    // After a 100 Continue.
    let mut http = bridge.connect();
    let length = body.len();
    http.send(&format!("{}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n", bridge.head("/exec")));
    assert_eq!(http.begin().0, 100);
    http.send(&body);
    assert_eq!(http.answer().json()["stdout"], "hi\n");
    // Refused before the body was asked for.
    let mut http = bridge.connect();
    let head = bridge.head("/exec").replace(&bridge.token, "wrong");
    http.send(&format!("{head}Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"));
    assert_eq!(http.answer().status, 401);
    // Without chunks for HTTP/1.0, in the absolute form, and one after the other.
    let request = bridge.request("/spawn", &json!({"cmd": "echo hi"}));
    let answer = bridge.say(&request.replace("HTTP/1.1", "HTTP/1.0"));
    assert_eq!(answer.body, "{\"t\":\"out\",\"b\":\"aGkK\"}\n{\"t\":\"exit\",\"code\":0}\n");
    assert!(!answer.headers.contains_key("transfer-encoding"));
    let absolute = format!("POST http://localhost:{}/spawn", bridge.port);
    assert_eq!(bridge.say(&request.replace("POST /spawn", &absolute)).status, 200);
    let mut http = bridge.connect();
    let requests: String =
        (0..20).map(|n| bridge.request("/exec", &json!({"cmd": format!("echo {n}")}))).collect();
    http.send(&requests);
    for n in 0..20 {
        assert_eq!(http.answer().json()["stdout"], format!("{n}\n"));
    }
    http.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (status, headers) = http.begin();
    assert_eq!((status, headers["content-length"].as_str()), (200, "11"));
    assert!(http.is_closed());
}

#[test]
fn what_is_too_large_or_no_http_is_refused_with_words() {
    let bridge = Bridge::start();
    let large = |length: usize| {
        let body = format!("{{\"cmd\":\"true\"{}}}", " ".repeat(length - 14));
        format!("{}Content-Length: {length}\r\n\r\n{body}", bridge.head("/exec"))
    };
    assert_eq!(bridge.say(&large(4 << 20)).json()["errno"], 0);
    let answer = bridge.say(&large((4 << 20) + 1));
    assert_eq!(answer.status, 413);
    assert!(answer.error().contains("4194304"));
    // Not announced.
    let mut http = bridge.connect();
    http.send(&format!("{}Transfer-Encoding: chunked\r\n\r\n", bridge.head("/exec")));
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    let mut stream = http.stream();
    for _ in 0..5 {
        // The daemon need not read what it has refused.
        let _ = stream.write_all(chunk.as_bytes());
    }
    assert_eq!(http.answer().status, 413);
    let long = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    let mut http = bridge.connect();
    let _ = http.stream().write_all(long.as_bytes());
    assert_eq!(http.begin().0, 431);
    for nonsense in
        ["\u{0}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET /health HTTP/1.1\r\nHost localhost\r\n\r\n"]
    {
        let mut http = bridge.connect();
        http.send(nonsense);
        assert_eq!(http.begin().0, 400, "{nonsense:?}");
        assert!(http.is_closed());
    }
    // Two lengths are how a request is smuggled past a proxy.
    let twice =
        bridge.request("/exec", &json!({"cmd": "true"})).replace("\r\n\r\n", "\r\nContent-Length: 3\r\n\r\n");
    let mut http = bridge.connect();
    http.send(&twice);
    assert_eq!(http.begin().0, 400);
}

#[test]
fn a_line_that_is_full_is_overloaded_and_passes() {
    let bridge = Bridge::start();
    let mut hold = Vec::new();
    // Over the socket, since HTTP connections are fewer than places in the line.
    for _ in 0..11 {
        let mut wire = bridge.daemon.connect();
        for _ in 0..128 {
            wire.start("exec", json!({"program": "sleep", "args": ["600"], "timeout_ms": 300_000}));
        }
        hold.push(wire);
    }
    let mut wire = bridge.daemon.connect();
    // As many as can run and wait; the others were refused.
    wait_until("the line is full", || {
        let stats = wire.output("server.stats", json!({}));
        stats["running"] == 1_280 && stats["tools"]["exec"]["rejected"] == 128
    });
    for path in ["/exec", "/spawn"] {
        let answer = bridge.post(path, json!({"cmd": "true"}));
        assert_eq!((answer.status, answer.body.as_str()), (503, "{\"error\":\"overloaded\"}"));
    }
    drop(hold);
    wait_until("there is room", || bridge.post("/exec", json!({"cmd": "true"})).status == 200);
}
