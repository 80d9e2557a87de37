//! A started program.

use std::fmt;

use axlr_protocol::tool::SignalName;

/// The end of a child's stdout or stderr that is read.
pub use tokio::net::unix::pipe::Receiver as PipeReader;
/// The end of a child's stdin that is written.
pub use tokio::net::unix::pipe::Sender as PipeWriter;

use super::capacity::TREE_DEATH_WAIT;
use super::system::{Leftover, Tree};
use super::{ExitStatus, status};

/// A started program with its pipes. Its whole tree is killed when this is dropped.
pub struct Child {
    /// Where its stdin is written, when that is a pipe.
    pub stdin: Option<PipeWriter>,
    /// Where its stdout is read.
    pub stdout: Option<PipeReader>,
    /// Where its stderr is read.
    pub stderr: Option<PipeReader>,
    tree: Tree,
}

impl Child {
    pub(super) fn new(tree: Tree, stdin: Option<PipeWriter>, stdout: PipeReader, stderr: PipeReader) -> Self {
        Self { stdin, stdout: Some(stdout), stderr: Some(stderr), tree }
    }

    /// Its process id, which is also its process group's.
    pub fn pid(&self) -> u32 {
        self.tree.pid()
    }

    /// Waits until the program has ended; processes that it left may live on. May be asked again, and given up.
    pub async fn exited(&mut self) -> ExitStatus {
        self.tree.exited().await
    }

    /// Sends a signal to the process group. False when the program has ended: then nobody gets it.
    pub fn signal(&mut self, signal: SignalName) -> bool {
        self.tree.signal(status::number(signal))
    }

    /// Kills the process group, also what is left of it when the program has ended.
    pub fn kill_group(&mut self) {
        self.tree.kill_group();
    }

    /// Kills the whole tree with KILL and waits until it is gone; only a process in an uninterruptible system call
    /// is not waited for longer than a second.
    pub async fn kill(&mut self) {
        self.tree.kill();
        self.tree.dead().await;
    }

    /// Ends the watch over a program that has ended, and hands over what it left running. One that has not is killed.
    pub fn settle(self) -> Option<Detached> {
        self.tree.settle().map(Detached)
    }
}

/// Processes that outlived their program. They are killed when this is dropped.
///
/// A process group alone cannot say whether it is empty, so that mechanism leaves them unattended and gives none.
#[must_use = "dropped, they are killed"]
pub struct Detached(Leftover);

impl Detached {
    /// Waits until the last one has ended. Given up, they are killed.
    pub async fn ended(mut self) {
        self.0.ended().await;
    }

    /// Kills them and waits until they are gone, for about a second at most.
    pub async fn kill(mut self) {
        self.0.kill();
        let _ = tokio::time::timeout(TREE_DEATH_WAIT, self.0.ended()).await;
    }
}

impl fmt::Debug for Detached {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Detached").finish_non_exhaustive()
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.0.kill();
    }
}
