//! A directory that the daemon works in.

use std::sync::Arc;

use axlr_protocol::Call;
use axlr_protocol::codec::AnyResponse;
use axlr_protocol::tool::{
    EditArguments, EditOutput, Empty, ExecArguments, ExecOutput, ListArguments, ListOutput, PluginTool,
    PluginsCallArguments, PluginsCallOutput, PluginsListOutput, ReadArguments, ReadOutput, SearchArguments,
    SearchOutput, WriteArguments, WriteOutput,
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::call::output;
use crate::connection::{Client, EVENTS_WAITING};
use crate::error::CallError;
use crate::running::Running;

/// The tools in one workspace. Clones are cheap, and dropping one closes nothing. The tools fail as [`CallError`] says;
/// the codes are those of SPEC §3.
#[derive(Debug, Clone)]
pub struct Workspace {
    client: Client,
    id: Option<Arc<str>>,
}

impl Workspace {
    pub(crate) fn new(client: Client, id: Option<Arc<str>>) -> Workspace {
        Workspace { client, id }
    }

    /// Its id; `None` is the connection's default workspace.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The connection.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Reads a page of a file.
    pub async fn read(&self, arguments: ReadArguments) -> Result<ReadOutput, CallError> {
        self.output(Call::Read(arguments)).await
    }

    /// Creates or replaces a file.
    pub async fn write(&self, arguments: WriteArguments) -> Result<WriteOutput, CallError> {
        self.output(Call::Write(arguments)).await
    }

    /// Replaces one literal occurrence in a file.
    pub async fn edit(&self, arguments: EditArguments) -> Result<EditOutput, CallError> {
        self.output(Call::Edit(arguments)).await
    }

    /// Runs a program to its end. With [`Workspace::start`] its output comes while it runs.
    pub async fn exec(&self, arguments: ExecArguments) -> Result<ExecOutput, CallError> {
        self.output(Call::Exec(arguments)).await
    }

    /// Searches lines of files.
    pub async fn search(&self, arguments: SearchArguments) -> Result<SearchOutput, CallError> {
        self.output(Call::Search(arguments)).await
    }

    /// Lists a directory.
    pub async fn list(&self, arguments: ListArguments) -> Result<ListOutput, CallError> {
        self.output(Call::List(arguments)).await
    }

    /// Lists the tools of the workspace's plugins.
    pub async fn plugins_list(&self) -> Result<Vec<PluginTool>, CallError> {
        let output: PluginsListOutput = self.output(Call::PluginsList(Empty {})).await?;
        Ok(output.tools)
    }

    /// Calls a plugin's tool.
    pub async fn plugins_call(
        &self,
        arguments: PluginsCallArguments,
    ) -> Result<PluginsCallOutput, CallError> {
        self.output(Call::PluginsCall(arguments)).await
    }

    /// Calls any tool here and returns the daemon's response, whatever its status.
    ///
    /// # Errors
    /// No response came, or the request can't be sent.
    pub async fn call(&self, call: Call) -> Result<AnyResponse, CallError> {
        self.client.call(call, self.id()).await
    }

    /// Starts a request that tells what happens while it runs: exec, search, list and plugins.call do. Of the others
    /// only the response comes.
    ///
    /// # Errors
    /// The connection is broken, or the request can't be sent.
    pub async fn start(&self, call: Call) -> Result<Running, CallError> {
        let (sender, events) = mpsc::channel(EVENTS_WAITING);
        let flight = self.client.begin(call, self.id(), Some(sender)).await?;
        Ok(Running::new(flight, events))
    }

    /// Starts a request that tells nothing while it runs. Unlike the future of [`Workspace::call`] it can be cancelled
    /// and still be asked how it ended.
    ///
    /// # Errors
    /// As [`Workspace::start`].
    pub async fn begin(&self, call: Call) -> Result<Running, CallError> {
        let (_, events) = mpsc::channel(1);
        let flight = self.client.begin(call, self.id(), None).await?;
        Ok(Running::new(flight, events))
    }

    async fn output<T: DeserializeOwned>(&self, call: Call) -> Result<T, CallError> {
        let tool = call.tool();
        output(tool, self.call(call).await?)
    }
}
