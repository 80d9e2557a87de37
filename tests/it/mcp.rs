//! The tools for hosts of the Model Context Protocol: the real `axlr mcp` on its pipes, and `axlrd --mcp-http`.

mod http;
mod plugins;
mod sdk;
mod stdio;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::PATIENCE;

/// The newest revision with a handshake, and the one without.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// What every request since 2026-07-28 says of its client.
fn declared() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// `axlr mcp` in a process of its own on a root of its own, spoken to line by line.
struct Host {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    folder: TempDir,
    next: u64,
}

impl Host {
    /// Without a handshake.
    fn start(flags: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        Self::start_in(folder, flags)
    }

    fn start_in(folder: TempDir, flags: &[&str]) -> Self {
        let mut process = command(&folder.path().join("root"))
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, folder, next: 0 }
    }

    /// After the handshake of a client with these capabilities.
    fn greeted(flags: &[&str], capabilities: Value) -> Self {
        let mut host = Self::start(flags);
        let parameters = json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = host.ask("initialize", parameters);
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        host.tell("notifications/initialized", json!({}));
        host
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root").canonicalize().unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    fn put(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.put(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Sends a request and returns its id.
    fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.put(&request.to_string());
        self.next
    }

    fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The next message.
    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the output ended: {line:?}; the log:\n{}", self.log());
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to a request; the test fails when something else comes first.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The result of a call.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Ends the input, and returns what still came.
    fn finish(mut self) -> (Vec<Value>, ExitStatus) {
        self.input = None;
        let mut messages = Vec::new();
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            messages.push(serde_json::from_str(&line).unwrap());
            line.clear();
        }
        (messages, self.wait())
    }

    fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "axlr mcp did not end; its log:\n{}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The command that serves a root, with /usr/bin and /bin in the programs' PATH.
fn command(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axlr"));
    command.env_clear().env("AXLR_LOG", "info,rmcp=off").arg("mcp").arg("--root").arg(root);
    command.args(["--env", "PATH=/usr/bin:/bin"]);
    command
}

/// A program that writes its process id, its child's and waits: what is to die with the call.
fn lingering() -> Value {
    json!({"program": "sh", "args": ["-c", "sleep 600 & echo $! > child; echo $$ > parent; wait"]})
}
