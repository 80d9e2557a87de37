//! A daemon of axe's own.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use axlr_client::{Client, Encoding};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{ChildStderr, Command};
use tokio::task::JoinHandle;

use super::Error;

/// The daemon's program.
const PROGRAM: &str = "axlrd";
/// How long it may take to end once its input has ended. Whatever it runs is dead by then.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// A started daemon. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Child {
    process: tokio::process::Child,
    /// Reads stderr to its end, so that the daemon never waits for a reader. Returns the last line.
    stderr: Option<JoinHandle<String>>,
}

impl Child {
    /// Starts the daemon with an empty environment: neither keys nor a configuration of the user's reach it.
    pub(super) fn start(program: &Path) -> Result<(Client, Self), Error> {
        let failed = |source| Error::Start { program: program.to_owned(), source };
        let mut process = Command::new(program)
            // An agent's files are as safe from a power cut as those of any editor: written whole, not synced.
            .args(["--stdio", "--log", "error", "--durability", "atomic"])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The terminal's Ctrl-C is for axe, which ends the daemon itself.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (stdin, stdout) = pipes.ok_or_else(|| failed(io::Error::other("it has no pipes")))?;
        let stderr = process.stderr.take().map(|stderr| tokio::spawn(last_line(stderr)));
        Ok((Client::over(stdout, stdin, Encoding::MessagePack), Self { process, stderr }))
    }

    /// Waits for its end, which the end of the connection brings about, and helps it along after a while.
    pub(super) async fn end(mut self) {
        if tokio::time::timeout(END_TIMEOUT, self.process.wait()).await.is_err() {
            // It may have ended meanwhile.
            let _ = self.process.kill().await;
        }
    }

    /// What it said when it failed, for the end of a message.
    pub(super) async fn last_words(&mut self) -> String {
        let Some(stderr) = self.stderr.take() else { return String::new() };
        match tokio::time::timeout(END_TIMEOUT, stderr).await {
            Ok(Ok(line)) if !line.is_empty() => format!("; it said: {line}"),
            _ => String::new(),
        }
    }
}

async fn last_line(stderr: ChildStderr) -> String {
    let mut lines = BufReader::new(stderr).split(b'\n');
    let mut last = String::new();
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            last = line.trim().to_owned();
        }
    }
    last
}

/// Beside axe's own binary, then in the directories of `path`; else the bare name, so that the error can name it.
pub(super) fn find_program(path: Option<&str>) -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let on_path = path.map(std::env::split_paths).into_iter().flatten().filter(|folder| folder.is_absolute());
    beside
        .into_iter()
        .chain(on_path)
        .map(|folder| folder.join(PROGRAM))
        .find(|program| is_executable(program))
        .unwrap_or_else(|| PathBuf::from(PROGRAM))
}

fn is_executable(program: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    program.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
