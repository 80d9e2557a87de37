//! Where the command line meets the rooms that reach out: a prepared run, run to its end and told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

use super::models::Configured;
use super::narrator::{Narrator, milliseconds};
use super::run::{Output, Run};
use crate::agent::{self, Answer, Budget, Context, End, Error, Outcome, Totals, Who};
use crate::output;
use crate::output::{
    Artifact, BudgetUse, Console, Envelope, Event, Exit, Failure, Mask, ToolCallDetail, detail_output,
    verbose,
};
use crate::prepare::Prepared;
use crate::prompt::is_refusal;
use crate::runtime::ContextFiles;

/// Runs an agent to its end, and prints what it came to.
pub(super) async fn run(run: Run, mask: Mask) -> Result<Exit, Failure> {
    let Run { prepared, place, output, console, keeps_artifacts, tape, runtime } = run;
    let interrupts = Interrupts::listen()?;
    let resolved = &prepared.resolved;
    let agent = &resolved.agent;
    let has_tools = !agent.tools.is_empty() || !agent.sub_agents.is_empty() || !agent.mcp_servers.is_empty();
    let narrator = Arc::new(Narrator::new(console.clone(), output, resolved.stream, has_tools));
    let who = Who { name: resolved.name.clone(), depth: 0 };
    let models = match Configured::new(place.clone(), tape, mask) {
        Ok(models) => models,
        Err(error) => return Err(report_failure(&Error::from(error), &who, &narrator, &console)),
    };
    let start = Instant::now();
    let context = Arc::new(Context {
        place,
        workdirs: Box::new(ContextFiles(runtime.clone())),
        runtime: runtime.clone(),
        models: Box::new(models),
        observer: narrator.clone(),
        budget: Budget::new(resolved.budget_max_tokens),
        totals: Totals::default(),
        timeout: resolved.timeout,
        deadline: deadline(resolved.timeout),
        max_depth: agent.sub_agents_config.effective_max_depth(),
        sub_agent_timeout: agent.sub_agents_config.timeout,
        keeps_artifacts,
    });
    let Outcome { answer, artifacts } =
        agent::run(prepared.clone(), context.clone(), interrupts.interrupted()).await;
    narrator.rest();
    let duration_ms = milliseconds(start.elapsed());
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            console.explain(verbose::duration(duration_ms));
            return Err(report_failure(&error, &who, &narrator, &console));
        }
    };
    let artifacts =
        artifacts.into_iter().map(|file| Artifact { agent: file.agent, path: file.path, size: file.size });
    let finished = Finished {
        prepared: &prepared,
        answer: &answer,
        context: &context,
        artifacts: artifacts.collect(),
        duration_ms,
        has_tools,
    };
    finished.print(&who, &narrator, output)?;
    finished.remember(&console);
    finished.explain(&console);
    finished.exit(&console)
}

/// The end of a run that begins now. A timeout that no clock counts to is a year, which no run lasts.
fn deadline(timeout: Duration) -> tokio::time::Instant {
    let now = tokio::time::Instant::now();
    now.checked_add(timeout).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 60 * 60))
}

/// A failure on the way, as stderr and the last line of `--events` say it.
fn report_failure(error: &Error, who: &Who, narrator: &Narrator, console: &Console) -> Failure {
    let failure = error.failure();
    let message = console.masked(&failure.message);
    let (category, status) = match error {
        Error::Provider(error) => (Some(error.category.as_str()), error.status),
        _ => (None, None),
    };
    narrator.rest();
    narrator.event(who, Event::Error { message: &message, category, status, exit_code: failure.exit.code() });
    failure
}

/// A run that has an answer.
struct Finished<'a> {
    prepared: &'a Prepared,
    answer: &'a Answer,
    context: &'a Context,
    artifacts: Vec<Artifact>,
    duration_ms: u64,
    has_tools: bool,
}

