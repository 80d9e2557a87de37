//! The HTTP bridge: what a command costs beside the same one on the socket, how fast output flows, and what clients cost
//! that only sit there.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::routing::post;
use hyper::body::Frame;
use serde_json::json;
use support::daemon::{self, Bridge};
use support::wire::request;
use support::{Aim, Contestant, Effort, Encoding, Placement, Suite, data};
use tokio::io::{AsyncRead as _, ReadBuf};

const MIB: u64 = 1 << 20;
/// What a program writes in one operation.
const OUTPUT_BYTES: u64 = 64 * MIB;
const IDLE_CONNECTIONS: usize = 1_000;

fn main() {
    let Some(mut suite) = Suite::start("http") else { return };
    let root = data::scratch();
    exec(&mut suite, root.path());
    spawn(&mut suite, root.path());
    idle(&mut suite, root.path());
    stopped(&mut suite, root.path());
    suite.finish();
}

/// One command after the other on one connection, against the same on the socket.
fn exec(suite: &mut Suite, root: &Path) {
    if !suite.wants("exec") {
        return;
    }
    let bridge = Bridge::start(root);
    let mut http = Http::connect(bridge.address);
    let post = bridge.request("/exec", &json!({"cmd": "/bin/true"}));
    let arguments = json!({"program": "/bin/sh", "args": ["-c", "/bin/true"]});
    let frame = request(Encoding::Json, "r1", "exec", arguments);
    let mut wire = bridge.daemon.connect(Encoding::Json);
    for placement in [Placement::OneCpu, Placement::Free] {
        placement.apply(&bridge.daemon.family());
        let [ours, yardstick] = suite.contest(
            &format!("exec, {}", placement.as_str()),
            Effort { turns: 30, operations: 15 },
            [
                Contestant::each("exec over HTTP", || http.exchange(&post)),
                Contestant::each("exec over the socket", || wire.exchange(&frame)),
            ],
        );
        suite.row("/exec of /bin/true, the socket's", placement, &ours, Some(&yardstick), Aim::AtMost(1.5));
    }
}

/// The output of a program, in lines of base64, against the bare bytes of the same through a plain axum body.
fn spawn(suite: &mut Suite, root: &Path) {
    if !suite.wants("spawn") {
        return;
    }
    Placement::Free.apply(&[]);
    let bridge = Bridge::start(root);
    let bare = bare_server();
    let file = root.join("output");
    std::fs::write(&file, vec![b'x'; OUTPUT_BYTES as usize]).unwrap();
    let body = json!({"cmd": "cat", "args": [file]});
    let post = bridge.request("/spawn", &body);
    let plain = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nX-File: {}\r\n\r\n",
        file.display()
    );
    let [ours, yardstick] = suite.contest(
        "spawn",
        Effort { turns: 8, operations: 3 },
        [
            Contestant::each("/spawn", || {
                let read = Http::connect(bridge.address).drain(&post);
                assert!(read > OUTPUT_BYTES * 4 / 3, "{read}");
            }),
            Contestant::each("a bare axum body", || {
                let read = Http::connect(bare).drain(plain.as_bytes());
                assert!(read > OUTPUT_BYTES, "{read}");
            }),
        ],
    );
    let what = "/spawn of 64 MiB, a bare axum body's";
    suite.row(what, Placement::Free, &ours, Some(&yardstick), Aim::Throughput(0.5));
    // 300 MB/s before base64.
    let p50 = Duration::from_secs_f64(OUTPUT_BYTES as f64 / 300e6);
    suite.row("/spawn of 64 MiB, by the clock", Placement::Free, &ours, None, Aim::Within { p50, p99: None });
}

