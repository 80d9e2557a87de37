//! Birth and death of one child process, and of everything that it starts.
//!
//! A [`Command`] is the birth certificate: argv, whole environment, a directory handle. [`Containment`] starts it and
//! hands back a [`Child`], whose tree dies at once when it is told to, or when it is dropped. [`run`] is the life in
//! between: output, deadline, cancellation and stdin in one `select!`.
//!
//! This room knows nothing of workspaces, tools or sockets. It is the only one with `unsafe` and raw system calls.
//!
//! How a tree is held, best first:
//!
//! - **cgroup**: each child is born into a cgroup v2 of its own; one write to `cgroup.kill` ends it.
//! - **keeper**: each child is born from a small subreaper process, which finds and kills all its descendants.
//! - **group**: only the process group; all that the one-request process promises, and all there is elsewhere.
//!
//! For the first two a *warden*, a process that forked from the daemon at its start, ends everything when the daemon
//! is gone, however it went. It sees the end of the daemon as the end of input on a socket that only the daemon holds.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux;
#[cfg(any(test, not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))))]
#[cfg_attr(test, allow(dead_code, reason = "its tests call what a system with nothing better would call"))]
mod plain;

mod capacity;
mod capture;
mod child;
mod command;
mod containment;
mod controls;
mod descriptors;
mod directory;
mod disposition;
mod error;
mod feed;
mod resident;
mod run;
mod status;

#[cfg(test)]
mod tests;

pub use capture::{Capture, Captured, Source};
pub use child::{Child, Detached, PipeReader, PipeWriter};
pub use command::{Command, Input};
pub use containment::{Containment, Preference};
pub use controls::{ControlError, Controls, ExecHandle, controls};
pub use descriptors::{is_out_of_descriptors, raise_descriptor_limit};
pub use directory::open_directory;
pub use error::StartError;
pub use resident::resident_bytes;
pub use run::{Job, Report, RunError, run};
pub use status::ExitStatus;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use linux as system;
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use plain as system;
