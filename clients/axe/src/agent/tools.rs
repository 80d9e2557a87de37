//! All that one agent may call: built-in tools, other agents, MCP servers.

use serde_json::{Map, Value};

use super::Error;
use super::sub_agents::Delegation;
use super::{Observer, Step, Who};
use crate::mcp::Servers;
use crate::provider::ToolSpec;
use crate::tools::{Lane, Outcome, Toolbox};

/// The tool that calls other agents.
pub const CALL_AGENT: &str = "call_agent";

pub(super) struct Tools {
    pub(super) toolbox: Toolbox,
    pub(super) sub_agents: Delegation,
    pub(super) servers: Servers,
}

impl Tools {
    /// What the model is told: of built-in tools in the file's order, then of other agents, then of MCP tools. A sub-agent
    /// is told of other agents first.
    pub(super) fn specs(&self, who: &Who) -> Vec<ToolSpec> {
        let mut specs = self.toolbox.specs();
        if let Some(spec) = self.sub_agents.spec() {
            let position = if who.depth == 0 { specs.len() } else { 0 };
            specs.insert(position, spec);
        }
        specs.extend_from_slice(self.servers.specs());
        specs
    }

    pub(super) fn lane(&self, name: &str, arguments: &Map<String, Value>) -> Option<Lane> {
        self.toolbox.lane(name, arguments)
    }

    /// Runs a call.
    ///
    /// # Errors
    /// The runtime cannot be asked at all. Everything else is an [`Outcome`] for the model.
    pub(super) async fn call(
        &self,
        who: &Who,
        observer: &dyn Observer,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Outcome, Error> {
        if name == CALL_AGENT
            && let Some(outcome) = self.sub_agents.call(arguments).await
        {
            return Ok(outcome);
        }
        if !self.toolbox.has(name)
            && let Some(server) = self.servers.server_of(name)
        {
            let line = format!("[mcp] Routing tool {name:?} to server {server:?}");
            observer.tell(who, &Step::Note { line: &line });
            if let Some(outcome) = self.servers.call(name, arguments).await {
                return Ok(outcome);
            }
        }
        // It knows how to refuse a name that it does not have.
        Ok(self.toolbox.call(name, arguments).await?)
    }
}
