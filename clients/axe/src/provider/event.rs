//! The events of a streamed reply.

use super::Usage;

/// One step of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// More text.
    Text(String),
    /// A call begins.
    ToolStart {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The first piece of its arguments' JSON; may be empty.
        input: String,
    },
    /// More of a call's arguments.
    ToolDelta {
        /// The call's id.
        id: String,
        /// A piece of JSON text.
        input: String,
    },
    /// A call is complete.
    ToolEnd {
        /// The call's id.
        id: String,
    },
    /// The reply is complete.
    Done {
        /// The provider's own word.
        stop_reason: String,
        /// What it cost.
        usage: Usage,
        /// Whether the provider itself marks the reply as a refusal.
        is_refusal: bool,
    },
}
