//! `axe run`: everything up to the first request, and the dry run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::flags::RunFlags;
use super::{console, join, lookup, mask, print_exactly};
use crate::config::{Lookup, Overrides, Place, Resolved, provider_settings};
use crate::output::{Console, DryRun, Exit, Failure};
use crate::prepare::{Prepared, Workdirs};
use crate::prompt::{GatherError, Stdin, UserMessage};
use crate::runtime::{ContextFiles, Daemon, Runtime};

/// A run that only has to be run.
#[derive(Debug)]
pub struct Run {
    /// The agent, with its prompts.
    pub prepared: Prepared,
    /// Where it runs: variables, directories, `config.toml`.
    pub place: Place,
    /// What is printed on stdout.
    pub output: Output,
    /// stderr.
    pub console: Console,
    /// Whether a fresh artifact directory outlives the run.
    pub keeps_artifacts: bool,
    /// Where requests and replies come from or go to.
    pub tape: Tape,
    /// The way to files and commands.
    pub runtime: Arc<Runtime>,
}

/// What a run prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The final text.
    Text,
    /// The envelope.
    Json,
    /// A line for everything that happens.
    Events,
}

/// Whether a run is recorded or replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tape {
    /// Neither.
    Off,
    /// Into this directory.
    Record(PathBuf),
    /// From this directory.
    Replay(PathBuf),
}

pub(super) fn command(flags: RunFlags, place: Place) -> Result<Exit, Failure> {
    let console = console(&place, flags.verbose);
    let result = start(flags, place, &console);
    // A failure may quote a key; only this console knows them.
    result.map_err(|failure| Failure { message: console.masked(&failure.message), ..failure })
}

fn start(flags: RunFlags, place: Place, console: &Console) -> Result<Exit, Failure> {
    // An empty variable names no socket.
    let socket = flags.socket.clone().filter(|path| !path.as_os_str().is_empty());
    let runtime = Arc::new(Runtime::new(Daemon::find(socket, place.environment.get("PATH"))));
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::runtime(format_args!("the event loop could not be made: {error}")))?;
    executor.block_on(async {
        let result = perform(flags, place, console, &runtime).await;
        runtime.close().await;
        result
    })
}

async fn perform(
    flags: RunFlags,
    place: Place,
    console: &Console,
    runtime: &Arc<Runtime>,
) -> Result<Exit, Failure> {
    let lookup = lookup(flags.agents_dir.as_deref(), &place);
    place.global.warnings.iter().for_each(|warning| console.warn(warning));
    let prepared = prepare(&flags, std::io::stdin(), &lookup, &place, &ContextFiles(runtime.clone())).await?;
    prepared.warnings.iter().for_each(|warning| console.warn(warning));
    prepared.explanation().iter().for_each(|line| console.explain(line));
    if flags.dry_run {
        doubts(&prepared.resolved, &place).iter().for_each(|doubt| console.warn(doubt));
        return print_exactly(dry_run(&prepared).as_bytes());
    }
    let mask = mask(&place);
    let run = Run {
        prepared,
        place,
        output: match (flags.json, flags.events) {
            (_, true) => Output::Events,
            (true, false) => Output::Json,
            (false, false) => Output::Text,
        },
        console: console.clone(),
        keeps_artifacts: flags.keep_artifacts,
        tape: match (flags.record, flags.replay) {
            (Some(directory), _) => Tape::Record(directory),
            (None, Some(directory)) => Tape::Replay(directory),
            (None, None) => Tape::Off,
        },
        runtime: runtime.clone(),
    };
    join::run(run, mask).await
}

/// Loads the agent, reads what it is asked, its context and its memory.
pub(super) async fn prepare(
    flags: &RunFlags,
    stdin: impl Stdin,
    lookup: &Lookup,
    place: &Place,
    workdirs: &dyn Workdirs,
) -> Result<Prepared, Failure> {
    let resolved = Resolved::load(&flags.agent, lookup, &overrides(flags), place)
        .map_err(|error| Failure::config(format_args!("failed to load agent: {error}")))?;
    let user = UserMessage::decide(flags.prompt.as_deref(), flags.with_stdin, stdin, resolved.timeout)
        .map_err(Failure::runtime)?;
    // The run's own deadline begins later; a runtime that never answers must not be waited for without end.
    let within = resolved.timeout;
    let prepared = tokio::time::timeout(within, Prepared::new(resolved, user, place, workdirs)).await;
    let Ok(prepared) = prepared else {
        let seconds = within.as_secs();
        return Err(Failure::runtime(format_args!(
            "axlrd did not answer within {seconds} s, which the files of the agent need"
        )));
    };
    prepared.map_err(|error| match error {
        GatherError::Pattern(_) => Failure::config(error),
        GatherError::Unavailable(_) => Failure::runtime(error),
    })
}

pub(super) fn dry_run(prepared: &Prepared) -> String {
    DryRun {
        resolved: &prepared.resolved,
        system_prompt: &prepared.system_prompt,
        files: &prepared.files,
        user: &prepared.user,
        memory: prepared.memory_text(),
    }
    .to_string()
}

/// What a real run would stumble over and a dry run does not need.
fn doubts(resolved: &Resolved, place: &Place) -> Vec<String> {
    let provider = provider_settings(&resolved.model.provider, &place.global, &place.environment).err();
    let unset = resolved.agent.mcp_servers.iter().filter_map(|server| {
        let unset = server.transport.resolve_secrets(&place.environment).err()?;
        Some(format!("MCP server {:?}: {unset}", server.name))
    });
    let sub_agents = resolved.agent.sub_agents.iter().filter_map(|name| {
        let error = resolved.sub_agents.load(name).err()?;
        Some(format!("sub-agent {name:?}: {error}"))
    });
    provider.map(|error| error.to_string()).into_iter().chain(unset).chain(sub_agents).collect()
}

fn overrides(flags: &RunFlags) -> Overrides {
    Overrides {
        model: flags.model.clone(),
        skill: flags.skill.clone(),
        workdir: flags.workdir.clone(),
        timeout: flags.timeout.map(|seconds| Duration::from_secs(seconds.into())),
        max_tokens: flags.max_tokens,
        max_turns: flags.max_turns,
        stream: flags.stream,
        artifact_dir: flags.artifact_dir.clone(),
    }
}
