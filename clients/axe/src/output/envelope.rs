//! The JSON of `--json`.

use serde::Serialize;
use serde_json::Value;

use crate::limits;
use crate::text::cut;

const TRUNCATED: &str = "... (truncated)";

/// The result of a run. Members stand, and are written, in alphabetical order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Envelope {
    /// What was written to the artifact directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Whether the budget was used up; only with a budget, as the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_exceeded: Option<bool>,
    /// The budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_max_tokens: Option<u64>,
    /// What was used of it, sub-agents included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_used_tokens: Option<u64>,
    /// Prompt tokens that came from a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// The provider's word on its cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_status: Option<String>,
    /// Prompt tokens that went into a cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// The final text.
    pub content: String,
    /// US dollars, where the provider says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Of the whole run.
    pub duration_ms: u64,
    /// Of the top agent's turns.
    pub input_tokens: u64,
    /// As the provider names it, or as it was asked for.
    pub model: String,
    /// Of the top agent's turns.
    pub output_tokens: u64,
    /// Whether the final text is a refusal.
    pub refused: bool,
    /// Of the top agent.
    pub retry_attempts: u64,
    /// The provider's own word of the last turn.
    pub stop_reason: String,
    /// The top agent's calls, in order.
    pub tool_call_details: Vec<ToolCallDetail>,
    /// How many those are.
    pub tool_calls: u64,
    /// Sub-agents included; there when one was called, as the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_input_tokens: Option<u64>,
    /// Sub-agents included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_output_tokens: Option<u64>,
    /// Sub-agents included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_retry_attempts: Option<u64>,
}

impl Envelope {
    /// The same with what is to be said of a budget.
    #[must_use]
    pub fn with_budget(mut self, budget: Option<BudgetUse>) -> Self {
        self.budget_exceeded = budget.map(BudgetUse::is_exceeded);
        self.budget_max_tokens = budget.map(|budget| budget.max_tokens);
        self.budget_used_tokens = budget.map(|budget| budget.used_tokens);
        self
    }

    /// The same with the sums over all agents.
    #[must_use]
    pub fn with_totals(mut self, totals: Totals) -> Self {
        self.total_input_tokens = Some(totals.input_tokens);
        self.total_output_tokens = Some(totals.output_tokens);
        self.total_retry_attempts = Some(totals.retry_attempts);
        self
    }

    /// One line of JSON, without its newline.
    ///
    /// # Errors
    /// A number is none: a cost that is not finite.
    pub fn to_line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// A budget and its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetUse {
    /// Tokens that may be used.
    pub max_tokens: u64,
    /// Tokens that were.
    pub used_tokens: u64,
}

impl BudgetUse {
    /// Meeting the limit exceeds it: no further call could be paid for.
    pub fn is_exceeded(self) -> bool {
        self.used_tokens >= self.max_tokens
    }
}

/// Sums over the top agent and all sub-agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of every reply.
    pub input_tokens: u64,
    /// Of every reply.
    pub output_tokens: u64,
    /// Of every request.
    pub retry_attempts: u64,
}

/// One file in the artifact directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Who wrote it last.
    pub agent: String,
    /// Relative to the artifact directory.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCallDetail {
    /// How long it took.
    pub duration_ms: u64,
    /// As the model sent it.
    pub input: Value,
    /// Whether the result is an error.
    pub is_error: bool,
    /// The tool.
    pub name: String,
    /// The start of the result; see [`detail_output`].
    pub output: String,
    /// From 0.
    pub turn: u32,
}

/// What the envelope shows of a tool's output.
pub fn detail_output(output: &str) -> String {
    let shown = cut(output, limits::DETAIL_OUTPUT_MAX_BYTES);
    let mark = if shown.len() < output.len() { TRUNCATED } else { "" };
    format!("{shown}{mark}")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
