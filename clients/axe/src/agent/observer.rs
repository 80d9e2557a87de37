//! What is told of a run while it goes on.

use std::time::Duration;

use crate::provider::{Reply, ToolCall};
use crate::retry::Attempt;
use crate::tools::Outcome;

/// Which agent something is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The name it was called by.
    pub name: String,
    /// 0 for the agent that was started, 1 for those it calls, and so on.
    pub depth: u32,
}

/// Hears of a run, from all its agents. It must not wait for long: the run waits with it.
pub trait Observer: Send + Sync {
    /// Hears of one step.
    fn tell(&self, who: &Who, step: &Step<'_>);
}

/// What happened. Turns count from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'a> {
    /// An agent begins.
    Started {
        /// `provider/model-name`.
        model: &'a str,
    },
    /// A request goes to the model.
    Asking {
        /// Which turn.
        turn: u32,
        /// Messages in it.
        messages: usize,
        /// Results of the turn before that are among them.
        pending_calls: usize,
        /// Whether the reply is streamed.
        is_streamed: bool,
    },
    /// The model wrote this much more; all at once when the reply is not streamed.
    Text {
        /// Which turn.
        turn: u32,
        /// Never empty.
        text: &'a str,
    },
    /// A reply is there.
    Answered {
        /// Which turn.
        turn: u32,
        /// All of it.
        reply: &'a Reply,
        /// Whether it was streamed.
        is_streamed: bool,
    },
    /// A call begins.
    Calling {
        /// Which turn.
        turn: u32,
        /// The call.
        call: &'a ToolCall,
    },
    /// A call is done.
    Called {
        /// Which turn.
        turn: u32,
        /// The call.
        call: &'a ToolCall,
        /// What it brought.
        outcome: &'a Outcome,
        /// How long it took.
        duration: Duration,
    },
    /// A request is sent again.
    Retrying {
        /// Which, why and when.
        attempt: Attempt,
    },
    /// A sub-agent is called, by the agent that this is told of.
    Delegating {
        /// Its name.
        agent: &'a str,
        /// Its depth.
        depth: u32,
        /// Its task.
        task: &'a str,
    },
    /// A sub-agent is done.
    Delegated {
        /// Its name.
        agent: &'a str,
        /// Characters of its answer, or why there is none.
        result: Result<usize, &'a str>,
        /// How long it took.
        duration: Duration,
    },
    /// Something for diagnostics.
    Note {
        /// One line.
        line: &'a str,
    },
    /// Something that the user always hears.
    Told {
        /// One line.
        line: &'a str,
    },
}
