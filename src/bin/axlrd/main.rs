//! The daemon: flags, composition, signals. Everything else is in the library.

mod doors;
mod flags;
mod log;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use axlr::capacity::{BLOCKING_KEEP_ALIVE, Capacity};
use axlr::listen::{SocketListener, default_socket_path, serve_stdio};
use axlr::runtime::{Config, Containment, Runtime, raise_descriptor_limit};
use clap::Parser as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use doors::HttpDoors;
use flags::{Door, Flags, Options};
use log::Log;

/// A wrong flag, root or socket: nothing was served.
const EXIT_NOT_STARTED: u8 = 1;

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { EXIT_NOT_STARTED } else { 0 });
        }
    };
    match run(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("{error:#}"));
            ExitCode::from(EXIT_NOT_STARTED)
        }
    }
}

/// Says something on stderr. That nobody reads it any more is no reason to end, as it would be for `eprintln!`.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "axlrd: {line}");
}

fn run(flags: Flags) -> anyhow::Result<()> {
    let options = flags.resolve()?;
    // Before any thread: the helper that holds children is born from this process.
    let containment = Containment::start_for_daemon().context("children could not be contained")?;
    raise_descriptor_limit();
    let log = log::start(&options.log, options.log_format)?;
    let capacity = Capacity::default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 4))
        .max_blocking_threads(capacity.blocking_threads())
        .thread_keep_alive(BLOCKING_KEEP_ALIVE)
        .thread_name("axlrd")
        .enable_all()
        .build()
        .context("the event loop could not be made")?;
    let result = runtime.block_on(serve(options, capacity, Arc::new(containment), log));
    // A thread that a dead file system holds must not hold the daemon.
    runtime.shutdown_background();
    result
}

async fn serve(
    options: Options,
    capacity: Capacity,
    containment: Arc<Containment>,
    log: Log,
) -> anyhow::Result<()> {
    // Heard from here on, so that a signal during the start is not lost.
    let signals = Signals::listen()?;
    let Options { roots, door, http, command_env, env, plugins, durability, drain, .. } = options;
    let http = HttpDoors::open(http, command_env).await?;
    let runtime =
        Runtime::start(Config { roots, env, plugins, durability, drain, containment, capacity }).await?;
    http.check(&runtime)?;
    let socket = match door {
        Door::Stdio => return serve_one(runtime, http, signals, log).await,
        Door::Socket(path) => path,
    };
    let listener = listen(socket)?;
    http.announce();
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    match listener.path() {
        Some(path) => tell(&format!("listening on {}", path.display())),
        None => tell("listening on the socket that was passed to it"),
    }
    let stopping = signals.stop(runtime.clone(), log);
    tokio::join!(listener.accept(&runtime), http.serve(&runtime), runtime.stopped(stopping));
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    drop(listener);
    Ok(())
}

/// Serves stdin and stdout; when they end, so does the runtime.
async fn serve_one(runtime: Runtime, http: HttpDoors, signals: Signals, log: Log) -> anyhow::Result<()> {
    let stopping = signals.stop(runtime.clone(), log);
    let connection = async {
        serve_stdio(runtime.clone()).await;
        runtime.request_stop(None);
    };
    http.announce();
    tokio::join!(connection, http.serve(&runtime), runtime.stopped(stopping));
    Ok(())
}

fn listen(socket: Option<std::path::PathBuf>) -> anyhow::Result<SocketListener> {
    let mut passed = listenfd::ListenFd::from_env();
    if let Some(listener) =
        passed.take_unix_listener(0).context("the socket that was passed is of the wrong kind")?
    {
        return SocketListener::from_activation(listener).context("the socket that was passed can't be used");
    }
    Ok(SocketListener::bind(&socket.unwrap_or_else(default_socket_path))?)
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("signals can't be heard");
        // Heard once it stays so: past the file size limit a write fails, and is answered, and the daemon lives on.
        drop(listen(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Asks the runtime to stop at the first signal, and returns at the second. A stop that a client asked for counts as
    /// the first.
    async fn stop(mut self, runtime: Runtime, log: Log) {
        self.next(&log).await;
        if runtime.request_stop(None) {
            self.next(&log).await;
        }
    }

    /// Returns at TERM or INT; HUP is dealt with here.
    async fn next(&mut self, log: &Log) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => log.reopen(),
            }
        }
    }
}
