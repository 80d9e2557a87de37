//! One request on stdin, answered by this process.
//!
//! Source: SPEC §2.1.

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use anyhow::Context as _;
use axlr::runtime::{Once, Workspace, environment, once};
use axlr_protocol::decode::{self, Door, Malformed};
use axlr_protocol::{Call, Code, Encoding, ErrorBody, Request, Response, Tool, codec, limits};

use crate::flags::WorkerFlags;
use crate::{EXIT_COMPLETED, EXIT_MALFORMED, signals};

/// Runs the worker and returns its exit status.
pub(crate) fn run(mut flags: WorkerFlags) -> anyhow::Result<u8> {
    let plugins = flags.plugins().read()?;
    let durability = flags.durability();
    let root = flags.root();
    let workspace = Workspace::open(root).with_context(|| format!("--root {}", root.display()))?;
    let env = environment(flags.env, flags.env_file)?;
    let request = match read_request()? {
        Ok(request) => request,
        Err(malformed) => return answer(&rejection(malformed)),
    };
    // Exec and plugins sleep on an event loop; the others ask for their cancellation as they go.
    let cancel = match request.call {
        Call::Exec(_) => signals::as_wake_up(),
        Call::PluginsList(_) | Call::PluginsCall(_) => {
            log();
            signals::as_wake_up()
        }
        _ => signals::as_flag(),
    };
    let cancel = cancel.context("signals can't be heard")?;
    let (request_id, tool) = (request.request_id.clone(), request.call.tool());
    let once = AssertUnwindSafe(|| once(Once { workspace, env, plugins, durability }, request, &cancel));
    match catch_unwind(once) {
        Ok((response, remains)) => {
            let answered = answer(&response);
            remains.end();
            answered
        }
        Err(_) => {
            let message =
                "axlr met a fault of its own; whether the request had effects is unknown".to_owned();
            answer(&at_once(request_id, Some(tool), ErrorBody { code: Code::InternalError, message }))
        }
    }
}

/// What plugins write to their stderr goes to ours, a line each.
fn log() {
    let line = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).log_internal_errors(false);
    let filter = tracing_subscriber::EnvFilter::new("info,rmcp=warn");
    // Whoever has set up a log already keeps it.
    let _ = line.with_env_filter(filter).with_target(false).without_time().try_init();
}

/// The complete environment of exec children.
pub(crate) fn environment(
    variables: Vec<String>,
    files: Vec<std::path::PathBuf>,
) -> anyhow::Result<std::collections::BTreeMap<String, String>> {
    Ok(environment::Sources { pass: Vec::new(), files, variables, prefix: "" }.collect()?)
}

/// Reads stdin to its end. A document over the limit is not kept beyond it.
pub(crate) fn read_request() -> anyhow::Result<Result<Request, Malformed>> {
    let limit = limits::REQUEST_MAX_BYTES;
    let mut document = Vec::new();
    let length = io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut document);
    if length.context("stdin can't be read")? > limit {
        let message = format!("the request is over the limit of {limit} bytes");
        return Ok(Err(Malformed { request_id: String::new(), tool: None, message }));
    }
    Ok(decode::request(Encoding::Json, &document, Door::Worker))
}

/// The answer to a malformed request.
pub(crate) fn rejection(malformed: Malformed) -> Response {
    let error = ErrorBody { code: Code::InvalidRequest, message: malformed.message };
    at_once(malformed.request_id, malformed.tool, error)
}

/// An answer before any work began.
pub(crate) fn at_once(request_id: String, tool: Option<Tool>, error: ErrorBody) -> Response {
    let now = SystemTime::now();
    Response { request_id, tool, started_at: now, finished_at: now, duration_ms: 0, outcome: Err(error) }
}

/// Writes the response, and tells how to exit.
pub(crate) fn answer(response: &Response) -> anyhow::Result<u8> {
    let mut line = Vec::new();
    codec::response(Encoding::Json, response, &mut line);
    write_whole(&line)?;
    Ok(exit_status(response.outcome.as_ref().err()))
}

pub(crate) fn write_whole(line: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line).and_then(|()| stdout.flush()).context("the response could not be written whole")
}

pub(crate) fn exit_status(error: Option<&ErrorBody>) -> u8 {
    match error {
        Some(error) if error.code == Code::InvalidRequest => EXIT_MALFORMED,
        _ => EXIT_COMPLETED,
    }
}
