//! The daemon's own tools. Source: SPEC §7.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StringMap;
use crate::limits;

/// Output of `server.info`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerInfoOutput {
    /// "axlrd".
    pub name: String,
    /// The daemon's version.
    pub version: String,
    /// Protocol versions that it speaks.
    pub protocol_versions: Vec<u64>,
    /// Its process id.
    pub pid: u32,
    /// Milliseconds since it started.
    pub uptime_ms: u64,
    /// Every tool.
    pub tools: Vec<ToolInfo>,
    /// Bounds and defaults by name.
    pub limits: BTreeMap<String, u64>,
    /// Names of what it can do; clients ask for names, not versions.
    pub capabilities: Vec<String>,
}

/// One tool, described.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolInfo {
    /// Its name.
    pub name: String,
    /// What it does, in a sentence.
    pub description: String,
    /// JSON Schema of its arguments.
    pub arguments_schema: Value,
    /// JSON Schema of its output.
    pub output_schema: Value,
}

/// Output of `server.stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatsOutput {
    /// Milliseconds since the daemon started.
    pub uptime_ms: u64,
    /// Open connections.
    pub connections: u64,
    /// Requests that run.
    pub running: u64,
    /// Requests that wait.
    pub queued: u64,
    /// Exec children alive.
    pub children: u64,
    /// Execs that completed and left processes behind which still live.
    pub detached: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Resident memory of the daemon.
    pub resident_bytes: u64,
    /// Counters by tool.
    pub tools: BTreeMap<String, ToolStats>,
}

/// Counters of one tool since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the first five are the statuses, the rest have their unit in the name")]
pub struct ToolStats {
    pub completed: u64,
    pub rejected: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub timed_out: u64,
    pub in_flight: u64,
    pub p50_us: u64,
    pub p99_us: u64,
    pub max_us: u64,
}

/// Arguments of `server.stop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerStopArguments {
    /// How long running requests may finish, in milliseconds. Default the daemon's `--drain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub drain_ms: Option<i64>,
}

/// Arguments of `workspace.open`. Maps and lists, when given, are complete; when absent the daemon's own hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceOpenArguments {
    /// Absolute path of the directory.
    #[schemars(regex(pattern = "^/"))]
    pub root: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The complete environment of exec children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<StringMap>,
    /// Absolute paths of plugin manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<String>>,
    /// Complete environment of each plugin, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_env: Option<BTreeMap<String, StringMap>>,
    /// HTTP headers of each plugin, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_headers: Option<BTreeMap<String, StringMap>>,
    /// Whether this becomes the connection's default workspace. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<bool>,
}

/// Output of `workspace.open`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceOpenOutput {
    /// The id to use in requests.
    pub workspace: String,
    /// The directory, without symlinks.
    pub root: String,
}

/// Output of `workspace.list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceListOutput {
    /// Every open workspace.
    pub workspaces: Vec<WorkspaceInfo>,
}

/// One open workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceInfo {
    /// Its id.
    pub workspace: String,
    /// Its directory.
    pub root: String,
    /// Its name, or null.
    pub name: Option<String>,
    /// How often it is open.
    pub handles: u64,
    /// Requests that run in it.
    pub in_flight: u64,
}

/// Arguments of `workspace.close`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceCloseArguments {
    /// The id from `workspace.open`.
    pub workspace: String,
}

/// Arguments of `request.cancel`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestCancelArguments {
    /// A request of this connection.
    #[schemars(length(min = 1, max = limits::REQUEST_ID_MAX_BYTES))]
    pub request_id: String,
}

/// Output of `request.cancel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestCancelOutput {
    /// Whether that request was still running or waiting.
    pub cancelled: bool,
}

/// Arguments of `exec.write`: `data` or `base64`, not both; neither is allowed only with `eof`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecWriteArguments {
    /// A running exec of this connection that was started with `stdin_open`.
    #[schemars(length(min = 1, max = limits::REQUEST_ID_MAX_BYTES))]
    pub request_id: String,
    /// Text to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Bytes to write, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Whether stdin is closed afterwards. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eof: Option<bool>,
}

/// A signal that `exec.signal` can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "signal(7) names them")]
pub enum SignalName {
    Int,
    Term,
    Hup,
    Quit,
    Kill,
    Usr1,
    Usr2,
    Stop,
    Cont,
}

/// Arguments of `exec.signal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecSignalArguments {
    /// A running exec of this connection.
    #[schemars(length(min = 1, max = limits::REQUEST_ID_MAX_BYTES))]
    pub request_id: String,
    /// The signal, without SIG.
    pub signal: SignalName,
}
