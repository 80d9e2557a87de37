//! One request in this process, without actors: the worker's way in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use axlr_protocol::tool::{PluginsCallOutput, PluginsListOutput};
use axlr_protocol::{Call, Code, ErrorBody, Output, Request, Response, limits};
use tokio::runtime::Runtime;

use crate::cancel::Cancel;
use crate::capacity::PLUGIN_CLOSE_MAX;
use crate::error::{failure, refusal};
use crate::plugins::{self, Home, Plugin, PluginCall, PluginSetup, Running, Session};
use crate::process::Containment;
use crate::tools::{self, Durability, Edit, Error, Exec, List, Mutation, Patterns, Read, Search, Write};
use crate::workspace::Workspace;

/// What one request runs in.
pub struct Once {
    /// The root.
    pub workspace: Workspace,
    /// The complete environment of exec children.
    pub env: BTreeMap<String, String>,
    /// The plugins.
    pub plugins: PluginSetup,
    /// Whether a mutation is on stable storage before it is answered.
    pub durability: Durability,
}

/// What a request leaves behind when it is answered: plugins that were asked to end. Dropped, they are killed.
#[must_use = "dropped, they are killed at once"]
pub struct Remains(Option<(Runtime, Running)>);

impl Remains {
    /// Waits until the plugins have ended, for a bounded time.
    pub fn end(self) {
        if let Some((runtime, running)) = &self.0 {
            runtime.block_on(running.ended(PLUGIN_CLOSE_MAX));
        }
    }
}

impl Drop for Remains {
    /// Nothing is waited for here: the look-up of a name takes as long as the resolver likes, and cannot be broken off.
    fn drop(&mut self) {
        if let Some((runtime, _)) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Answers one request. Only exec and plugins start an async runtime; the other tools run right here.
///
/// Source: SPEC §1.
pub fn once(once: Once, request: Request, cancel: &Cancel) -> (Response, Remains) {
    let (started_at, began) = (SystemTime::now(), Instant::now());
    let tool = request.call.tool();
    let mut remains = Remains(None);
    let outcome = run(once, request.call, cancel, &mut remains);
    let is_malformed = matches!(&outcome, Err(error) if error.code == Code::InvalidRequest);
    let took = if is_malformed { Duration::ZERO } else { began.elapsed() };
    let response = Response {
        request_id: request.request_id,
        tool: Some(tool),
        started_at,
        finished_at: started_at + took,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        outcome,
    };
    (response, remains)
}

fn run(once: Once, call: Call, cancel: &Cancel, remains: &mut Remains) -> Result<Output, ErrorBody> {
    let Once { workspace, env, plugins, durability } = once;
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
        Call::PluginsList(_) => Asked::new(workspace, &plugins, cancel, remains)
            .and_then(|asked| asked.list())
            .map(Output::PluginsList),
        Call::PluginsCall(arguments) => PluginCall::parse(arguments)
            .and_then(|call| Asked::new(workspace, &plugins, cancel, remains)?.call(call))
            .map(Output::PluginsCall),
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
    let runtime = event_loop()?;
    let setting = tools::ExecSetting {
        workspace: Arc::new(workspace),
        env: Arc::new(env),
        containment: Arc::new(Containment::group()),
    };
    let finished = runtime.block_on(tools::exec(&setting, exec, cancel, None, None))?;
    Ok(Output::Exec(finished.output))
}

fn event_loop() -> Result<Runtime, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
        Error::new(tools::Kind::StartFailed, format!("no event loop could be made: {error}"))
    })
}

/// Plugins for the time of one request: a session is opened when it is needed, and closed when it was.
struct Asked<'a> {
    plugins: Vec<Arc<Plugin>>,
    home: Home,
    cancel: &'a Cancel,
    runtime: &'a Runtime,
}

impl<'a> Asked<'a> {
    fn new(
        workspace: Workspace,
        setup: &PluginSetup,
        cancel: &'a Cancel,
        remains: &'a mut Remains,
    ) -> Result<Self, Error> {
        let home = Home {
            containment: Arc::new(Containment::group()),
            directory: Arc::new(move || workspace.handle().try_clone_to_owned()),
            running: Running::default(),
        };
        let plugins = setup.plugins().into_iter().map(Arc::new).collect();
        let (runtime, _) = remains.0.insert((event_loop()?, home.running.clone()));
        Ok(Self { plugins, home, cancel, runtime })
    }

    fn list(self) -> Result<PluginsListOutput, Error> {
        let timeout = Duration::from_millis(limits::PLUGIN_TIMEOUT_DEFAULT_MS);
        let lists = self.plugins.into_iter().map(|plugin| {
            let home = self.home.clone();
            async move { Session::open(plugin, home).await?.list().await }
        });
        self.runtime.block_on(async {
            let deadline = tokio::time::Instant::now() + timeout;
            plugins::within(timeout, deadline, self.cancel, plugins::join_lists(lists)).await
        })
    }

    fn call(self, call: PluginCall) -> Result<PluginsCallOutput, Error> {
        let found = self.plugins.iter().find(|plugin| plugin.id() == call.plugin_id);
        let plugin = found.ok_or_else(|| plugins::unknown_plugin(&call.plugin_id))?;
        if !plugin.manifest.allows(&call.tool_name) {
            return Err(plugins::not_allowed(&call.plugin_id, &call.tool_name));
        }
        self.runtime.block_on(async {
            let deadline = tokio::time::Instant::now() + call.timeout;
            let opening = Session::open(plugin.clone(), self.home.clone());
            let session = plugins::within(call.timeout, deadline, self.cancel, opening).await?;
            session.call(call, deadline, self.cancel, None).await
        })
    }
}

#[cfg(test)]
mod tests;
