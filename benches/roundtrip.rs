//! Small requests over the socket: what the daemon adds to the system calls.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use support::wire::{Framing, request};
use support::{
    Aim, Contestant, Daemon, Effort, Encoding, Placement, Suite, Yardstick, data, text, yardstick,
};

const SAMPLE: &str = "src/sample.c";
const SAMPLE_BYTES: usize = 4_096;
const LARGE: &str = "src/large.c";
const LARGE_BYTES: usize = 1_048_576;
const ECHO_BYTES: usize = 200;
const WINDOW: usize = 64;

fn main() {
    if yardstick::serve(&[("echo", echo), ("raw", raw), ("json", json)]) {
        return;
    }
    let Some(mut suite) = Suite::start("roundtrip") else { return };
    let root = data::scratch();
    std::fs::create_dir(root.path().join("src")).unwrap();
    std::fs::write(root.path().join(SAMPLE), text::exactly(1, SAMPLE_BYTES)).unwrap();
    std::fs::write(root.path().join(LARGE), text::exactly(2, LARGE_BYTES)).unwrap();
    let daemon = Daemon::start(root.path());
    read(&mut suite, &daemon, root.path());
    ping(&mut suite, &daemon, root.path());
    pipelined(&mut suite, &daemon, root.path());
    large(&mut suite, &daemon, root.path());
    suite.finish();
}

/// One read of 4 KiB at a time, against a server that only opens, stats, reads and sends.
fn read(suite: &mut Suite, daemon: &Daemon, root: &Path) {
    if !suite.wants("read 4 KiB") {
        return;
    }
    let arguments = json!({"path": SAMPLE});
    let answer = daemon.connect(Encoding::Json).ask("read", arguments.clone());
    assert_eq!(answer["output"]["returned_bytes"], SAMPLE_BYTES, "{answer}");
    assert!(answer["output"]["content_sha256"].is_string(), "{answer}");

    let json = request(Encoding::Json, "r1", "read", arguments.clone());
    let msgpack = request(Encoding::MessagePack, "r1", "read", arguments);
    for placement in [Placement::OneCpu, Placement::Free] {
        let mut raw = Yardstick::start("raw", root, &[SAMPLE], Framing::fixed(SAMPLE_BYTES));
        let (mut a, mut b) = (daemon.connect(Encoding::Json), daemon.connect(Encoding::MessagePack));
        placement.apply(&[daemon.pid(), raw.pid()]);
        let effort = Effort { turns: 60, operations: 200 };
        let [ours_json, ours_msgpack, yardstick] = suite.contest(
            &format!("read 4 KiB, {}", placement.as_str()),
            effort,
            [
                Contestant::each("JSON", || a.exchange(&json)),
                Contestant::each("MessagePack", || b.exchange(&msgpack)),
                Contestant::each("std server, raw", || raw.wire.exchange(&json)),
            ],
        );
        let (json_aim, msgpack_aim) = match placement {
            Placement::OneCpu => (Aim::AtMost(2.0), Aim::AtMost(1.6)),
            Placement::Free => (Aim::AtMost(3.0), Aim::None),
        };
        suite.row("read 4 KiB, JSON", placement, &ours_json, Some(&yardstick), json_aim);
        suite.row("read 4 KiB, MessagePack", placement, &ours_msgpack, Some(&yardstick), msgpack_aim);
    }
}

/// The smallest request, against an echo.
fn ping(suite: &mut Suite, daemon: &Daemon, root: &Path) {
    if !suite.wants("server.ping") {
        return;
    }
    let json = request(Encoding::Json, "r1", "server.ping", json!({}));
    let msgpack = request(Encoding::MessagePack, "r1", "server.ping", json!({}));
    for placement in [Placement::OneCpu, Placement::Free] {
        let mut echo = Yardstick::start("echo", root, &[], Framing::fixed(ECHO_BYTES));
        let (mut a, mut b) = (daemon.connect(Encoding::Json), daemon.connect(Encoding::MessagePack));
        placement.apply(&[daemon.pid(), echo.pid()]);
        let [ours_json, ours_msgpack, yardstick] = suite.contest(
            &format!("server.ping, {}", placement.as_str()),
            Effort { turns: 60, operations: 400 },
            [
                Contestant::each("JSON", || a.exchange(&json)),
                Contestant::each("MessagePack", || b.exchange(&msgpack)),
                Contestant::each("std echo", || echo.wire.exchange(&[b'x'; ECHO_BYTES])),
            ],
        );
        let aim = if placement == Placement::OneCpu { Aim::AtMost(1.6) } else { Aim::None };
        suite.row("server.ping, JSON", placement, &ours_json, Some(&yardstick), aim);
        suite.row("server.ping, MessagePack", placement, &ours_msgpack, Some(&yardstick), aim);
    }
}

/// Many reads in flight, against a server that does the same work.
fn pipelined(suite: &mut Suite, daemon: &Daemon, root: &Path) {
    if !suite.wants("64 in flight") {
        return;
    }
    let frames = |encoding| -> Vec<Vec<u8>> {
        let frame = |index| request(encoding, &format!("r{index:03}"), "read", json!({"path": SAMPLE}));
        (0..4 * WINDOW).map(frame).collect()
    };
    let (json, msgpack) = (frames(Encoding::Json), frames(Encoding::MessagePack));
    for placement in [Placement::OneCpu, Placement::Free] {
        let mut same = Yardstick::start("json", root, &[], Framing::Lines);
        let (mut a, mut b) = (daemon.connect(Encoding::Json), daemon.connect(Encoding::MessagePack));
        placement.apply(&[daemon.pid(), same.pid()]);
        let [ours_json, ours_msgpack, yardstick] = suite.contest(
            &format!("4 KiB reads, 64 in flight, {}", placement.as_str()),
            Effort { turns: 60, operations: 6 * WINDOW },
            [
                Contestant::batch("JSON", |count| a.pipeline(count, WINDOW, &json)),
                Contestant::batch("MessagePack", |count| b.pipeline(count, WINDOW, &msgpack)),
                Contestant::batch("std server, JSON", |count| same.wire.pipeline(count, WINDOW, &json)),
            ],
        );
        let is_aimed = placement == Placement::OneCpu;
        let aim = |least| if is_aimed { Aim::Throughput(least) } else { Aim::None };
        let what = |encoding| format!("4 KiB reads, 64 in flight, {encoding}, each");
        suite.row(&what("JSON"), placement, &ours_json, Some(&yardstick), aim(0.9));
        suite.row(&what("MessagePack"), placement, &ours_msgpack, Some(&yardstick), aim(2.0));
    }
}

