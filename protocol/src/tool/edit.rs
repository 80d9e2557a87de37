//! `edit`. Source: SPEC §3.3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments of `edit`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArguments {
    /// The file, relative to the workspace.
    #[schemars(length(min = 1))]
    pub path: String,
    /// The literal text to replace; it must occur exactly once.
    #[schemars(length(min = 1))]
    pub old_text: String,
    /// What stands there afterwards; may be empty.
    pub new_text: String,
    /// SHA-256 that the file must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^([0-9a-f]{64})?$"))]
    pub expected_sha256: Option<String>,
    /// Replaces every non-overlapping occurrence, left to right. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_all: Option<bool>,
}

/// Output of `edit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditOutput {
    /// Size of the file now.
    pub written_bytes: u64,
    /// SHA-256 of the file now.
    pub content_sha256: String,
    /// How many occurrences were replaced; only with `replace_all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacements: Option<u64>,
}
