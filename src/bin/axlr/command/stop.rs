//! `axlr stop`.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use axlr_client::tool::ServerStopArguments;

use super::screen::Screen;
use crate::EXIT_COMPLETED;
use crate::flags::StopFlags;

/// How long the daemon may take to end its process when it has closed its connections.
const LAST_MOMENTS: Duration = Duration::from_secs(5);

/// Asks the daemon to stop and waits until it has gone, so that another one can take its place at once.
pub(super) async fn run(flags: &StopFlags) -> anyhow::Result<u8> {
    let drain_ms = flags.drain.map(|seconds| {
        let drain = Duration::try_from_secs_f64(seconds).with_context(|| format!("--drain {seconds}"))?;
        i64::try_from(drain.as_millis()).with_context(|| format!("--drain {seconds}"))
    });
    let arguments = ServerStopArguments { drain_ms: drain_ms.transpose()? };
    let client = super::connect(&flags.connection).await?;
    // Held from before the stop: a process id that is looked up later may be another's.
    let process = process::find(client.info().await?.pid);
    client.stop(arguments).await?;
    let mut screen = Screen::open();
    screen.progress("axlrd is stopping; running requests may finish");
    client.closed().await;
    if let Some(process) = process {
        process::wait(&process, LAST_MOMENTS);
    }
    screen.clear_progress();
    let text = if flags.connection.json { "{}" } else { "axlrd has stopped" };
    writeln!(screen.out, "{text}")?;
    screen.flush()?;
    Ok(EXIT_COMPLETED)
}

#[cfg(target_os = "linux")]
mod process {
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    pub(super) fn find(pid: u32) -> Option<OwnedFd> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    pub(super) fn wait(process: &OwnedFd, longest: Duration) {
        let timeout = Timespec::try_from(longest).ok();
        // Whatever comes of it: the daemon was asked, and has closed the connection.
        let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], timeout.as_ref());
    }
}

/// Elsewhere the end of the connection has to do.
#[cfg(not(target_os = "linux"))]
mod process {
    pub(super) fn find(_pid: u32) -> Option<()> {
        None
    }

    pub(super) fn wait(_process: &(), _longest: std::time::Duration) {}
}
