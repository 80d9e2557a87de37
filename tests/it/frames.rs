//! Frames of every malformed kind, half-closes, and readers that do not read.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use crate::support::{Daemon, PATIENCE, code, request, wait_until};

/// A MessagePack frame.
fn packed(body: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

fn pack(value: &Value) -> Vec<u8> {
    packed(&rmp_serde::to_vec_named(value).unwrap())
}

fn unpack(stream: &mut UnixStream) -> Value {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut body).unwrap();
    rmp_serde::from_slice(&body).unwrap()
}

fn connect(daemon: &Daemon) -> UnixStream {
    let stream = UnixStream::connect(daemon.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

#[test]
fn malformed_lines_are_refused_and_the_connection_goes_on() {
    let daemon = Daemon::start();
    let mut wire = daemon.connect();
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let twice = r#"{"protocol_version":1,"request_id":"a","request_id":"b","tool":"list","arguments":{}}"#;
    for text in ["{", "[]", "null", "{}", "{} {}", "\u{1}", "\"", &deep, twice, "{\"a\":\"\\ud800\"}"] {
        wire.send_text(text);
        let answer = wire.receive();
        assert_eq!(
            (code(&answer), &answer["started_at"]),
            ("invalid_request", &answer["finished_at"]),
            "{text}"
        );
        assert_eq!(wire.output("server.ping", json!({})), json!({}));
    }
    wire.stream.write_all(b"\xff\xfe\n\n\r\n").unwrap();
    assert_eq!(code(&wire.receive()), "invalid_request");
    assert_eq!(wire.output("server.ping", json!({})), json!({}));
}

#[test]
fn malformed_messagepack_is_refused_and_the_connection_goes_on() {
    let daemon = Daemon::start();
    let mut stream = connect(&daemon);
    let bodies: [&[u8]; 8] = [
        b"",
        b"\xc1",
        b"\x90",
        b"\x81\x01\x02",
        b"\xdf\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff\x91\x91",
        b"\xc7\x00\x01",
        b"\x81\xa1a\xdb\xff\xff\xff\xff",
    ];
    for body in bodies {
        stream.write_all(&packed(body)).unwrap();
        assert_eq!(code(&unpack(&mut stream)), "invalid_request", "{body:x?}");
        stream.write_all(&pack(&request("good", "server.ping", json!({})))).unwrap();
        assert_eq!(unpack(&mut stream)["request_id"], "good");
    }
    assert!(daemon.peak() < 64 * 1024, "{} KiB", daemon.peak());
}

#[test]
fn a_frame_over_the_limit_is_skipped_without_being_kept() {
    let daemon = Daemon::start();
    let before = daemon.peak();
    let mut wire = daemon.connect();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..48 {
        wire.stream.write_all(&chunk).unwrap();
    }
    wire.send_text("");
    assert_eq!(code(&wire.receive()), "invalid_request");
    assert_eq!(wire.output("server.ping", json!({})), json!({}));

    let mut stream = connect(&daemon);
    stream.write_all(&(15u32 << 20).to_be_bytes()).unwrap();
    for _ in 0..15 {
        stream.write_all(&chunk).unwrap();
    }
    assert_eq!(code(&unpack(&mut stream)), "invalid_request");
    stream.write_all(&pack(&request("good", "server.ping", json!({})))).unwrap();
    assert_eq!(unpack(&mut stream)["request_id"], "good");
    assert!(daemon.peak() < before + 24 * 1024, "{} KiB to {} KiB", before, daemon.peak());
}

#[test]
fn what_can_not_be_skipped_is_answered_and_closed() {
    let daemon = Daemon::start();
    let mut stream = connect(&daemon);
    // The first byte must be zero to choose MessagePack; the second frame's is not.
    stream.write_all(&pack(&request("good", "server.ping", json!({})))).unwrap();
    unpack(&mut stream);
    stream.write_all(&[1, 0, 0, 0]).unwrap();
    assert_eq!(code(&unpack(&mut stream)), "invalid_request");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);

    let mut wire = daemon.connect();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        if wire.stream.write_all(&chunk).is_err() {
            break;
        }
    }
    let _ = wire.stream.write_all(b"xx");
    assert_eq!(code(&wire.receive()), "invalid_request");
    assert!(wire.is_closed());
}

