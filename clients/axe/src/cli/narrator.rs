//! A run told to people and programs while it goes on.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::run::Output;
use super::screen::Screen;
use crate::agent::{Observer, Step, Who};
use crate::output::{Console, Event, EventLine, printable, verbose};
use crate::provider::Arguments;

/// Hears of a run. stdout gets the text of an agent without tools as it is written, or the lines of `--events`; stderr gets
/// diagnostics, and on a terminal a spinner and the text of an agent with tools.
pub(super) struct Narrator {
    console: Console,
    output: Output,
    text_to: TextTo,
    /// Whether that is where stdout goes too: a terminal that shows both.
    is_shown_for_stdout: bool,
    screen: Arc<Screen>,
    /// What stdout failed with.
    fault: Mutex<Option<io::Error>>,
}

/// Where the text of the agent at the top goes as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextTo {
    Nowhere,
    Stdout,
    /// A terminal.
    Stderr,
}

impl Narrator {
    pub(super) fn new(console: Console, output: Output, is_streamed: bool, has_tools: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let text_to = match output {
            Output::Text if is_streamed && !has_tools => TextTo::Stdout,
            Output::Text | Output::Json if is_streamed && is_terminal => TextTo::Stderr,
            Output::Text | Output::Json | Output::Events => TextTo::Nowhere,
        };
        // Diagnostics say more than a spinner, and text on stdout moves the cursor that the spinner needs.
        let has_spinner = is_terminal && !console.is_verbose() && text_to != TextTo::Stdout;
        let is_shown_for_stdout =
            output == Output::Text && text_to == TextTo::Stderr && io::stdout().is_terminal();
        Self {
            console,
            output,
            text_to,
            is_shown_for_stdout,
            screen: Screen::new(has_spinner),
            fault: Mutex::default(),
        }
    }

    /// Whether whoever reads stdout has seen the text of the agent at the top already.
    pub(super) fn has_shown_text(&self) -> bool {
        self.text_to == TextTo::Stdout || self.is_shown_for_stdout
    }

    /// Ends the spinner, so that others may write.
    pub(super) fn rest(&self) {
        self.screen.rest();
    }

    /// One line of `--events`. None else.
    pub(super) fn event(&self, who: &Who, event: Event<'_>) {
        if self.output != Output::Events {
            return;
        }
        let line = EventLine { agent: &who.name, depth: who.depth, event };
        match line.to_line() {
            Ok(line) => self.write(format!("{line}\n").as_bytes()),
            Err(error) => *self.fault() = Some(io::Error::other(error)),
        }
    }

    /// Writes to stdout, until it takes no more.
    pub(super) fn write(&self, bytes: &[u8]) {
        let mut fault = self.fault();
        if fault.is_some() {
            return;
        }
        let mut stdout = io::stdout().lock();
        *fault = stdout.write_all(bytes).and_then(|()| stdout.flush()).err();
    }

    /// What stdout failed with.
    pub(super) fn take_fault(&self) -> Option<io::Error> {
        self.fault().take()
    }

    fn fault(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn explain(&self, line: &str) {
        if self.console.is_verbose() {
            self.tell_line(line);
        }
    }

    fn tell_line(&self, line: &str) {
        self.screen.around(|| self.console.tell(line));
    }

    fn text(&self, who: &Who, text: &str) {
        match self.text_to {
            TextTo::Stdout if who.depth == 0 => self.write(text.as_bytes()),
            TextTo::Stderr if who.depth == 0 => self.screen.text(text),
            TextTo::Stdout | TextTo::Stderr | TextTo::Nowhere => {}
        }
    }

    /// A line about an agent's own turns; those of sub-agents name it.
    fn explain_turn(&self, who: &Who, line: String) {
        match who.depth {
            0 => self.explain(&line),
            _ => self.explain(&format!("[{}] {line}", who.name)),
        }
    }
}

impl Observer for Narrator {
    fn tell(&self, who: &Who, step: &Step<'_>) {
        match *step {
            Step::Started { model } => self.event(who, Event::Start { model }),
            Step::Asking { turn, messages, pending_calls, is_streamed } => {
                self.explain_turn(
                    who,
                    match is_streamed {
                        true => verbose::streaming(turn + 1, messages),
                        false => verbose::sending(turn + 1, messages, pending_calls),
                    },
                );
                self.screen.show(status(who, turn, "asking the model"));
                self.event(who, Event::TurnStart { turn, messages });
            }
            Step::Text { turn, text } => {
                self.text(who, text);
                self.event(who, Event::Text { turn, text });
            }
            Step::Answered { turn, reply, is_streamed } => {
                self.screen.end_text();
                let calls = reply.calls.len();
                self.explain_turn(
                    who,
                    match is_streamed {
                        true => verbose::stream_complete(turn + 1, &reply.stop_reason, calls),
                        false => verbose::received(turn + 1, &reply.stop_reason, calls),
                    },
                );
                self.event(
                    who,
                    Event::TurnEnd {
                        turn,
                        stop_reason: &reply.stop_reason,
                        tool_calls: calls,
                        input_tokens: reply.usage.input_tokens,
                        output_tokens: reply.usage.output_tokens,
                        cache_read_tokens: reply.usage.cache_read_tokens,
                        cache_write_tokens: reply.usage.cache_write_tokens,
                    },
                );
            }
            Step::Calling { turn, call } => {
                self.screen.show(status(who, turn, &call.name));
                if self.output == Output::Events {
                    let input = input(&call.arguments);
                    self.event(who, Event::ToolCall { turn, id: &call.id, name: &call.name, input: &input });
                }
            }
            Step::Called { turn, call, outcome, duration } => {
                self.explain_turn(who, verbose::tool(&call.name, &outcome.summary, outcome.is_error));
                self.event(
                    who,
                    Event::ToolResult {
                        turn,
                        id: &call.id,
                        name: &call.name,
                        is_error: outcome.is_error,
                        output: &outcome.content,
                        duration_ms: milliseconds(duration),
                    },
                );
            }
            Step::Retrying { attempt } => {
                self.explain(&attempt.to_string());
                self.event(
                    who,
                    Event::Retry {
                        attempt: attempt.number,
                        max_attempts: attempt.of,
                        category: attempt.after.as_str(),
                        delay_ms: milliseconds(attempt.wait),
                    },
                );
            }
            Step::Delegating { agent, depth, task } => {
                self.explain(&verbose::calling_sub_agent(agent, depth, task));
            }
            Step::Delegated { agent, result, duration } => {
                self.explain(&verbose::sub_agent_done(agent, result, milliseconds(duration)));
            }
            Step::Note { line } => self.explain(line),
            Step::Told { line } => {
                self.tell_line(line);
                self.event(who, Event::Warning { message: line });
            }
        }
    }
}

fn status(who: &Who, turn: u32, what: &str) -> String {
    // A tool's name is the model's.
    let what = printable(what);
    match who.depth {
        0 => format!("turn {}: {what}", turn + 1),
        _ => format!("{}, turn {}: {what}", who.name, turn + 1),
    }
}

/// What the model sent; what is no object is shown as the text it is.
fn input(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Object(members) => Value::Object(members.clone()),
        Arguments::Malformed(text) if text.is_empty() => Value::Object(Map::new()),
        Arguments::Malformed(text) => Value::String(text.clone()),
    }
}

pub(super) fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
