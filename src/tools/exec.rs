//! `exec`: what running a program means. Source: SPEC §3.4, §4 and §7.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use axlr_protocol::limits;
use axlr_protocol::tool::{ExecArguments, ExecOutput};
use tokio::runtime::{Handle, RuntimeFlavor};

use super::check::{self, Bound, quoted, without_nul};
use super::{Error, Events, Kind};
use crate::cancel::Cancel;
use crate::process::{self, Command, Containment, Controls, Detached, Input, Job, RunError, StartError};
use crate::workspace::{self, Workspace, WorkspacePath};

/// The arguments of an exec, checked.
#[derive(Debug)]
pub struct Exec {
    program: String,
    arguments: Vec<String>,
    /// None is the workspace itself.
    cwd: Option<WorkspacePath>,
    env: BTreeMap<String, String>,
    stdin: String,
    stdin_open: bool,
    timeout: Duration,
    max_output_bytes: usize,
}

/// Where an exec runs.
#[derive(Clone)]
pub struct ExecSetting {
    /// The workspace that `cwd` is in.
    pub workspace: Arc<Workspace>,
    /// The configured environment, complete.
    pub env: Arc<BTreeMap<String, String>>,
    /// What holds the program's tree.
    pub containment: Arc<Containment>,
}

/// A program that ended.
pub struct Finished {
    /// For the response.
    pub output: ExecOutput,
    /// What it left running, for whoever owns the workspace: it dies when this is dropped.
    pub detached: Option<Detached>,
}

const OUTPUT: Bound = Bound {
    min: 1,
    max: limits::EXEC_OUTPUT_MAX_BYTES,
    default: limits::EXEC_OUTPUT_DEFAULT_BYTES,
    zero_is_default: true,
    unit: "byte",
};
const TIMEOUT: Bound = Bound {
    min: 1,
    max: limits::EXEC_TIMEOUT_MAX_MS,
    default: limits::EXEC_TIMEOUT_DEFAULT_MS,
    zero_is_default: true,
    unit: "ms",
};
const STREAM_TIMEOUT: Bound = Bound { max: limits::EXEC_STREAM_TIMEOUT_MAX_MS, ..TIMEOUT };

impl Exec {
    /// Checks the arguments. A `streaming` exec may run longer and keep its stdin open.
    ///
    /// # Errors
    /// `Malformed`, with the member, its value and the rule.
    pub fn parse(arguments: ExecArguments, streaming: bool) -> Result<Self, Error> {
        let ExecArguments { program, args, cwd, stdin, timeout_ms, max_output_bytes, env, stdin_open } =
            arguments;
        if program.is_empty() {
            return Err(Error::malformed("program must not be empty"));
        }
        without_nul("program", &program)?;
        let arguments = args.unwrap_or_default();
        for (index, argument) in arguments.iter().enumerate() {
            without_nul(&format!("args[{index}]"), argument)?;
        }
        let stdin = stdin.unwrap_or_default();
        without_nul("stdin", &stdin)?;
        let stdin_open = stdin_open.unwrap_or(false);
        if stdin_open && !streaming {
            return Err(Error::malformed("stdin_open true needs a request with stream true"));
        }
        let env = env.unwrap_or_default().0;
        env.iter().try_for_each(|(name, value)| check_variable("env", name, value))?;
        let timeout = if streaming { STREAM_TIMEOUT } else { TIMEOUT };
        Ok(Self {
            program,
            arguments,
            cwd: parse_cwd(cwd.as_deref().unwrap_or_default())?,
            env,
            stdin,
            stdin_open,
            timeout: Duration::from_millis(check::bounded("timeout_ms", timeout_ms, timeout)?),
            max_output_bytes: check::bounded("max_output_bytes", max_output_bytes, OUTPUT)? as usize,
        })
    }
}

/// Checks a variable of an environment that stands in `member`.
///
/// # Errors
/// `Malformed` when its name is empty or holds `=` or NUL, or its value holds NUL.
///
/// Source: SPEC §4.
pub fn check_variable(member: &str, name: &str, value: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains(['=', '\0']) {
        let name = quoted(name);
        return Err(Error::malformed(format!(
            "{member}: the name {name} must not be empty nor hold \"=\" or NUL"
        )));
    }
    without_nul(&format!("{member}: the value of {}", quoted(name)), value)
}

