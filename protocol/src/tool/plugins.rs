//! `plugins.list` and `plugins.call`. Source: SPEC §3.8.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits;

/// Output of `plugins.list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginsListOutput {
    /// The advertised tools that the manifests allow, plugins in registration order.
    pub tools: Vec<PluginTool>,
}

/// A tool of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginTool {
    /// The plugin.
    pub plugin_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// As the server describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its structured content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// Arguments of `plugins.call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PluginsCallArguments {
    /// The plugin.
    #[schemars(regex(pattern = r"^[A-Za-z][A-Za-z0-9_-]*$"))]
    pub plugin_id: String,
    /// Its tool.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_.-]{1,128}$"))]
    pub tool_name: String,
    /// The tool's own arguments: any names, numbers as JSON has them, integers between -2^63 and 2^64-1.
    #[serde(deserialize_with = "super::map::object")]
    pub arguments: Map<String, Value>,
    /// Deadline in milliseconds: default 30000, at most 300000; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::PLUGIN_TIMEOUT_MAX_MS))]
    pub timeout_ms: Option<i64>,
}

/// Output of `plugins.call`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PluginsCallOutput {
    /// Content blocks, as the server sent them.
    pub content: Vec<Value>,
    /// Structured content, when the server sent some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// Whether the tool reports an error of its own.
    pub is_error: bool,
}