/// A megabyte in JSON, against the hashing and escaping of it alone.
fn large(suite: &mut Suite, daemon: &Daemon, root: &Path) {
    if !suite.wants("read 1 MiB") {
        return;
    }
    let json = request(Encoding::Json, "r1", "read", json!({"path": LARGE, "max_bytes": LARGE_BYTES}));
    let content = std::fs::read_to_string(root.join(LARGE)).unwrap();
    for placement in [Placement::OneCpu, Placement::Free] {
        let mut wire = daemon.connect(Encoding::Json);
        let mut escaped = Vec::with_capacity(2 * LARGE_BYTES);
        placement.apply(&[daemon.pid()]);
        let [ours, yardstick] = suite.contest(
            &format!("read 1 MiB, {}", placement.as_str()),
            Effort { turns: 60, operations: 5 },
            [
                Contestant::each("JSON", || wire.exchange(&json)),
                Contestant::each("hash and escape", || {
                    escaped.clear();
                    std::hint::black_box(Sha256::digest(std::hint::black_box(content.as_bytes())));
                    serde_json::to_writer(&mut escaped, std::hint::black_box(&content)).unwrap();
                    std::hint::black_box(&escaped);
                }),
            ],
        );
        let aim = if placement == Placement::OneCpu { Aim::AtMost(1.4) } else { Aim::None };
        suite.row("read 1 MiB, JSON", placement, &ours, Some(&yardstick), aim);
    }
}

/// Sends back frames of 200 bytes.
fn echo(mut stream: UnixStream, _: &[String]) {
    let mut frame = [0; ECHO_BYTES];
    while stream.read_exact(&mut frame).is_ok() {
        stream.write_all(&frame).unwrap();
    }
}

/// Opens, stats and reads a file for every request, whatever it says, and sends the bytes as they are.
fn raw(mut stream: UnixStream, arguments: &[String]) {
    let mut request = [0; 1024];
    let mut content = Vec::new();
    while stream.read(&mut request).unwrap() > 0 {
        read_file(&arguments[0], &mut content);
        stream.write_all(&content).unwrap();
    }
}

fn read_file(path: &str, content: &mut Vec<u8>) {
    let mut file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len() as usize;
    content.resize(size, 0);
    file.read_exact(content).unwrap();
}

#[derive(Deserialize)]
struct Request<'a> {
    protocol_version: u64,
    request_id: &'a str,
    tool: &'a str,
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    path: &'a str,
}

#[derive(Serialize)]
struct Response<'a> {
    protocol_version: u64,
    request_id: &'a str,
    tool: &'a str,
    status: &'a str,
    started_at: String,
    finished_at: String,
    duration_ms: u64,
    output: Output<'a>,
    error: Option<()>,
}

#[derive(Serialize)]
struct Output<'a> {
    content: &'a str,
    start_offset_bytes: u64,
    returned_bytes: u64,
    next_offset_bytes: u64,
    truncated: bool,
    content_sha256: String,
}

/// Answers every line that is here in one write, each with a read of the file that it names.
fn json(mut stream: UnixStream, _: &[String]) {
    let mut input = vec![0; 64 * 1024];
    let (mut filled, mut content, mut output) = (0, Vec::new(), Vec::new());
    loop {
        let count = stream.read(&mut input[filled..]).unwrap();
        if count == 0 {
            return;
        }
        filled += count;
        let whole = memchr::memrchr(b'\n', &input[..filled]).map_or(0, |end| end + 1);
        for line in input[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            answer(line, &mut content, &mut output);
        }
        input.copy_within(whole..filled, 0);
        filled -= whole;
        stream.write_all(&output).unwrap();
        output.clear();
    }
}

fn answer(line: &[u8], content: &mut Vec<u8>, output: &mut Vec<u8>) {
    let started = SystemTime::now();
    let request: Request = serde_json::from_slice(line).unwrap();
    read_file(request.arguments.path, content);
    let text = std::str::from_utf8(content).unwrap();
    let digest = Sha256::digest(text.as_bytes());
    let finished = SystemTime::now();
    let response = Response {
        protocol_version: request.protocol_version,
        request_id: request.request_id,
        tool: request.tool,
        status: "completed",
        started_at: humantime::format_rfc3339_nanos(started).to_string(),
        finished_at: humantime::format_rfc3339_nanos(finished).to_string(),
        duration_ms: finished.duration_since(started).unwrap_or(Duration::ZERO).as_millis() as u64,
        output: Output {
            content: text,
            start_offset_bytes: 0,
            returned_bytes: text.len() as u64,
            next_offset_bytes: text.len() as u64,
            truncated: false,
            content_sha256: hex(&digest),
        },
        error: None,
    };
    serde_json::to_writer(&mut *output, &response).unwrap();
    output.push(b'\n');
}

fn hex(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
