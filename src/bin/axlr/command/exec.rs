//! `axlr call exec`: the program's output as it comes.

use std::io::{self, Write as _};

use axlr_client::tool::{ExecArguments, ExecOutput};
use axlr_client::{Call, EventBody};

use super::call::{Caller, typed};
use crate::EXIT_COMPLETED;

/// Passes stdout and stderr through. The exit status is that of the request: a program that failed has still completed.
pub(super) async fn run(caller: &mut Caller, arguments: ExecArguments) -> anyhow::Result<u8> {
    let program = arguments.program.clone();
    let running = caller.workspace.start(Call::Exec(arguments)).await?;
    let screen = &mut caller.screen;
    let pass = |event| {
        match event {
            EventBody::Stdout { data } => {
                screen.out.write_all(&data)?;
                screen.flush()?;
            }
            EventBody::Stderr { data } => io::stderr().write_all(&data)?,
            _ => {}
        }
        Ok(())
    };
    let response = caller.interrupt.follow(running, pass).await?;
    let Some(output) = response.output.clone() else { return Ok(caller.explain(&response)) };
    let output: ExecOutput = typed(output)?;
    if let Some(signal) = &output.signal {
        caller.screen.note(&format!("{program} was killed by SIG{signal}"));
    } else if output.exit_code != 0 {
        caller.screen.note(&format!("{program} exited with {}", output.exit_code));
    }
    if output.truncated {
        caller.screen.note("a process that it left behind held its output open, and was killed");
    }
    Ok(EXIT_COMPLETED)
}
