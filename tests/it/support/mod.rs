//! A real daemon on a socket of its own, and a client that can also speak badly.

pub(crate) mod http;
pub(crate) mod http_server;
pub(crate) mod plugin;

use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything that works takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// `axlrd` in a process of its own, with a folder that holds its socket and a root.
pub(crate) struct Daemon {
    pub(crate) process: Child,
    folder: TempDir,
}

impl Daemon {
    /// A daemon on an empty root, with /usr/bin and /bin in the children's PATH.
    pub(crate) fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// The same with more flags and variables.
    pub(crate) fn start_with(flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        Self::start_in(folder, flags, variables)
    }

    /// The same in a folder that holds a root already.
    pub(crate) fn start_in(folder: TempDir, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Self::command(folder.path());
        command.args(flags).envs(variables.iter().copied());
        Self::from_command(command, folder)
    }

    /// The daemon of a command whose socket is in the folder.
    pub(crate) fn from_command(mut command: Command, folder: TempDir) -> Self {
        let process = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(
                std::fs::OpenOptions::new()
                    .create(true)
                    .append(true)
                    .open(folder.path().join("log"))
                    .unwrap(),
            )
            .spawn()
            .unwrap();
        let daemon = Self { process, folder };
        wait_until("the daemon listens", || UnixStream::connect(daemon.socket()).is_ok());
        daemon
    }

    /// The command that starts a daemon in a folder.
    pub(crate) fn command(folder: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_axlrd"));
        command
            .env_clear()
            .arg("--socket")
            .arg(folder.join("axlr.sock"))
            .arg("--root")
            .arg(folder.join("root"));
        command.args(["--env", "PATH=/usr/bin:/bin"]);
        command
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("axlr.sock")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A connection in JSON lines.
    pub(crate) fn connect(&self) -> Wire {
        Wire::new(UnixStream::connect(self.socket()).unwrap())
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: plain kill(2) of a child that is not reaped yet.
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the daemon did not end; its log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the daemon as the kernel would, and hands the folder on.
    pub(crate) fn kill(mut self) -> TempDir {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::mem::replace(&mut self.folder, TempDir::new().unwrap())
    }

    /// Resident memory in KiB.
    pub(crate) fn resident(&self) -> u64 {
        status_line(self.process.id(), "VmRSS:")
    }

    /// Peak resident memory in KiB.
    pub(crate) fn peak(&self) -> u64 {
        status_line(self.process.id(), "VmHWM:")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn status_line(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// One connection in JSON lines.
pub(crate) struct Wire {
    pub(crate) stream: UnixStream,
    reader: BufReader<UnixStream>,
    next: u64,
}

impl Wire {
    pub(crate) fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { stream, reader, next: 0 }
    }

    pub(crate) fn send(&mut self, request: &Value) {
        self.send_text(&request.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.stream.write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// The next message, event or response.
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("an answer in time");
        assert!(line.ends_with('\n'), "the connection ended: {line:?}");
        serde_json::from_str(&line).unwrap()
    }

    /// Whether the daemon has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.reader.read(&mut [0]), Ok(0) | Err(_))
    }

    /// Sends a request and returns its id.
    pub(crate) fn start(&mut self, tool: &str, arguments: Value) -> String {
        self.start_with(tool, arguments, json!({}))
    }

    /// The same with more members in the envelope.
    pub(crate) fn start_with(&mut self, tool: &str, arguments: Value, more: Value) -> String {
        self.next += 1;
        let id = format!("r{}", self.next);
        let mut request = request(&id, tool, arguments);
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send(&request);
        id
    }

    /// The response to one request; the test fails when something else comes first.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.start(tool, arguments);
        let response = self.receive();
        assert_eq!(response["request_id"], id, "{response}");
        response
    }

    /// The output of a request that must complete.
    pub(crate) fn output(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.call(tool, arguments);
        assert_eq!(response["status"], "completed", "{response}");
        response["output"].clone()
    }

    /// Messages up to the response of a request, that included.
    pub(crate) fn until_response(&mut self, id: &str) -> Vec<Value> {
        let mut messages = Vec::new();
        loop {
            let message = self.receive();
            let is_last = message["request_id"] == id && message.get("status").is_some();
            messages.push(message);
            if is_last {
                return messages;
            }
        }
    }
}

/// A request of the worker contract.
pub(crate) fn request(id: &str, tool: &str, arguments: Value) -> Value {
    json!({"protocol_version": 1, "request_id": id, "tool": tool, "arguments": arguments})
}

/// The error code of a response, or its status when it has none.
pub(crate) fn code(response: &Value) -> &str {
    response["error"]["code"].as_str().unwrap_or_else(|| response["status"].as_str().unwrap())
}

/// Waits for an event that nobody announces.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process lives (a zombie does not).
pub(crate) fn is_alive(pid: i64) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X'])
}

/// The process id that a program wrote into a file, once it is there.
pub(crate) fn pid_in(path: &Path) -> i64 {
    let mut pid = None;
    wait_until(&format!("{} holds a process id", path.display()), || {
        pid = std::fs::read_to_string(path)
            .ok()
            .filter(|text| text.ends_with('\n'))
            .and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.unwrap()
}
