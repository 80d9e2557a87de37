//! The subcommands: a running axlrd for people, and for scripts with `--json`.
//!
//! Each command writes what was asked for to stdout and everything else to stderr. A reader that goes away early (`| head`)
//! ends the command quietly, and with it the request.
//!
//! Source: SPEC §6 and §7; no-color.org.

mod arguments;
mod call;
mod exec;
mod human;
mod interrupt;
mod list;
mod read;
mod screen;
mod search;
mod status;
mod stop;
mod tools;

use std::io::{self, ErrorKind, Write as _};

use anyhow::Context as _;
use axlr_client::{Client, ConnectError, Encoding, default_socket_path};
use clap::CommandFactory as _;

use crate::EXIT_COMPLETED;
use crate::flags::{Command, ConnectionFlags, Flags};
use crate::mcp;

/// Runs a subcommand and returns its exit status.
pub(crate) fn run(command: Command) -> anyhow::Result<u8> {
    let ended = match command {
        Command::Completions { shell } => completions(shell),
        Command::Mcp(flags) => mcp::run(flags),
        command => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.context("the event loop could not be made")?.block_on(ask(command))
        }
    };
    match ended {
        Err(error) if is_reader_gone(&error) => Ok(EXIT_COMPLETED),
        ended => ended,
    }
}

async fn ask(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Call(flags) => call::run(flags).await,
        Command::Status(flags) => status::run(&flags).await,
        Command::Tools(flags) => tools::run(&flags).await,
        Command::Stop(flags) => stop::run(&flags).await,
        // Dealt with before the event loop was made.
        Command::Completions { .. } | Command::Mcp(_) => Ok(EXIT_COMPLETED),
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Flags::command(), "axlr", &mut script);
    io::stdout().write_all(&script)?;
    Ok(EXIT_COMPLETED)
}

async fn connect(flags: &ConnectionFlags) -> anyhow::Result<Client> {
    let path = flags.socket.clone().unwrap_or_else(default_socket_path);
    Client::connect(path, Encoding::MessagePack).await.map_err(no_daemon)
}

/// Says how to start a daemon, when there is none.
pub(crate) fn no_daemon(error: ConnectError) -> anyhow::Error {
    match &error {
        ConnectError::Connect { path, source }
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            let shown = path.display();
            let start = if *path == default_socket_path() {
                "axlrd".to_owned()
            } else {
                format!("axlrd --socket {shown}")
            };
            anyhow::anyhow!("no axlrd listens on {shown}; start one with: {start}")
        }
        _ => error.into(),
    }
}

/// Our only plain I/O errors of this kind are those of stdout; a broken connection has a type of its own.
fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
