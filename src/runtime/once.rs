//! One request in this process, without actors: the worker's way in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axlr_protocol::tool::PluginsListOutput;
use axlr_protocol::{Call, Code, ErrorBody, Output, Request, Response};

use crate::cancel::Cancel;
use crate::error::{failure, refusal};
use crate::process::Containment;
use crate::tools::{self, Durability, Edit, Error, Exec, List, Mutation, Patterns, Read, Search, Write};
use crate::workspace::Workspace;

/// What one request runs in.
pub struct Once {
    /// The root.
    pub workspace: Workspace,
    /// The complete environment of exec children.
    pub env: BTreeMap<String, String>,
    /// Whether a mutation is on stable storage before it is answered.
    pub durability: Durability,
}

/// Answers one request. Only exec starts an async runtime; the other tools run right here.
///
/// Source: SPEC §1.
pub fn once(once: Once, request: Request, cancel: &Cancel) -> Response {
    let (started_at, began) = (SystemTime::now(), Instant::now());
    let tool = request.call.tool();
    let outcome = run(once, request.call, cancel);
    let is_malformed = matches!(&outcome, Err(error) if error.code == Code::InvalidRequest);
    let took = if is_malformed { Duration::ZERO } else { began.elapsed() };
    Response {
        request_id: request.request_id,
        tool: Some(tool),
        started_at,
        finished_at: started_at + took,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        outcome,
    }
}

fn run(once: Once, call: Call, cancel: &Cancel) -> Result<Output, ErrorBody> {
    let Once { workspace, env, durability } = once;
    let mutate = |mutation: Mutation| tools::apply(&workspace, &mutation, durability, cancel);
    let result = match call {
        Call::Read(arguments) => {
            Read::parse(arguments).and_then(|read| tools::read(&workspace, &read, cancel)).map(Output::Read)
        }
        Call::Write(arguments) => Write::parse(arguments).map(Mutation::Write).and_then(mutate),
        Call::Edit(arguments) => Edit::parse(arguments).map(Mutation::Edit).and_then(mutate),
        Call::List(arguments) => List::parse(arguments)
            .and_then(|list| tools::list(&workspace, &list, cancel, None))
            .map(Output::List),
        Call::Search(arguments) => {
            let threads = crate::capacity::Capacity::default().search_threads;
            let search = |search| {
                tools::search(&workspace, &search, &Patterns::default(), threads, cancel, None)
                    .map(Output::Search)
            };
            Search::parse(arguments).and_then(search)
        }
        Call::Exec(arguments) => {
            Exec::parse(arguments, false).and_then(|exec| run_exec(workspace, env, exec, cancel))
        }
        Call::PluginsList(_) => Ok(Output::PluginsList(PluginsListOutput::default())),
        Call::PluginsCall(arguments) => {
            crate::plugins::check_call(&arguments).map_err(failure)?;
            let message = format!("no plugin {} is registered", tools::quoted(&arguments.plugin_id));
            return Err(refusal(Code::UnknownPlugin, message));
        }
        // The worker's door decodes nothing else.
        other => {
            return Err(refusal(
                Code::InvalidRequest,
                format!("{} is a tool of axlrd", other.tool().as_str()),
            ));
        }
    };
    result.map_err(failure)
}

fn run_exec(
    workspace: Workspace,
    env: BTreeMap<String, String>,
    exec: Exec,
    cancel: &Cancel,
) -> Result<Output, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Error::new(tools::Kind::StartFailed, format!("no event loop could be made: {error}"))
    })?;
    let setting = tools::ExecSetting {
        workspace: Arc::new(workspace),
        env: Arc::new(env),
        containment: Arc::new(Containment::group()),
    };
    let finished = runtime.block_on(tools::exec(&setting, exec, cancel, None, None))?;
    Ok(Output::Exec(finished.output))
}
