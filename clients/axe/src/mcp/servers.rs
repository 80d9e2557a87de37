//! All servers of an agent.

use std::collections::HashMap;

use futures_util::future::join_all;
use serde_json::{Map, Value};

use super::Error;
use super::session::{Session, schema};
use crate::config::{Environment, McpServer};
use crate::provider::ToolSpec;
use crate::tools::Outcome;

/// The open sessions, and which tool is where. Dropped, programs of stdio servers are killed.
#[derive(Default)]
pub struct Servers {
    sessions: Vec<Session>,
    routes: HashMap<String, usize>,
    specs: Vec<ToolSpec>,
}

impl Servers {
    /// Connects to each server in order. Tools whose names `is_taken` says are the agent's own are left out; `note` gets
    /// lines for diagnostics.
    ///
    /// # Errors
    /// See [`Error`]. What was opened before is closed by then.
    pub async fn connect(
        servers: &[McpServer],
        environment: &Environment,
        is_taken: impl Fn(&str) -> bool,
        note: impl Fn(String),
    ) -> Result<Self, Error> {
        let mut all = Self::default();
        for server in servers {
            let place = server.transport.place();
            note(format!("[mcp] Connecting to {:?} at {place} ({})", server.name, server.transport.as_str()));
            match all.add(server, environment, &is_taken, &note).await {
                Ok(()) => {}
                Err(error) => {
                    all.close().await;
                    return Err(error);
                }
            }
        }
        Ok(all)
    }

    async fn add(
        &mut self,
        server: &McpServer,
        environment: &Environment,
        is_taken: impl Fn(&str) -> bool,
        note: impl Fn(String),
    ) -> Result<(), Error> {
        let (session, tools) = Session::open(server, environment).await?;
        let position = self.sessions.len();
        self.sessions.push(session);
        let mut registered = 0;
        for tool in &tools {
            let name = tool.name.to_string();
            if is_taken(&name) {
                note(format!(
                    "[mcp] Skipping tool {name:?} of server {:?}: the agent has one of that name",
                    server.name
                ));
                continue;
            }
            match self.routes.insert(name.clone(), position) {
                None => {}
                // A server that lists a tool twice has it once.
                Some(other) if other == position => continue,
                Some(other) => {
                    let first = self.sessions[other].server.clone();
                    return Err(Error::Clash { tool: name, first, second: server.name.clone() });
                }
            }
            let description = tool.description.as_deref().unwrap_or_default().to_owned();
            self.specs.push(ToolSpec { name, description, input_schema: schema(tool) });
            registered += 1;
        }
        note(format!("[mcp] {:?} discovered {} tool(s), registered {registered}", server.name, tools.len()));
        Ok(())
    }

    /// What the model is told of the tools, in server order.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The server that has a tool.
    pub fn server_of(&self, tool: &str) -> Option<&str> {
        self.routes.get(tool).map(|position| self.sessions[*position].server.as_str())
    }

    /// Calls a tool. None when no server has it.
    pub async fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Option<Outcome> {
        let session = &self.sessions[*self.routes.get(tool)?];
        Some(session.call(tool, arguments).await)
    }

    /// Ends all sessions at once, within a bounded time whatever the servers do.
    pub async fn close(&mut self) {
        self.routes.clear();
        join_all(self.sessions.drain(..).map(Session::close)).await;
    }
}
