//! The command line of axlr: one request on stdin, and the subcommands that talk to a daemon.
//!
//! ```text
//! axlr --root DIR --profile trusted-local < request.json    worker.rs: the tools run in this process
//! axlr --socket PATH --root DIR …         < request.json    forward.rs: the same contract, run by a daemon
//! axlr mcp --root DIR                                       mcp/: the tools for a host of the Model Context Protocol
//! axlr call | status | tools | stop | completions           command/: the daemon for people
//! ```
//!
//! Stdout belongs to the protocol, and to what a subcommand was asked for. Everything else goes to stderr.
//!
//! Source: SPEC §1 and §2.

mod command;
mod flags;
mod forward;
mod mcp;
mod signals;
mod worker;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use flags::{Flags, WorkerFlags};

/// Answered, or completed.
const EXIT_COMPLETED: u8 = 0;
/// Flags, root or environment are wrong, nobody listens, or the connection or stdout broke.
const EXIT_FAULT: u8 = 1;
/// The request was malformed.
const EXIT_MALFORMED: u8 = 2;
/// A subcommand's request was answered, and not with `completed`.
const EXIT_NOT_COMPLETED: u8 = 3;

fn main() -> ExitCode {
    let ended = match flags::plain(std::env::args_os().skip(1)) {
        Some(flags) => one_request(flags),
        None => match Flags::try_parse() {
            Ok(Flags { command: Some(command), .. }) => command::run(command),
            Ok(Flags { worker, command: None }) => one_request(worker),
            Err(error) => {
                let _ = error.print();
                return ExitCode::from(if error.use_stderr() { EXIT_FAULT } else { EXIT_COMPLETED });
            }
        },
    };
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            // A stderr that is closed is no reason to panic.
            let _ = writeln!(io::stderr(), "axlr: {error:#}");
            ExitCode::from(EXIT_FAULT)
        }
    }
}

fn one_request(flags: WorkerFlags) -> anyhow::Result<u8> {
    match flags.socket.clone() {
        Some(socket) => forward::run(flags, &socket),
        None => worker::run(flags),
    }
}
