//! A small read through `axlr mcp`, beside two other servers of files for the same protocol.
//!
//! The client is the same for all: it writes a line and reads one, and counts instead of decoding. The others are named
//! by variables, since they are not ours to install: `AXLR_BENCH_SERVER_FILESYSTEM` is the script of the npm package
//! `@modelcontextprotocol/server-filesystem` (its `dist/index.js`; node runs it), `AXLR_BENCH_RUST_MCP_FILESYSTEM` is
//! the binary of the crate `rust-mcp-filesystem`. One that is not named is left out.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use support::{Aim, Contestant, Effort, Placement, Suite, data, text};

const SAMPLE: &str = "sample.c";
const SAMPLE_BYTES: usize = 4_096;

/// A peer: how it is found and started, the tool that reads, how it takes a path, and how much of its time is ours.
struct Peer {
    name: &'static str,
    variable: &'static str,
    command: fn(&str, &Path) -> Command,
    tool: &'static str,
    most: f64,
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "server-filesystem",
        variable: "AXLR_BENCH_SERVER_FILESYSTEM",
        command: |script, root| {
            let mut command = Command::new("node");
            command.arg(script).arg(root);
            command
        },
        tool: "read_text_file",
        most: 0.25,
    },
    Peer {
        name: "rust-mcp-filesystem",
        variable: "AXLR_BENCH_RUST_MCP_FILESYSTEM",
        command: |program, root| {
            let mut command = Command::new(program);
            command.arg(root);
            command
        },
        tool: "read_text_file",
        most: 0.75,
    },
];

fn main() {
    let Some(mut suite) = Suite::start("mcp") else { return };
    let scratch = data::scratch();
    let sample = scratch.path().join(SAMPLE);
    std::fs::write(&sample, text::exactly(1, SAMPLE_BYTES)).unwrap();
    let ours = json!({"name": "read_file", "arguments": {"path": SAMPLE}});
    for peer in PEERS {
        let group = format!("mcp read against {}", peer.name);
        if !suite.wants(&group) {
            continue;
        }
        let Ok(program) = std::env::var(peer.variable) else {
            suite.left_out(&group, &format!("{} names none", peer.variable));
            continue;
        };
        for placement in [Placement::OneCpu, Placement::Free] {
            let mut axlr = Server::start(axlr(scratch.path()));
            let mut other = Server::start((peer.command)(&program, scratch.path()));
            placement.apply(&[axlr.process.id(), other.process.id()]);
            axlr.check(&ours);
            let theirs = json!({"name": peer.tool, "arguments": {"path": sample}});
            other.check(&theirs);
            let [axlr, other] = suite.contest(
                &format!("{group}, {}", placement.as_str()),
                Effort { turns: 30, operations: 200 },
                [
                    Contestant::each("axlr mcp", || axlr.call(&ours)),
                    Contestant::each(peer.name, || other.call(&theirs)),
                ],
            );
            suite.row(&group, placement, &axlr, Some(&other), Aim::AtMost(peer.most));
        }
    }
    suite.finish();
}

fn axlr(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axlr"));
    command.arg("mcp").arg("--root").arg(root);
    command
}

/// A server after the handshake.
struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    next: u64,
}

impl Server {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::with_capacity(64 * 1024, process.stdout.take().unwrap());
        let mut server = Self { process, input, output, line: Vec::new(), next: 1 };
        let client = json!({"name": "bench", "version": "1"});
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.line.clear();
        self.output.read_until(b'\n', &mut self.line).unwrap();
    }

    fn call(&mut self, params: &Value) {
        self.ask("tools/call", params);
        assert!(self.line.len() > SAMPLE_BYTES, "{}", String::from_utf8_lossy(&self.line));
    }

    /// Sees that the content comes back.
    fn check(&mut self, params: &Value) {
        self.call(params);
        let answer: Value = serde_json::from_slice(&self.line).unwrap();
        let content = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(content.len(), SAMPLE_BYTES, "{answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
