//! The text of `--dry-run`.

use std::fmt::{self, Display, Formatter};

use super::verbose::params;
use crate::config::Resolved;
use crate::prompt::{Asked, ContextFile, UserMessage};

const NONE: &str = "(none)";

/// Everything that would be sent, as a text for people. No key is needed for it and nothing is called.
#[derive(Debug, Clone, Copy)]
pub struct DryRun<'a> {
    /// The agent.
    pub resolved: &'a Resolved,
    /// The assembled prompt.
    pub system_prompt: &'a str,
    /// Its context.
    pub files: &'a [ContextFile],
    /// What it is asked.
    pub user: &'a UserMessage,
    /// What it remembers.
    pub memory: &'a str,
}

impl Display for DryRun<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Resolved { agent, model, workdir, skill, timeout, budget_max_tokens, stream, .. } = self.resolved;
        writeln!(f, "=== Dry Run ===\n")?;
        writeln!(f, "Model:    {model}")?;
        writeln!(f, "Workdir:  {}", workdir.display())?;
        writeln!(f, "Timeout:  {}s", timeout.as_secs())?;
        writeln!(f, "Params:   {}", params(&agent.params))?;
        writeln!(f, "Budget:   {} tokens (0 = unlimited)", budget_max_tokens.unwrap_or(0))?;
        writeln!(f, "Stream:   {}", yes(*stream))?;

        section(f, "System Prompt", self.system_prompt)?;
        section(f, "Skill", skill.as_ref().map_or(NONE, |skill| &skill.text))?;
        let paths: Vec<_> = self.files.iter().map(|file| file.path.as_str()).collect();
        section(f, &format!("Files ({})", paths.len()), or_none(&paths.join("\n")))?;
        let is_default = self.user.asked == Asked::Default;
        section(f, "User Message", if is_default { "(default)" } else { &self.user.text })?;
        if agent.memory.is_enabled {
            section(f, "Memory", or_none(self.memory))?;
        }
        let tools: Vec<_> = agent.tools.iter().map(|tool| tool.as_str()).collect();
        section(f, "Tools", or_none(&tools.join(", ")))?;
        let servers = agent.mcp_servers.iter().map(|server| {
            format!("{}: {} ({})", server.name, server.transport.place(), server.transport.as_str())
        });
        section(f, "MCP Servers", or_none(&servers.collect::<Vec<_>>().join("\n")))?;
        section(f, "Sub-Agents", or_none(&agent.sub_agents.join(", ")))?;
        if agent.sub_agents.is_empty() {
            return Ok(());
        }
        let config = &agent.sub_agents_config;
        writeln!(f, "Max Depth: {}", config.effective_max_depth())?;
        writeln!(f, "Parallel:  {}", yes(config.runs_in_parallel()))?;
        writeln!(f, "Timeout:   {}s", config.timeout.unwrap_or_default().as_secs())
    }
}

fn section(f: &mut Formatter<'_>, heading: &str, text: &str) -> fmt::Result {
    writeln!(f, "\n--- {heading} ---\n{text}")
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { NONE } else { text }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}
