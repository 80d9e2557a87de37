//! What `/exec` and `/spawn` are asked for: the strict reading of their bodies.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use axlr_protocol::tool::StringMap;
use axlr_protocol::{decode, limits};
use serde::Deserialize;

use crate::runtime::command::Command;

/// Commands of one line run in this shell.
const SHELL: &str = "/bin/sh";

/// The body of `/exec`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecBody {
    cmd: String,
    cwd: Option<String>,
    env: Option<StringMap>,
    timeout: Option<f64>,
}

/// The body of `/spawn`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpawnBody {
    cmd: String,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    env: Option<StringMap>,
    timeout: Option<f64>,
}

/// How long a command may take, in seconds.
struct Timeout {
    default: f64,
    max: f64,
}

const EXEC: Timeout =
    Timeout { default: limits::HTTP_EXEC_TIMEOUT_DEFAULT_S, max: limits::HTTP_EXEC_TIMEOUT_MAX_S };
const SPAWN: Timeout =
    Timeout { default: limits::HTTP_SPAWN_TIMEOUT_DEFAULT_S, max: limits::HTTP_SPAWN_TIMEOUT_MAX_S };

/// Reads the body of `/exec`. The command's environment is `inherited` and what the body adds.
///
/// # Errors
/// What is wrong with it: the member, its value and the rule.
pub(super) fn exec(body: &[u8], inherited: &BTreeMap<String, String>) -> Result<Command, String> {
    let ExecBody { cmd, cwd, env, timeout } = decode::document(body)?;
    SpawnBody { cmd, args: None, cwd, env, timeout }.command(inherited, &EXEC)
}

/// Reads the body of `/spawn`, likewise.
///
/// # Errors
/// As [`exec`].
pub(super) fn spawn(body: &[u8], inherited: &BTreeMap<String, String>) -> Result<Command, String> {
    decode::document::<SpawnBody>(body)?.command(inherited, &SPAWN)
}

impl SpawnBody {
    fn command(self, inherited: &BTreeMap<String, String>, bounds: &Timeout) -> Result<Command, String> {
        let Self { cmd, args, cwd, env, timeout } = self;
        if cmd.is_empty() {
            return Err("cmd must not be empty".to_owned());
        }
        without_nul("cmd", &cmd)?;
        for (index, argument) in args.iter().flatten().enumerate() {
            without_nul(&format!("args[{index}]"), argument)?;
        }
        if let Some(cwd) = &cwd {
            without_nul("cwd", cwd)?;
        }
        let mut environment = inherited.clone();
        for (name, value) in env.unwrap_or_default().0 {
            if !is_name(&name) {
                let name = name.chars().take(limits::MESSAGE_VALUE_MAX_CHARS).collect::<String>();
                return Err(format!("env: the name {name:?} must match [A-Za-z_][A-Za-z0-9_]*"));
            }
            without_nul(&format!("env.{name}"), &value)?;
            environment.insert(name, value);
        }
        let timeout = bounds.check(timeout)?;
        let (program, arguments) = match args {
            Some(arguments) => (cmd, arguments),
            None => (SHELL.to_owned(), vec!["-c".to_owned(), cmd]),
        };
        let directory = cwd.filter(|cwd| !cwd.is_empty()).map(PathBuf::from);
        Ok(Command { program, arguments, directory, environment, timeout })
    }
}

impl Timeout {
    fn check(&self, given: Option<f64>) -> Result<Duration, String> {
        let seconds = given.unwrap_or(self.default);
        if !(seconds > 0.0 && seconds <= self.max) {
            return Err(format!("timeout {seconds} must be over 0 and at most {} seconds", self.max));
        }
        Duration::try_from_secs_f64(seconds).map_err(|error| format!("timeout {seconds}: {error}"))
    }
}

fn without_nul(member: &str, text: &str) -> Result<(), String> {
    if text.contains('\0') { Err(format!("{member} must not contain NUL")) } else { Ok(()) }
}

/// Of a variable that a shell can name.
fn is_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