impl Finished<'_> {
    fn print(&self, who: &Who, narrator: &Narrator, output: Output) -> Result<(), Failure> {
        match output {
            Output::Text if narrator.has_shown_text() => {}
            Output::Text => narrator.write(self.answer.text.as_bytes()),
            Output::Json => narrator.write(format!("{}\n", self.line()?).as_bytes()),
            Output::Events => {
                let exit_code = self.exit_code().code();
                narrator.event(who, Event::Result { result: &self.envelope(), exit_code });
            }
        }
        narrator.take_fault().map_or(Ok(()), |error| Err(super::stdout_fault(error)))
    }

    fn line(&self) -> Result<String, Failure> {
        self.envelope()
            .to_line()
            .map_err(|error| Failure::runtime(format_args!("no JSON can be made: {error}")))
    }

    fn envelope(&self) -> Envelope {
        let Answer { text, model, stop_reason, is_refusal: is_marked, usage, retry_attempts, calls, .. } =
            self.answer;
        let envelope = Envelope {
            artifacts: self.artifacts.clone(),
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            content: text.clone(),
            cost: usage.cost,
            duration_ms: self.duration_ms,
            input_tokens: usage.input_tokens,
            model: model.clone().unwrap_or_else(|| self.prepared.resolved.model.model.clone()),
            output_tokens: usage.output_tokens,
            refused: *is_marked || is_refusal(text),
            retry_attempts: *retry_attempts,
            stop_reason: stop_reason.clone(),
            tool_call_details: calls.iter().map(detail).collect(),
            tool_calls: calls.len() as u64,
            ..Envelope::default()
        };
        let envelope = envelope.with_budget(self.budget());
        if !calls.iter().any(|call| call.name == agent::CALL_AGENT) {
            return envelope;
        }
        let totals = &self.context.totals;
        envelope.with_totals(output::Totals {
            input_tokens: totals.input_tokens(),
            output_tokens: totals.output_tokens(),
            retry_attempts: totals.retry_attempts(),
        })
    }

    fn budget(&self) -> Option<BudgetUse> {
        let budget = &self.context.budget;
        budget.max().map(|max_tokens| BudgetUse { max_tokens, used_tokens: budget.used() })
    }

    /// What a run that ran out of tokens or turns came to is no result to build on.
    fn remember(&self, console: &Console) {
        if self.exit_code() != Exit::Success {
            return;
        }
        if let Some(remembered) = &self.prepared.memory
            && let Err(error) = remembered.memory.append(&self.prepared.user.text, &self.answer.text)
        {
            console.warn(error);
        }
    }

    fn explain(&self, console: &Console) {
        let after = verbose::After {
            duration_ms: self.duration_ms,
            usage: &self.answer.usage,
            has_tools: self.has_tools,
            budget: self.budget(),
            stop_reason: &self.answer.stop_reason,
        };
        after.lines().iter().for_each(|line| console.explain(line));
    }

    fn exit_code(&self) -> Exit {
        match self.answer.end {
            _ if self.context.budget.is_exceeded() => Exit::Budget,
            End::Turns => Exit::Runtime,
            End::Done | End::Budget => Exit::Success,
        }
    }

    fn exit(&self, console: &Console) -> Result<Exit, Failure> {
        match (self.exit_code(), self.budget()) {
            (Exit::Budget, Some(BudgetUse { max_tokens, used_tokens })) => {
                console.tell(format_args!("budget exceeded: used {used_tokens} of {max_tokens} tokens"));
                Ok(Exit::Budget)
            }
            (Exit::Runtime, _) => {
                let max = self.prepared.resolved.max_turns;
                Err(Error::Turns { is_sub_agent: false, max }.failure())
            }
            (exit, _) => Ok(exit),
        }
    }
}

fn detail(call: &agent::CallRecord) -> ToolCallDetail {
    ToolCallDetail {
        duration_ms: milliseconds(call.duration),
        input: call.input.clone(),
        is_error: call.is_error,
        name: call.name.clone(),
        output: detail_output(&call.output),
        turn: call.turn,
    }
}

/// Ctrl-C, and the polite request to end. Both end a run cleanly.
struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Interrupts {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::runtime(format_args!("signals can't be heard: {error}")))
        };
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn interrupted(mut self) -> Error {
        tokio::select! {
            _ = self.interrupt.recv() => Error::Interrupted,
            _ = self.terminate.recv() => Error::Terminated,
        }
    }
}
