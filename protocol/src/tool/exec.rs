//! `exec`. Source: SPEC §3.4, §4.2 and §7.3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StringMap;
use crate::limits;

/// Arguments of `exec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecArguments {
    /// The program: absolute, relative to `cwd` (with a slash), or looked up in the child's own PATH. No shell.
    #[schemars(length(min = 1))]
    pub program: String,
    /// Its arguments, literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Its working directory, relative to the workspace. Default the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Text for its stdin. Default none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Deadline in milliseconds: default 30000, at most 300000 (86400000 when streamed); 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::EXEC_STREAM_TIMEOUT_MAX_MS))]
    pub timeout_ms: Option<i64>,
    /// Bound on captured stdout and stderr together: default 262144, at most 1048576; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::EXEC_OUTPUT_MAX_BYTES))]
    pub max_output_bytes: Option<i64>,
    /// Variables added to the configured environment for this child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<StringMap>,
    /// Keeps stdin open for `exec.write`; only on the socket, with `stream`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin_open: Option<bool>,
}

/// Output of `exec`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecOutput {
    /// The exit code; -1 when a signal killed it.
    pub exit_code: i64,
    /// Captured stdout; empty when streamed.
    pub stdout: String,
    /// Captured stderr; empty when streamed.
    pub stderr: String,
    /// Bytes kept, or sent when streamed.
    pub captured_bytes: u64,
    /// Bytes dropped.
    pub discarded_bytes: u64,
    /// Whether bytes were dropped, or a left-over process held the output open.
    pub truncated: bool,
    /// The signal that killed it, without SIG; only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
}
