//! `axe agents show`: an agent's settings, a label and a value a line.

use crate::config::Agent;

/// Only what is set is shown, but for the name and the model.
pub(super) fn text(agent: &Agent) -> String {
    let mut lines = Lines(String::new());
    lines.always("Name:", &agent.name);
    lines.text("Description:", &agent.description);
    lines.always("Model:", &agent.model);
    lines.text("System Prompt:", &agent.system_prompt);
    lines.text("Skill:", &agent.skill);
    lines.text("Files:", &agent.files.join(", "));
    lines.text("Workdir:", &agent.workdir);
    sub_agents(agent, &mut lines);
    let memory = &agent.memory;
    lines.flag("Memory Enabled:", memory.is_enabled);
    lines.text("Memory Path:", &memory.path);
    lines.number("Memory LastN:", memory.last_n);
    lines.number("Memory MaxEntries:", memory.max_entries);
    lines.number("Temperature:", agent.params.temperature);
    lines.number("Max Tokens:", agent.params.max_tokens);
    lines.text("Response Format:", agent.params.response_format.as_ref().map_or("", |f| f.as_str()));
    lines.number("Run Timeout:", agent.timeout.map(|timeout| timeout.as_secs()));
    lines.flag("Stream:", agent.stream);
    let tools: Vec<_> = agent.tools.iter().map(|tool| tool.as_str()).collect();
    lines.text("Tools:", &tools.join(", "));
    lines.text("Allowed Hosts:", &agent.allowed_hosts.join(", "));
    for server in &agent.mcp_servers {
        let (transport, place) = (server.transport.as_str(), server.transport.place());
        lines.always("MCP Server:", &format!("{}: {place} ({transport})", server.name));
    }
    if agent.retry.max_retries > 0 {
        lines.number("Max Retries:", Some(agent.retry.max_retries));
        lines.always("Backoff:", agent.retry.backoff.as_str());
        lines.number("Initial Delay:", Some(format!("{}ms", agent.retry.initial_delay.as_millis())));
        lines.number("Max Delay:", Some(format!("{}ms", agent.retry.max_delay.as_millis())));
    }
    lines.number("Budget:", agent.budget_max_tokens);
    lines.flag("Artifacts:", agent.artifacts.is_enabled);
    lines.text("Artifacts Dir:", &agent.artifacts.dir);
    lines.flag("Default Write:", agent.artifacts.is_default_write);
    lines.0
}

fn sub_agents(agent: &Agent, lines: &mut Lines) {
    if agent.sub_agents.is_empty() {
        return;
    }
    let config = &agent.sub_agents_config;
    lines.always("Sub-Agents:", &agent.sub_agents.join(", "));
    lines.number("Max Depth:", Some(config.max_depth.unwrap_or(0)));
    lines.number("Parallel:", Some(config.runs_in_parallel()));
    lines.number("Timeout:", Some(config.timeout.unwrap_or_default().as_secs()));
}

struct Lines(String);

impl Lines {
    fn always(&mut self, label: &str, value: &str) {
        self.0 += &format!("{label:<16}{value}\n");
    }

    fn text(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.always(label, value);
        }
    }

    fn flag(&mut self, label: &str, is_set: bool) {
        if is_set {
            self.always(label, "true");
        }
    }

    fn number(&mut self, label: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.always(label, &value.to_string());
        }
    }
}
