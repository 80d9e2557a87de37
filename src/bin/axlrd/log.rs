//! The log goes to stderr; where that is a file, SIGHUP opens the file of that name anew, so that logs can be rotated.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, stderr};
use std::path::PathBuf;

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use crate::flags::LogFormat;

/// Sets the log up for the whole process. Returns what SIGHUP needs.
pub(crate) fn start(filter: &str, format: LogFormat) -> anyhow::Result<Log> {
    let filter = EnvFilter::try_new(filter).with_context(|| format!("--log {filter:?}"))?;
    // A line that stderr does not take is lost; saying so, on stderr, would panic.
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => builder.with_ansi(stderr().is_terminal()).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(Log { path: path_of_stderr() })
}

/// The log's file, when it is one.
#[derive(Debug)]
pub(crate) struct Log {
    path: Option<PathBuf>,
}

impl Log {
    /// Opens the log's file by its name, for logs that were moved away.
    pub(crate) fn reopen(&self) {
        let Some(path) = &self.path else { return };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        match opened.and_then(|file: File| Ok(rustix::stdio::dup2_stderr(file)?)) {
            Ok(()) => tracing::info!("the log was reopened"),
            Err(error) => tracing::error!(%error, "the log could not be reopened"),
        }
    }
}

/// Asked once at the start: after a rotation the link names where the old file went.
fn path_of_stderr() -> Option<PathBuf> {
    let path = std::fs::read_link("/proc/self/fd/2").ok()?;
    path.metadata().is_ok_and(|metadata| metadata.is_file()).then_some(path)
}