/// Runs a program in a workspace. With `events` its output is sent there as it comes, else it is captured.
///
/// # Errors
/// `StartFailed`; for `cwd`, `NotFound`, `InvalidPath` or `PermissionDenied`; `TimedOut` and `Cancelled`, whose
/// messages end with the last of the output, after the whole tree is dead.
///
/// Source: SPEC §3.4.
pub async fn exec(
    setting: &ExecSetting,
    exec: Exec,
    cancel: &Cancel,
    events: Option<Events>,
    controls: Option<Controls>,
) -> Result<Finished, Error> {
    let Exec { program, arguments, cwd, env, stdin, stdin_open, timeout, max_output_bytes } = exec;
    let directory = tokio::select! {
        opened = open_cwd(&setting.workspace, cwd.as_ref()) => opened,
        () = cancel.cancelled() => return Err(cancelled("")),
    };
    let directory = directory.map_err(|error| cwd_fault(cwd.as_ref(), error))?;
    let mut environment = BTreeMap::clone(&setting.env);
    environment.extend(env);
    let name = quoted(&program);
    let command = Command { program, arguments, environment, directory, stdin: Input::Null };
    let stdin = stdin.into_bytes();
    let job = Job { command, timeout, max_output_bytes, stdin, stdin_open, events, controls };
    let report = process::run(&setting.containment, job, cancel).await.map_err(|error| match error {
        RunError::Start(StartError::Directory(error)) => cwd_fault(cwd.as_ref(), error),
        RunError::Start(error) => start_fault(&name, error),
        RunError::TimedOut { tail } => timed_out(timeout, &tail),
        RunError::Cancelled { tail } => cancelled(&tail),
    })?;
    let output = ExecOutput {
        exit_code: report.status.code(),
        stdout: report.stdout,
        stderr: report.stderr,
        captured_bytes: report.captured_bytes,
        discarded_bytes: report.discarded_bytes,
        truncated: report.truncated,
        signal: report.status.signal(),
    };
    Ok(Finished { output, detached: report.detached })
}

/// Empty or `.` is the workspace; each `/` at the end is dropped.
fn parse_cwd(cwd: &str) -> Result<Option<WorkspacePath>, Error> {
    if cwd.starts_with('/') {
        return Err(Error::malformed(format!("cwd {} must be relative to the workspace", quoted(cwd))));
    }
    match cwd.trim_end_matches('/') {
        "" | "." => Ok(None),
        path => check::file_path("cwd", path).map(Some),
    }
}

/// A handle of the directory, opened beneath the workspace.
async fn open_cwd(workspace: &Arc<Workspace>, cwd: Option<&WorkspacePath>) -> io::Result<OwnedFd> {
    let Some(cwd) = cwd else { return workspace.handle().try_clone_to_owned() };
    let (workspace, cwd) = (workspace.clone(), cwd.clone());
    let open = move || workspace.dir().open_dir(cwd.as_str()).map(OwnedFd::from);
    // A file system that does not answer must not hold a thread that others need; a runtime with one has no others.
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return open();
    }
    tokio::task::spawn_blocking(open).await.map_err(io::Error::other)?
}

fn cwd_fault(cwd: Option<&WorkspacePath>, error: io::Error) -> Error {
    let (kind, reason) = match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::NotFound, _) => (Kind::NotFound, "does not exist"),
        (io::ErrorKind::NotADirectory, _) => (Kind::InvalidPath, "is not a directory"),
        // Without a number it was not the operating system that refused.
        (io::ErrorKind::PermissionDenied, None) => (Kind::InvalidPath, "leads outside the workspace"),
        (io::ErrorKind::PermissionDenied, Some(_)) => (Kind::PermissionDenied, "is not permitted"),
        _ if workspace::is_symlink_loop(&error) => (Kind::InvalidPath, "leads in a circle of symlinks"),
        _ if process::is_out_of_descriptors(&error) => {
            (Kind::StartFailed, "needs a descriptor, and none is free")
        }
        _ => (Kind::Filesystem, "cannot be used"),
    };
    let cwd = quoted(cwd.map_or(".", WorkspacePath::as_str));
    let message = match kind {
        // The other reasons say it all.
        Kind::Filesystem => format!("cwd {cwd} {reason}: {error}"),
        _ => format!("cwd {cwd} {reason}"),
    };
    Error::new(kind, message).with_source(error)
}

fn start_fault(program: &str, error: StartError) -> Error {
    let fault = Error::new(Kind::StartFailed, format!("program {program} {error}"));
    match error {
        StartError::Execute(source) | StartError::Directory(source) | StartError::Resources(source) => {
            fault.with_source(source)
        }
        StartError::NoPath | StartError::NotInPath | StartError::BadInterpreter => fault,
    }
}

fn timed_out(timeout: Duration, tail: &str) -> Error {
    let limit = timeout.as_millis();
    let message = format!(
        "the program passed its timeout_ms of {limit}, and all that it started was killed; {}",
        so_far(tail)
    );
    Error::new(Kind::TimedOut, message)
}

fn cancelled(tail: &str) -> Error {
    Error::new(
        Kind::Cancelled,
        format!("the exec was cancelled, and all that it started was killed; {}", so_far(tail)),
    )
}

fn so_far(tail: &str) -> String {
    if tail.is_empty() {
        "it had written nothing".to_owned()
    } else {
        format!("its output ended with:\n{tail}")
    }
}

#[cfg(test)]
mod tests;
