//! `axlrd` in a process of its own.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{Encoding, Wire};

/// Longer than any start takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A daemon, and the folder of its socket.
pub(crate) struct Daemon {
    process: Child,
    folder: TempDir,
}

impl Daemon {
    /// Starts a daemon on one root and waits until it listens.
    pub(crate) fn start(root: &Path) -> Self {
        Self::try_start(root, &[]).expect("axlrd ended at its start")
    }

    /// The same with more variables; `None` when the daemon ends instead.
    pub(crate) fn try_start(root: &Path, variables: &[(&str, &str)]) -> Option<Self> {
        let mut daemon = Self::launch(root, variables);
        let end = Instant::now() + PATIENCE;
        while UnixStream::connect(daemon.socket()).is_err() {
            if daemon.process.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(Instant::now() < end, "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(2));
        }
        Some(daemon)
    }

    /// Starts a daemon and does not wait.
    pub(crate) fn launch(root: &Path, variables: &[(&str, &str)]) -> Self {
        Self::launch_with(root, variables, &[])
    }

    fn launch_with(root: &Path, variables: &[(&str, &str)], flags: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_axlrd"));
        command.env_clear().envs(variables.iter().copied());
        command.arg("--socket").arg(folder.path().join("axlr.sock")).arg("--root").arg(root);
        command.args(["--env", "PATH=/usr/bin:/bin"]).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(folder.path().join("log")).unwrap());
        Self { process: command.spawn().unwrap(), folder }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("axlr.sock")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn connect(&self, encoding: Encoding) -> Wire {
        Wire::connect(&self.socket(), encoding)
    }

    /// The daemon and every process that comes from it.
    pub(crate) fn family(&self) -> Vec<u32> {
        let parents = parents();
        let mut family = vec![self.pid()];
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        family
    }

    /// Resident bytes of the daemon and its helpers, each counted by itself.
    pub(crate) fn resident(&self) -> u64 {
        self.family().into_iter().map(resident).sum()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A daemon with an HTTP bridge.
pub(crate) struct Bridge {
    pub(crate) daemon: Daemon,
    pub(crate) address: SocketAddr,
    token: String,
}

impl Bridge {
    /// Starts one and waits until it listens.
    pub(crate) fn start(root: &Path) -> Self {
        let token_file = root.join("token");
        let flags = ["--http", "127.0.0.1:0", "--http-token-file", token_file.to_str().unwrap()];
        let daemon = Daemon::launch_with(root, &[], &flags);
        let end = Instant::now() + PATIENCE;
        // The last that it says at its start.
        while UnixStream::connect(daemon.socket()).is_err() {
            assert!(Instant::now() < end, "the daemon does not listen");
            std::thread::sleep(Duration::from_millis(2));
        }
        let address = loop {
            let log = std::fs::read_to_string(daemon.folder.path().join("log")).unwrap();
            let said = log.split("http://").nth(1).and_then(|rest| rest.split(',').next());
            if let Some(address) = said.and_then(|address| address.parse().ok()) {
                break address;
            }
        };
        let token = std::fs::read_to_string(token_file).unwrap().trim_end().to_owned();
        Self { daemon, address, token }
    }

    /// A whole request.
    pub(crate) fn request(&self, path: &str, body: &serde_json::Value) -> Vec<u8> {
        let (body, token) = (body.to_string(), &self.token);
        let length = body.len();
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// Resident bytes of one process; 0 when it is gone.
pub(crate) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    kib.and_then(|kib| kib.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|process| {
            let pid = process.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // Behind the name, which may hold anything, come the state and the parent.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect()
}
