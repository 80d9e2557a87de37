//! `run_command`.

use std::time::Duration;

use axlr_client::tool::{ExecArguments, ExecOutput, StringMap};
use axlr_client::{AnyResponse, Call, CallError, Code, EventBody, Status, limits};
use tokio::time::Instant;

use super::command_guard::CommandGuard;
use super::limits::{COMMAND_OUTPUT_MAX_BYTES, SHOWN_COMMAND_CHARS};
use super::outcome::shown;
use super::toolbox::refusal;
use super::{Input, Outcome, Surroundings, Toolbox};
use crate::config::ARTIFACT_DIR_VARIABLE;
use crate::runtime;

/// The shell becomes a second one whose stderr is its stdout: one pipe keeps the order of what is written to both, and
/// the command's text stays as it is.
const BOTH_TO_STDOUT: &str = "exec /bin/sh -c \"$1\" 2>&1";
/// Variables that commands get from axe's own environment, when they are set there.
const PASSED_VARIABLES: [&str; 6] = ["PATH", "LANG", "LC_ALL", "USER", "LOGNAME", "TERM"];
/// The variable that tells commands where their skill's files are.
const SKILL_DIR_VARIABLE: &str = "AXE_SKILL_DIR";

pub(super) async fn run(tools: &Toolbox, input: Input<'_>) -> Result<Outcome, runtime::Error> {
    let wanted = input.required("command").and_then(|command| Ok((command, timeout(input)?)));
    let (command, timeout) = match wanted {
        Ok(wanted) => wanted,
        Err(outcome) => return Ok(outcome),
    };
    let surroundings = &tools.surroundings;
    let summary = format!("{:?}", shown(&command, SHOWN_COMMAND_CHARS));
    if let Err(reason) = CommandGuard::new(surroundings).check(&command) {
        return Ok(Outcome::error(reason, summary));
    }
    let workspace = surroundings.runtime.workspace(&surroundings.workdir).await?;
    let remaining = surroundings.deadline.saturating_duration_since(Instant::now());
    let arguments = ExecArguments {
        program: "/bin/sh".to_owned(),
        args: Some(vec!["-c".to_owned(), BOTH_TO_STDOUT.to_owned(), "sh".to_owned(), command]),
        timeout_ms: Some(milliseconds(timeout.map_or(remaining, |timeout| timeout.min(remaining)))),
        env: Some(StringMap(environment(surroundings))),
        ..Default::default()
    };
    let mut output = Output::default();
    let response = match workspace.start(Call::Exec(arguments)).await {
        Ok(mut running) => {
            while let Some(event) = running.next_event().await {
                if let EventBody::Stdout { data } | EventBody::Stderr { data } = event {
                    output.push(&data);
                }
            }
            running.response().await
        }
        Err(error) => Err(error),
    };
    Ok(outcome(response, output.text(), timeout, &summary))
}

fn timeout(input: Input<'_>) -> Result<Option<Duration>, Outcome> {
    let seconds = input.count("timeout", u64::MAX)?;
    Ok((seconds < u64::MAX).then(|| Duration::from_secs(seconds)))
}

/// The runtime's own limit on a streamed command is a day.
fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis().clamp(1, u128::from(limits::EXEC_STREAM_TIMEOUT_MAX_MS)))
        .unwrap_or(i64::MAX)
}

fn environment(surroundings: &Surroundings) -> std::collections::BTreeMap<String, String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let workdir = text(&surroundings.workdir);
    let own = [("HOME", workdir.clone()), ("TMPDIR", workdir)];
    let passed = PASSED_VARIABLES
        .into_iter()
        .filter_map(|name| Some((name, surroundings.environment.get(name)?.to_owned())));
    let artifacts = surroundings.artifacts.iter().map(|all| (ARTIFACT_DIR_VARIABLE, text(all.directory())));
    let skill = surroundings.skill_directory.iter().map(|directory| (SKILL_DIR_VARIABLE, text(directory)));
    own.into_iter()
        .chain(passed)
        .chain(artifacts)
        .chain(skill)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The start of what a command says. The rest is taken from the pipe too, so that the command is not held up.
#[derive(Default)]
struct Output {
    kept: Vec<u8>,
    is_cut: bool,
}

impl Output {
    fn push(&mut self, data: &[u8]) {
        let room = COMMAND_OUTPUT_MAX_BYTES - self.kept.len();
        self.is_cut |= data.len() > room;
        self.kept.extend_from_slice(&data[..data.len().min(room)]);
    }

    fn text(self) -> String {
        // A cut in the middle of a character leaves no half of it.
        let kept = match self.kept.utf8_chunks().last() {
            Some(last) if self.is_cut && last.invalid().len() < 4 => {
                &self.kept[..self.kept.len() - last.invalid().len()]
            }
            _ => &self.kept,
        };
        let mut text = String::from_utf8_lossy(kept).into_owned();
        if self.is_cut {
            text.push_str("\n... [output truncated, exceeded 100KB]");
        }
        text
    }
}

fn outcome(
    response: Result<AnyResponse, CallError>,
    output: String,
    timeout: Option<Duration>,
    summary: &str,
) -> Outcome {
    let response = match response {
        Ok(response) => response,
        Err(error) => return refusal(&error, summary.to_owned()),
    };
    if response.status == Status::TimedOut {
        let after = timeout.map_or_else(String::new, |timeout| format!(" after {} s", timeout.as_secs()));
        let content = format!("command timed out{after} and was killed\n{output}");
        return Outcome::error(content, format!("{summary} (timed out)"));
    }
    let end = response.output.and_then(|output| serde_json::from_value::<ExecOutput>(output).ok());
    match (end, response.error) {
        (Some(ExecOutput { exit_code: 0, .. }), _) => Outcome::success(output, format!("{summary} (exit 0)")),
        (Some(ExecOutput { signal: Some(signal), .. }), _) => {
            Outcome::error(format!("killed by signal {signal}\n{output}"), format!("{summary} (SIG{signal})"))
        }
        (Some(ExecOutput { exit_code, .. }), _) => Outcome::error(
            format!("exit code {exit_code}\n{output}"),
            format!("{summary} (exit {exit_code})"),
        ),
        (None, Some(error)) if error.code == Code::StartFailed => {
            Outcome::error(format!("the shell could not start: {}", error.message), summary.to_owned())
        }
        (None, Some(error)) => Outcome::error(error.message, summary.to_owned()),
        (None, None) => Outcome::error("axlrd's answer is not understood", summary.to_owned()),
    }
}
