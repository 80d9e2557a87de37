//! The lines of `--verbose`. None shows a key, a header or the query of a URL.

use std::fmt::Write as _;
use std::path::Path;

use super::BudgetUse;
use crate::config::{Params, Resolved};
use crate::limits;
use crate::prompt::UserMessage;
use crate::provider::Usage;
use crate::text::{cut, one_line};

/// What a run starts from.
pub fn before(resolved: &Resolved, files: usize, user: &UserMessage) -> Vec<String> {
    let skill = resolved.skill.as_ref().map_or("(none)".to_owned(), |skill| skill.path.display().to_string());
    [
        ("Model:", resolved.model.to_string()),
        ("Workdir:", resolved.workdir.display().to_string()),
        ("Skill:", skill),
        ("Files:", format!("{files} file(s)")),
        ("Prompt:", user.asked.as_str().to_owned()),
        ("Timeout:", format!("{}s", resolved.timeout.as_secs())),
        ("Params:", params(&resolved.agent.params)),
    ]
    .map(|(label, value)| labelled(label, &value))
    .into()
}

/// What was loaded of a memory; `entries` is None when there is no file.
pub fn memory(entries: Option<usize>, path: &Path) -> String {
    let value = match entries {
        Some(entries) => format!("{entries} entries loaded from {}", path.display()),
        None => "0 entries (no memory file)".to_owned(),
    };
    labelled("Memory:", &value)
}

/// The parameters of a request, as the dry run shows them too.
pub fn params(params: &Params) -> String {
    let mut text = format!(
        "temperature={}, max_tokens={}",
        params.temperature.unwrap_or(0.0),
        params.max_tokens.unwrap_or(0)
    );
    if let Some(format) = &params.response_format {
        let _ = write!(text, ", response_format={}", format.as_str());
    }
    text
}

/// A request goes out. Turns count from 1 here.
pub fn sending(turn: u32, messages: usize, pending_calls: usize) -> String {
    format!("[turn {turn}] Sending request ({messages} messages, {pending_calls} tool calls pending)")
}

/// A request whose reply is streamed goes out.
pub fn streaming(turn: u32, messages: usize) -> String {
    format!("[turn {turn}] Streaming request ({messages} messages)")
}

/// A reply is there.
pub fn received(turn: u32, stop_reason: &str, calls: usize) -> String {
    format!("[turn {turn}] Received response: {stop_reason} ({calls} tool calls)")
}

/// A streamed reply is complete.
pub fn stream_complete(turn: u32, stop_reason: &str, calls: usize) -> String {
    format!("[turn {turn}] Stream complete: {stop_reason} ({calls} tool calls)")
}

/// A tool is done.
pub fn tool(name: &str, summary: &str, is_error: bool) -> String {
    let outcome = if is_error { "error" } else { "success" };
    format!("[tool] {name}: {summary} ({outcome})")
}

/// A sub-agent begins.
pub fn calling_sub_agent(name: &str, depth: u32, task: &str) -> String {
    format!("[sub-agent] Calling {name:?} (depth {depth}) with task: {}", preview(task))
}

/// A sub-agent is done: with so many characters, or for what reason without.
pub fn sub_agent_done(name: &str, result: Result<usize, &str>, duration_ms: u64) -> String {
    match result {
        Ok(characters) => {
            format!("[sub-agent] {name:?} completed in {duration_ms}ms ({characters} chars returned)")
        }
        Err(reason) => format!("[sub-agent] {name:?} failed: {}", one_line(reason)),
    }
}

/// A request is sent again.
pub fn retrying(attempt: u32, max_attempts: u32, category: &str, delay_ms: u64) -> String {
    format!("[retry] Attempt {attempt}/{max_attempts} after {category}, waiting {delay_ms}ms")
}

/// The start of a text, on one line; three dots stand for its rest.
pub fn preview(text: &str) -> String {
    let line = one_line(text);
    let shown = cut(&line, limits::PREVIEW_MAX_BYTES);
    let dots = if shown.len() < line.len() { "..." } else { "" };
    format!("{shown}{dots}")
}

/// How long a run took: all that is said after a provider's failure.
pub fn duration(duration_ms: u64) -> String {
    labelled("Duration:", &format!("{duration_ms}ms"))
}

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct After<'a> {
    /// Of the whole run.
    pub duration_ms: u64,
    /// Of the top agent's turns.
    pub usage: &'a Usage,
    /// Whether the agent has tools, and so perhaps several turns.
    pub has_tools: bool,
    /// Only with a budget.
    pub budget: Option<BudgetUse>,
    /// The provider's own word of the last turn.
    pub stop_reason: &'a str,
}

impl After<'_> {
    /// The lines.
    pub fn lines(&self) -> Vec<String> {
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = self.usage;
        let sums = match (self.budget, self.has_tools) {
            (Some(BudgetUse { max_tokens, used_tokens }), _) => {
                format!(" (cumulative, budget: {used_tokens}/{max_tokens})")
            }
            (None, true) => " (cumulative)".to_owned(),
            (None, false) => String::new(),
        };
        let mut lines = vec![
            duration(self.duration_ms),
            labelled("Tokens:", &format!("{input_tokens} input, {output_tokens} output{sums}")),
        ];
        if *cache_read_tokens > 0 || *cache_write_tokens > 0 {
            let value = format!("{cache_read_tokens} read, {cache_write_tokens} written");
            lines.push(labelled("Cache:", &value));
        }
        lines.push(labelled("Stop:", self.stop_reason));
        lines
    }
}

fn labelled(label: &str, value: &str) -> String {
    format!("{label:<10}{value}")
}
