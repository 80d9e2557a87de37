//! The lines of `--events`: what happens in a run, for programs, as it happens.

use serde::Serialize;
use serde_json::Value;

use super::Envelope;

/// One line: who, how deep, and what.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventLine<'a> {
    /// The agent.
    pub agent: &'a str,
    /// 0 for the agent that was started, 1 for those it calls, and so on.
    pub depth: u32,
    /// What happened.
    #[serde(flatten)]
    pub event: Event<'a>,
}

impl EventLine<'_> {
    /// One line of JSON, without its newline.
    ///
    /// # Errors
    /// A number is none: a cost that is not finite.
    pub fn to_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// What happened; the member `type` tells which. Turns count from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event<'a> {
    /// An agent begins.
    Start {
        /// `provider/model-name`.
        model: &'a str,
    },
    /// A request goes to the model.
    TurnStart {
        /// Which.
        turn: u32,
        /// Messages in it.
        messages: usize,
    },
    /// The model wrote this much more.
    Text {
        /// Which turn.
        turn: u32,
        /// A piece of text.
        text: &'a str,
    },
    /// The model asks for a call.
    ToolCall {
        /// Which turn.
        turn: u32,
        /// The call.
        id: &'a str,
        /// The tool.
        name: &'a str,
        /// As the model sent it.
        input: &'a Value,
    },
    /// A call brought something.
    ToolResult {
        /// Which turn.
        turn: u32,
        /// The call.
        id: &'a str,
        /// The tool.
        name: &'a str,
        /// Whether it is an error.
        is_error: bool,
        /// As the model gets it.
        output: &'a str,
        /// How long it took.
        duration_ms: u64,
    },
    /// The model's turn is over.
    TurnEnd {
        /// Which.
        turn: u32,
        /// The provider's own word.
        stop_reason: &'a str,
        /// Calls that it asks for.
        tool_calls: usize,
        /// Tokens of this turn, as are the next three.
        input_tokens: u64,
        /// Of the reply.
        output_tokens: u64,
        /// From a cache.
        cache_read_tokens: u64,
        /// Into a cache.
        cache_write_tokens: u64,
    },
    /// A request is sent again.
    Retry {
        /// From 1.
        attempt: u32,
        /// Of how many.
        max_attempts: u32,
        /// What failed.
        category: &'a str,
        /// The wait before.
        delay_ms: u64,
    },
    /// Something that the user should know.
    Warning {
        /// One line.
        message: &'a str,
    },
    /// The run failed; the last line.
    Error {
        /// One line, as on stderr.
        message: &'a str,
        /// A provider's failure has one.
        #[serde(skip_serializing_if = "Option::is_none")]
        category: Option<&'a str>,
        /// The HTTP status, when there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The process's.
        exit_code: u8,
    },
    /// The run's result, also when the budget was exceeded; the last line.
    Result {
        /// As `--json` prints it.
        result: &'a Envelope,
        /// The process's.
        exit_code: u8,
    },
}
