//! A server that is a child of axe.

use std::collections::BTreeMap;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::config::Environment;
use crate::secret::Secret;

/// What every program needs of the environment, and no key is in.
const PASSED_VARIABLES: [&str; 9] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];
/// How long a server may take to end by itself once its stdin has ended.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// A server's process group. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
}

pub(super) type Pipes = AsyncRwTransport<RoleClient, ChildStdout, ChildStdin>;

impl Process {
    pub(super) fn start(
        command: &str,
        args: &[String],
        own: &BTreeMap<String, Secret>,
        environment: &Environment,
    ) -> io::Result<(Self, Pipes)> {
        let passed = PASSED_VARIABLES.iter().filter_map(|name| Some((*name, environment.get(name)?)));
        let mut child = Command::new(command)
            .args(args)
            .current_dir(environment.current_dir())
            .env_clear()
            .envs(passed)
            .envs(own.iter().map(|(name, value)| (name, value.expose())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own, so that all that it starts ends with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pipes = child.stdout.take().zip(child.stdin.take());
        let process = Self { child, group };
        let (stdout, stdin) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        Ok((process, AsyncRwTransport::new(stdout, stdin)))
    }

    /// Waits a moment for an end that the end of stdin brings about, then kills the group.
    pub(super) async fn end(mut self) {
        // Whether it ended or not: the group may have more members than the program.
        let _ = tokio::time::timeout(END_TIMEOUT, self.child.wait()).await;
        self.kill();
        // Reaped, which takes no time after a kill.
        let _ = tokio::time::timeout(END_TIMEOUT, self.child.wait()).await;
    }

    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            // Nobody is left in it: then there is nothing to do.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
