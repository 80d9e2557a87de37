//! Yardstick servers: this very binary, executed anew, with one end of a socket pair as its stdin.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::Wire;
use super::wire::Framing;

/// The first argument of a yardstick, before its name.
const FLAG: &str = "--yardstick";

/// A server to measure against.
pub(crate) struct Yardstick {
    process: Child,
    pub(crate) wire: Wire,
}

/// What a yardstick does with its connection and its arguments.
pub(crate) type Serve = fn(UnixStream, &[String]);

impl Yardstick {
    /// Starts the yardstick of that name in a folder.
    pub(crate) fn start(name: &str, folder: &Path, arguments: &[&str], framing: Framing) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .arg(FLAG)
            .arg(name)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .unwrap();
        Self { process, wire: Wire::new(ours, framing) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Yardstick {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves, when this process was started as a yardstick; to be called first. `true` when it was.
pub(crate) fn serve(yardsticks: &[(&str, Serve)]) -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, flag, name, rest @ ..] = &arguments[..] else { return false };
    if flag != FLAG {
        return false;
    }
    let (_, serve) = yardsticks.iter().find(|(known, _)| known == name).unwrap();
    let stdin = std::io::stdin();
    let stream = std::os::fd::AsFd::as_fd(&stdin).try_clone_to_owned().unwrap();
    serve(UnixStream::from(stream), rest);
    true
}
