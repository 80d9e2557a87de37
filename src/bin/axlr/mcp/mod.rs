//! `axlr mcp`: the tools for a host of the Model Context Protocol, on stdin and stdout.
//!
//! The runtime is in this very process, or with `--socket` a daemon's (`remote.rs`). Stdout is the protocol's; whatever
//! there is to say besides goes to the log.

mod flags;
mod remote;

use std::io::{IsTerminal as _, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use axlr::capacity::{BLOCKING_KEEP_ALIVE, Capacity};
use axlr::listen::mcp::{Local, Root, Service, Settings, serve_stdio};
use axlr::runtime::{
    Config, Containment, Durability, Runtime, environment, plugin_sources, raise_descriptor_limit,
};
use axlr_client::tool::WorkspaceOpenArguments;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

pub(crate) use flags::{EXAMPLES, McpFlags};
use remote::Remote;

use crate::{EXIT_COMPLETED, forward};

/// Serves until the host is done. Returns the exit status.
pub(crate) fn run(mut flags: McpFlags) -> anyhow::Result<u8> {
    start_log(flags.log.as_deref())?;
    let shown = flags.root.display();
    // Looked up once: what it is a link to now, it stays.
    let root = std::fs::canonicalize(&flags.root).with_context(|| format!("--root {shown}"))?;
    if !root.is_dir() {
        bail!("--root {shown}: not a directory");
    }
    let plugins = plugin_sources::Sources::from(std::mem::take(&mut flags.plugins));
    match (flags.with_plugins, plugins.manifests.is_empty()) {
        (false, false) => bail!("--plugin is for --with-plugins, which offers the tools of plugins"),
        (true, true) if flags.socket.is_none() => {
            bail!("--with-plugins: name the plugins with --plugin FILE")
        }
        _ => {}
    }
    match flags.socket.clone() {
        Some(socket) => run_remote(&flags, root, plugins, &socket),
        None => run_local(flags, root, plugins),
    }
    .map(|()| EXIT_COMPLETED)
}

fn run_local(flags: McpFlags, root: PathBuf, plugins: plugin_sources::Sources) -> anyhow::Result<()> {
    // Before any thread: the helper that holds children is born from this process.
    let containment = Containment::start_for_daemon().context("children could not be contained")?;
    raise_descriptor_limit();
    let capacity = Capacity::default();
    let event_loop = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(capacity.blocking_threads())
        .thread_keep_alive(BLOCKING_KEEP_ALIVE)
        .enable_all()
        .build()
        .context("the event loop could not be made")?;
    let config = Config {
        roots: vec![root.clone()],
        env: environment(&flags)?,
        plugins: plugins.read()?,
        durability: flags.durability.map_or(Durability::Synced, Into::into),
        drain: Duration::ZERO,
        containment: Arc::new(containment),
        capacity,
    };
    let settings = settings(&flags, Root { path: root, workspace: None }, WorkspaceOpenArguments::default());
    let result = event_loop.block_on(async {
        let stop = signalled()?;
        let runtime = Runtime::start(config).await?;
        serve_stdio(Service::new(Local::new(&runtime), settings), stop).await;
        // What still runs is nobody's any more.
        runtime.request_stop(Some(Duration::ZERO));
        runtime.stopped(std::future::pending()).await;
        Ok(())
    });
    // A thread that a dead file system or an open stdin holds must not hold the process.
    event_loop.shutdown_background();
    result
}

fn run_remote(
    flags: &McpFlags,
    root: PathBuf,
    plugins: plugin_sources::Sources,
    socket: &Path,
) -> anyhow::Result<()> {
    let event_loop = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let event_loop = event_loop.context("the event loop could not be made")?;
    let result = event_loop.block_on(async {
        let stop = signalled()?;
        let Some(path) = root.to_str() else {
            bail!("--root {}: the name is not UTF-8, which a request to axlrd can't carry", root.display());
        };
        let mut open = forward::complete(path.to_owned(), environment(flags)?, plugins.collect()?)?;
        if flags.with_plugins && open.plugins.as_ref().is_some_and(Vec::is_empty) {
            (open.plugins, open.plugin_env, open.plugin_headers) = (None, None, None);
        }
        let remote = Remote::connect(socket).await?;
        let workspace = Some(remote.open(open.clone()).await?);
        let settings = settings(flags, Root { path: root, workspace }, open);
        let broken = remote.broken();
        tokio::select! {
            () = serve_stdio(Service::new(remote, settings), stop) => Ok(()),
            reason = broken => bail!("the connection to axlrd is broken: {reason}"),
        }
    });
    event_loop.shutdown_background();
    result
}

fn settings(flags: &McpFlags, root: Root, open: WorkspaceOpenArguments) -> Arc<Settings> {
    let (read_only, with_plugins) = (flags.read_only, flags.with_plugins);
    Arc::new(Settings { roots: vec![root], read_only, with_plugins, open })
}

fn environment(flags: &McpFlags) -> anyhow::Result<std::collections::BTreeMap<String, String>> {
    let sources = environment::Sources {
        pass: flags.env_pass.clone(),
        files: flags.env_file.clone(),
        variables: flags.env.clone(),
        prefix: "",
    };
    Ok(sources.collect()?)
}

/// Returns a future that returns at TERM or INT: the host wants the end now.
fn signalled() -> anyhow::Result<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).context("signals can't be heard");
    let (mut terminate, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    // Heard once it stays so: past the file size limit a write fails, and is answered, and the process lives on.
    drop(listen(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The SDK tells of every message at the level of our own news, and of every client that leaves as of an error.
const DEFAULT_LOG: &str = "info,rmcp=off";

fn start_log(filter: Option<&str>) -> anyhow::Result<()> {
    let named = std::env::var("AXLR_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = filter.or(named.as_deref()).unwrap_or(DEFAULT_LOG);
    let parsed = EnvFilter::try_new(filter).with_context(|| format!("--log {filter:?}"))?;
    // A line that stderr does not take is lost; saying so, on stderr, would panic.
    tracing_subscriber::fmt()
        .with_env_filter(parsed)
        .with_writer(stderr)
        .with_ansi(stderr().is_terminal())
        .log_internal_errors(false)
        .init();
    Ok(())
}
