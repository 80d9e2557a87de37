//! The daemon's own tools, and how a response becomes an output.

use axlr_protocol::codec::AnyResponse;
use axlr_protocol::tool::{
    Empty, ExecSignalArguments, ExecWriteArguments, RequestCancelArguments, RequestCancelOutput,
    ServerInfoOutput, ServerStatsOutput, ServerStopArguments, WorkspaceCloseArguments, WorkspaceInfo,
    WorkspaceListOutput, WorkspaceOpenArguments, WorkspaceOpenOutput,
};
use axlr_protocol::{Call, Tool};
use serde::de::DeserializeOwned;

use crate::connection::Client;
use crate::error::CallError;
use crate::workspace::Workspace;

/// The daemon's own tools. They fail as [`CallError`] says; the codes are those of SPEC §7.
impl Client {
    /// Asks whether the daemon answers; the connection itself does, also while every worker is busy.
    pub async fn ping(&self) -> Result<(), CallError> {
        self.output(Call::ServerPing(Empty {})).await.map(|Empty {}| ())
    }

    /// What the daemon is and what it can do.
    pub async fn info(&self) -> Result<ServerInfoOutput, CallError> {
        self.output(Call::ServerInfo(Empty {})).await
    }

    /// What it does and did.
    pub async fn stats(&self) -> Result<ServerStatsOutput, CallError> {
        self.output(Call::ServerStats(Empty {})).await
    }

    /// Stops the daemon, as SIGTERM does. [`Client::closed`] returns when it has gone.
    pub async fn stop(&self, arguments: ServerStopArguments) -> Result<(), CallError> {
        self.output(Call::ServerStop(arguments)).await.map(|Empty {}| ())
    }

    /// Opens a directory, by its absolute path, with the daemon's own environment for its children.
    pub async fn open(&self, root: impl Into<String>) -> Result<Workspace, CallError> {
        let arguments = WorkspaceOpenArguments { root: root.into(), ..Default::default() };
        Ok(self.workspace(self.workspace_open(arguments).await?.workspace))
    }

    /// Opens a directory with settings of its own. Each open counts; the connection's end gives all back.
    pub async fn workspace_open(
        &self,
        arguments: WorkspaceOpenArguments,
    ) -> Result<WorkspaceOpenOutput, CallError> {
        self.output(Call::WorkspaceOpen(arguments)).await
    }

    /// Every open workspace of the daemon.
    pub async fn workspace_list(&self) -> Result<Vec<WorkspaceInfo>, CallError> {
        let output: WorkspaceListOutput = self.output(Call::WorkspaceList(Empty {})).await?;
        Ok(output.workspaces)
    }

    /// Gives back one open of a workspace.
    pub async fn workspace_close(&self, id: impl Into<String>) -> Result<(), CallError> {
        let arguments = WorkspaceCloseArguments { workspace: id.into() };
        self.output(Call::WorkspaceClose(arguments)).await.map(|Empty {}| ())
    }

    /// Asks for the end of a request of this connection. Returns whether it was still running or waiting.
    pub async fn request_cancel(&self, request_id: impl Into<String>) -> Result<bool, CallError> {
        let arguments = RequestCancelArguments { request_id: request_id.into() };
        let output: RequestCancelOutput = self.output(Call::RequestCancel(arguments)).await?;
        Ok(output.cancelled)
    }

    /// Writes to the stdin of a running exec. See also [`crate::Running::write_stdin`].
    pub async fn exec_write(&self, arguments: ExecWriteArguments) -> Result<(), CallError> {
        self.output(Call::ExecWrite(arguments)).await.map(|Empty {}| ())
    }

    /// Signals the process group of a running exec. See also [`crate::Running::signal`].
    pub async fn exec_signal(&self, arguments: ExecSignalArguments) -> Result<(), CallError> {
        self.output(Call::ExecSignal(arguments)).await.map(|Empty {}| ())
    }

    async fn output<T: DeserializeOwned>(&self, call: Call) -> Result<T, CallError> {
        let tool = call.tool();
        output(tool, self.call(call, None).await?)
    }
}

/// The output of a completed response, as the type of its tool.
pub(crate) fn output<T: DeserializeOwned>(tool: Tool, response: AnyResponse) -> Result<T, CallError> {
    let status = response.status;
    if let Some(error) = response.error {
        return Err(CallError::Refused { status, code: error.code, message: error.message });
    }
    let not_understood = |reason| CallError::Output { tool: tool.as_str(), reason };
    let output = response.output.ok_or_else(|| not_understood("there is none".into()))?;
    serde_json::from_value(output).map_err(|error| not_understood(error.to_string().into()))
}
