//! Sizes and waits that only this room feels.

use std::time::Duration;

/// Empty cgroups made at the start, so that the first children don't wait for mkdir(2).
pub(super) const READY_GROUPS: usize = 2;
/// Empty cgroups kept for the next children; more are removed.
pub(super) const IDLE_GROUPS_MAX: usize = 32;
/// Idle keepers kept for the next children; more are let go.
pub(super) const IDLE_KEEPERS_MAX: usize = 8;
/// How long a kill waits to see the tree dead before it answers anyway. Only a process in an uninterruptible system
/// call takes longer.
pub(super) const TREE_DEATH_WAIT: Duration = Duration::from_secs(1);
/// How often a dying cgroup is asked whether it is empty.
pub(super) const TREE_DEATH_STEP: Duration = Duration::from_millis(1);
/// How long the daemon waits for its warden at the end.
pub(super) const WARDEN_DEATH_WAIT: Duration = Duration::from_secs(2);
/// How long after a failure to watch the warden, or to replace it, that is tried again.
pub(super) const WARDEN_WATCH_PAUSE: Duration = Duration::from_millis(100);
/// Most bytes moved by one read or write of a child's pipe: what a pipe holds.
pub(super) const PIPE_BYTES: usize = 65_536;
/// The read buffer of a child that has not filled it yet.
pub(super) const PIPE_FIRST_BYTES: usize = 8_192;
/// How long who listens to a program that was stopped may take for the last of its output: less than what a client
/// that hung up is promised, more than a turn of the event loop.
pub(super) const LAST_WORDS_WAIT: Duration = Duration::from_millis(50);
