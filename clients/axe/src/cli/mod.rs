//! The command line. Each command is a file; [`main`] is all that the program calls.
//!
//! stdout is for results only, and an error is one line on stderr: never a usage text.

mod agents;
mod config;
mod flags;
mod gc;
mod join;
mod models;
mod narrator;
pub mod run;
mod screen;
#[cfg(test)]
mod tests;
mod usage;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::config::{Environment, Error, Lookup, Place, known_secrets};
use crate::output::{Console, Exit, Failure, Mask};
use flags::{Command, Flags};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return usage::answer(&error).into(),
    };
    let console = Console::new(Mask::default(), false);
    match dispatch(flags) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            console.fail(&failure);
            failure.exit.into()
        }
    }
}

fn dispatch(flags: Flags) -> Result<Exit, Failure> {
    match flags.command {
        None => help(None),
        Some(Command::Run(flags)) => run::command(flags, place()?),
        Some(Command::Agents(flags)) => agents::command(flags),
        Some(Command::Config(flags)) => config::command(flags),
        Some(Command::Gc(flags)) => gc::command(flags, place()?),
        Some(Command::Version) => print(concat!("axe version ", env!("CARGO_PKG_VERSION"))),
        Some(Command::Completion { shell: None }) => help(Some("completion")),
        Some(Command::Completion { shell: Some(shell) }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Flags::command(), "axe", &mut script);
            print_exactly(&script)
        }
    }
}

/// Where axe runs, for commands that a fault of `config.toml` ends.
fn place() -> Result<Place, Failure> {
    Place::new(environment()?).map_err(Failure::config)
}

fn environment() -> Result<Environment, Failure> {
    Environment::of_this_process()
        .map_err(|error| Failure::runtime(format_args!("no current directory: {error}")))
}

fn lookup(agents_dir: Option<&str>, place: &Place) -> Lookup {
    Lookup::new(agents_dir, &place.environment, &place.directories)
}

/// stderr, with every key masked that these surroundings hold.
fn console(place: &Place, is_verbose: bool) -> Console {
    Console::new(mask(place), is_verbose)
}

fn mask(place: &Place) -> Mask {
    Mask::new(known_secrets(&place.global, &place.environment))
}

/// A provider that can't be had: one that nobody knows is no fault of a file.
fn endpoint_failure(error: Error) -> Failure {
    let exit = match error {
        Error::UnsupportedProvider { .. } => Exit::Runtime,
        _ => Exit::Config,
    };
    Failure::new(exit, error)
}

/// The help of a command; for `axe` and groups of commands when they are called alone.
fn help(group: Option<&str>) -> Result<Exit, Failure> {
    let mut command = Flags::command();
    command.build();
    if let Some(found) = group.and_then(|name| command.find_subcommand(name)) {
        command = found.clone();
    }
    print_exactly(command.render_long_help().to_string().as_bytes())
}

fn print(line: impl std::fmt::Display) -> Result<Exit, Failure> {
    print_exactly(format!("{line}\n").as_bytes())
}

fn print_exactly(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(stdout_fault)?;
    Ok(Exit::Success)
}

fn stdout_fault(error: io::Error) -> Failure {
    Failure::runtime(format_args!("can't write to stdout: {error}"))
}
