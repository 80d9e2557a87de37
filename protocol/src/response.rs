//! A response before it is encoded.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::code::{Code, Status};
use crate::request::Tool;
use crate::tool::{
    EditOutput, Empty, ExecOutput, ListOutput, PluginsCallOutput, PluginsListOutput, ReadOutput,
    RequestCancelOutput, SearchOutput, ServerInfoOutput, ServerStatsOutput, WorkspaceListOutput,
    WorkspaceOpenOutput, WriteOutput,
};

/// One response. Exactly one of `output` and `error` stands on the wire beside the other as null.
///
/// Source: SPEC §1.3.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// The request's id; empty when it was malformed beyond recognition.
    pub request_id: String,
    /// The request's tool; `None` is "" on the wire.
    pub tool: Option<Tool>,
    /// When work began; equal to `finished_at` for a malformed request.
    pub started_at: SystemTime,
    /// When work ended.
    pub finished_at: SystemTime,
    /// Milliseconds between them on a monotonic clock.
    pub duration_ms: u64,
    /// What came of it.
    pub outcome: Result<Output, ErrorBody>,
}

impl Response {
    /// The status that stands on the wire.
    pub fn status(&self) -> Status {
        match &self.outcome {
            Ok(_) => Status::Completed,
            Err(error) => error.code.status(),
        }
    }
}

/// What went wrong, for the person or model that must act on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ErrorBody {
    /// The stable code.
    pub code: Code,
    /// English, workspace-relative, with the member, the value and the limit or rule.
    pub message: String,
}

/// The output of each tool. Encoded as the object inside, without a tag.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is the output of the tool of that name")]
pub enum Output {
    Read(ReadOutput),
    Write(WriteOutput),
    Edit(EditOutput),
    Exec(ExecOutput),
    Search(SearchOutput),
    List(ListOutput),
    PluginsList(PluginsListOutput),
    PluginsCall(PluginsCallOutput),
    ServerInfo(Box<ServerInfoOutput>),
    ServerStats(ServerStatsOutput),
    WorkspaceOpen(WorkspaceOpenOutput),
    WorkspaceList(WorkspaceListOutput),
    RequestCancel(RequestCancelOutput),
    /// server.ping, server.stop, workspace.close, exec.write, exec.signal.
    Empty(Empty),
}
