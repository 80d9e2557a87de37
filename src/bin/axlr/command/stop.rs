//! `axlr stop`.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use axlr_client::tool::ServerStopArguments;

use super::screen::Screen;
use crate::EXIT_COMPLETED;
use crate::flags::StopFlags;

/// Asks the daemon to stop and waits until it has closed the connection, which is the last thing that it does for one.
pub(super) async fn run(flags: &StopFlags) -> anyhow::Result<u8> {
    let drain_ms = flags.drain.map(|seconds| {
        let drain = Duration::try_from_secs_f64(seconds).with_context(|| format!("--drain {seconds}"))?;
        i64::try_from(drain.as_millis()).with_context(|| format!("--drain {seconds}"))
    });
    let arguments = ServerStopArguments { drain_ms: drain_ms.transpose()? };
    let client = super::connect(&flags.connection).await?;
    client.stop(arguments).await?;
    let mut screen = Screen::open();
    screen.progress("axlrd is stopping; running requests may finish");
    client.closed().await;
    screen.clear_progress();
    let text = if flags.connection.json { "{}" } else { "axlrd has stopped" };
    writeln!(screen.out, "{text}")?;
    screen.out.flush()?;
    Ok(EXIT_COMPLETED)
}