#[test]
fn an_announced_length_reserves_nothing() {
    let daemon = Daemon::start();
    let before = daemon.peak();
    let mut streams: Vec<UnixStream> = (0..200).map(|_| connect(&daemon)).collect();
    for stream in &mut streams {
        stream.write_all(&(4u32 << 20).to_be_bytes()).unwrap();
        stream.write_all(b"\x84").unwrap();
    }
    assert_eq!(daemon.connect().output("server.ping", json!({})), json!({}));
    assert!(daemon.peak() < before + 16 * 1024, "{before} KiB to {} KiB", daemon.peak());
}

#[test]
fn requests_before_a_half_close_are_answered_even_the_last_without_a_line_end() {
    let daemon = Daemon::start();
    let mut stream = connect(&daemon);
    let exec = request("slow", "exec", json!({"program": "/bin/sleep", "args": ["0.3"]}));
    write!(stream, "{exec}\n{}", request("last", "list", json!({}))).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let ids: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["request_id"].clone()).collect();
    assert_eq!(ids, [json!("last"), json!("slow")]);
}

#[test]
fn a_client_that_leaves_takes_its_children_with_it() {
    let daemon = Daemon::start();
    for half_close_first in [false, true] {
        let mut wire = daemon.connect();
        let script = "setsid sleep 60 & echo $$ > pid; wait";
        wire.start("exec", json!({"program": "/bin/sh", "args": ["-c", script]}));
        let pid = crate::support::pid_in(&daemon.root().join("pid"));
        if half_close_first {
            wire.stream.shutdown(Shutdown::Write).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
            assert!(crate::support::is_alive(pid), "a half-close alone ends nothing");
        }
        drop(wire);
        wait_until("the child is gone", || !crate::support::is_alive(pid));
        std::fs::remove_file(daemon.root().join("pid")).unwrap();
    }
}

#[test]
fn a_reader_that_never_reads_costs_bounded_memory_and_nobody_else() {
    let daemon = Daemon::start();
    std::fs::write(daemon.root().join("big"), "x".repeat(1 << 20)).unwrap();
    let mut other = daemon.connect();
    other.output("read", json!({"path": "big"}));
    let before = daemon.resident();
    let mut deaf = daemon.connect();
    deaf.stream.set_nonblocking(true).unwrap();
    let line = format!("{}\n", request("r", "read", json!({"path": "big"})));
    let mut sent = 0;
    for number in 0..20_000 {
        let line = line.replace("\"r\"", &format!("\"r{number}\""));
        match deaf.stream.write(line.as_bytes()) {
            Ok(bytes) if bytes == line.len() => sent += 1,
            _ => break,
        }
    }
    assert!(sent > 10, "only {sent} requests were taken");
    for _ in 0..50 {
        assert_eq!(other.output("server.ping", json!({})), json!({}));
    }
    let grown = daemon.resident().saturating_sub(before);
    assert!(grown < 24 * 1024, "grew by {grown} KiB");
}

#[test]
fn a_stream_that_nobody_reads_stops_at_the_pipe() {
    let daemon = Daemon::start();
    let mut deaf = daemon.connect();
    let before = daemon.resident();
    let arguments = json!({"program": "/bin/sh", "args": ["-c", "head -c 2000000000 /dev/zero"]});
    deaf.start_with("exec", arguments, json!({"stream": true}));
    let mut other = daemon.connect();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(other.output("server.stats", json!({}))["children"], 1);
    let grown = daemon.resident().saturating_sub(before);
    assert!(grown < 12 * 1024, "grew by {grown} KiB");
}
