//! Calls carried out by a daemon.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use axlr::listen::mcp::{Answer, Caller, Job, Watch};
use axlr_client::tool::WorkspaceOpenArguments;
use axlr_client::{AnyResponse, CallError, Client, Code, Encoding, ErrorBody, Tool, Workspace};
use axlr_protocol::Output;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::command::no_daemon;

/// A connection to a daemon.
pub(super) struct Remote {
    client: Client,
}

impl Remote {
    pub(super) async fn connect(socket: &Path) -> anyhow::Result<Self> {
        Ok(Self { client: Client::connect(socket, Encoding::MessagePack).await.map_err(no_daemon)? })
    }

    /// Opens the root, and returns its workspace.
    pub(super) async fn open(&self, arguments: WorkspaceOpenArguments) -> anyhow::Result<String> {
        match self.client.workspace_open(arguments).await {
            Ok(opened) => Ok(opened.workspace),
            Err(CallError::Refused { code, message, .. }) => bail!("--root: {message} ({})", code.as_str()),
            Err(error) => Err(error.into()),
        }
    }

    /// A future that returns when the connection is over, and tells why.
    pub(super) fn broken(&self) -> impl Future<Output = Arc<str>> + use<> {
        let client = self.client.clone();
        async move { client.closed().await }
    }

    fn workspace(&self, id: Option<String>) -> Workspace {
        match id {
            Some(id) => self.client.workspace(id),
            None => self.client.default_workspace(),
        }
    }
}

impl Caller for Remote {
    async fn call(&self, job: Job) -> Answer {
        let Job { call, workspace, watch, .. } = job;
        let (tool, workspace) = (call.tool(), self.workspace(workspace));
        let response = match watch {
            None => workspace.call(call).await,
            Some(watch) => watched(&workspace, call, &watch).await,
        };
        output(tool, response.map_err(|error| fault(error.to_string()))?)
    }
}

/// Dropping it drops the request, which cancels it.
async fn watched(
    workspace: &Workspace,
    call: axlr_client::Call,
    watch: &Watch,
) -> Result<AnyResponse, CallError> {
    let mut running = workspace.start(call).await?;
    while let Some(event) = running.next_event().await {
        watch.tell(&event);
    }
    running.response().await
}

/// The output as the type of its tool, of those that a host can reach.
fn output(tool: Tool, response: AnyResponse) -> Answer {
    if let Some(error) = response.error {
        return Err(error);
    }
    let output = response.output.unwrap_or_default();
    match tool {
        Tool::Read => typed(output).map(Output::Read),
        Tool::Write => typed(output).map(Output::Write),
        Tool::Edit => typed(output).map(Output::Edit),
        Tool::Exec => typed(output).map(Output::Exec),
        Tool::Search => typed(output).map(Output::Search),
        Tool::List => typed(output).map(Output::List),
        Tool::PluginsList => typed(output).map(Output::PluginsList),
        Tool::PluginsCall => typed(output).map(Output::PluginsCall),
        Tool::WorkspaceOpen => typed(output).map(Output::WorkspaceOpen),
        _ => typed(output).map(Output::Empty),
    }
}

fn typed<T: DeserializeOwned>(output: Value) -> Result<T, ErrorBody> {
    serde_json::from_value(output)
        .map_err(|error| fault(format!("axlrd's answer is not understood: {error}")))
}

fn fault(message: String) -> ErrorBody {
    ErrorBody { code: Code::InternalError, message }
}
