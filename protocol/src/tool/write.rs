//! `write`. Source: SPEC §3.2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ContentEncoding;

/// Whether a file is made or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// Never overwrites.
    Create,
    /// Needs the digest of what it replaces, or `overwrite`.
    Replace,
}

/// Arguments of `write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteArguments {
    /// The file, relative to the workspace.
    #[schemars(length(min = 1))]
    pub path: String,
    /// The whole new content, at most 1 MiB.
    pub content: String,
    /// "create" or "replace".
    pub mode: WriteMode,
    /// SHA-256 of the content that is replaced, 64 lower-case hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^([0-9a-f]{64})?$"))]
    pub expected_sha256: Option<String>,
    /// Whether missing directories are made. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parents: Option<bool>,
    /// What `content` is. Default "utf-8".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<ContentEncoding>,
    /// With "replace": needs no digest, and creates what is missing. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
}

/// Output of `write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteOutput {
    /// Size of the file now.
    pub written_bytes: u64,
    /// SHA-256 of the file now.
    pub content_sha256: String,
}