/// Connections that have asked once and are kept.
fn idle(suite: &mut Suite, root: &Path) {
    if !suite.wants("idle") {
        return;
    }
    let growth = [0, 1].map(|_| {
        let bridge = Bridge::start(root);
        let health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
        Http::connect(bridge.address).exchange(health);
        let before = daemon::resident(bridge.daemon.pid());
        let held: Vec<Http> = (0..IDLE_CONNECTIONS)
            .map(|_| {
                let mut http = Http::connect(bridge.address);
                http.exchange(health);
                http
            })
            .collect();
        let growth = daemon::resident(bridge.daemon.pid()) - before;
        drop(held);
        growth
    });
    suite.bytes("memory, 1000 idle HTTP connections", growth, Aim::Bytes(20 * MIB));
}

/// A reader that stops while a program writes without end.
fn stopped(suite: &mut Suite, root: &Path) {
    if !suite.wants("stopped") {
        return;
    }
    let growth = [0, 1].map(|_| {
        let bridge = Bridge::start(root);
        let post = bridge.request("/spawn", &json!({"cmd": "exec cat /dev/zero"}));
        let warm = bridge.request("/spawn", &json!({"cmd": "head -c 1000000 /dev/zero"}));
        Http::connect(bridge.address).drain(&warm);
        let before = daemon::resident(bridge.daemon.pid());
        let mut http = Http::connect(bridge.address);
        http.send(&post);
        http.reader.read_exact(&mut vec![0; 10_000_000]).unwrap();
        let (mut most, end) = (0, Instant::now() + Duration::from_secs(1));
        while Instant::now() < end {
            most = most.max(daemon::resident(bridge.daemon.pid()).saturating_sub(before));
            std::thread::sleep(Duration::from_millis(5));
        }
        most
    });
    suite.bytes("memory, growth by a stopped reader", growth, Aim::Bytes(2_000_000));
}

/// A client that counts instead of decoding.
struct Http {
    reader: BufReader<TcpStream>,
}

impl Http {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::with_capacity(256 * 1024, stream) }
    }

    fn send(&mut self, request: &[u8]) {
        self.reader.get_mut().write_all(request).unwrap();
    }

    /// A request and its answer, which has a length.
    fn exchange(&mut self, request: &[u8]) {
        self.send(request);
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim_end().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        self.reader.read_exact(&mut vec![0; length]).unwrap();
    }

    /// A request, and how many bytes come until the chunk that ends the answer.
    fn drain(mut self, request: &[u8]) -> u64 {
        self.send(request);
        let (mut count, mut end) = (0, [0; 5]);
        loop {
            let bytes = self.reader.fill_buf().unwrap();
            assert!(!bytes.is_empty(), "the answer broke off");
            let length = bytes.len();
            count += length as u64;
            let tail = [&end[..], &bytes[length.saturating_sub(5)..]].concat();
            end.copy_from_slice(&tail[tail.len() - 5..]);
            self.reader.consume(length);
            if &end == b"0\r\n\r\n" {
                return count;
            }
        }
    }
}

/// The least that sends what `cat` writes: an axum server on a runtime of its own.
fn bare_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, axum::Router::new().route("/", post(bare_cat))).await.unwrap();
        });
    });
    address
}

async fn bare_cat(request: axum::extract::Request) -> Body {
    let file = request.headers()["x-file"].to_str().unwrap();
    let (pipe, stdout) = rustix::pipe::pipe().unwrap();
    let child = Command::new("cat").arg(file).stdout(Stdio::from(stdout)).spawn().unwrap();
    let pipe = tokio::net::unix::pipe::Receiver::from_owned_fd(pipe).unwrap();
    Body::new(Bare { child, pipe, buffer: vec![0; 64 * 1024] })
}

struct Bare {
    child: Child,
    pipe: tokio::net::unix::pipe::Receiver,
    buffer: Vec<u8>,
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.child.wait().unwrap();
    }
}

impl hyper::body::Body for Bare {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let Self { pipe, buffer, .. } = &mut *self;
        let mut room = ReadBuf::new(buffer);
        ready!(Pin::new(pipe).poll_read(context, &mut room))?;
        let bytes = Bytes::copy_from_slice(room.filled());
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }
}
