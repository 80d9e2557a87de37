//! `read`. Source: SPEC §3.1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits;

/// How file content stands in a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ContentEncoding {
    /// Text, as it is.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// Any bytes, as RFC 4648 section 4 with padding.
    #[serde(rename = "base64")]
    Base64,
}

/// Arguments of `read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArguments {
    /// The file, relative to the workspace.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Where to start, in bytes. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub offset_bytes: Option<i64>,
    /// Largest page, in bytes: 1 to 1048576, default 65536; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::PAGE_MAX_BYTES))]
    pub max_bytes: Option<i64>,
    /// How the content is answered. Default "utf-8".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<ContentEncoding>,
}

/// Output of `read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadOutput {
    /// The page: text, or base64 when that was asked.
    pub content: String,
    /// Where the page starts in the file.
    pub start_offset_bytes: u64,
    /// Bytes of the file in the page.
    pub returned_bytes: u64,
    /// Where the next page starts.
    pub next_offset_bytes: u64,
    /// Whether the file goes on.
    pub truncated: bool,
    /// SHA-256 of the file, 64 lower-case hex digits; only when the page is the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_sha256: Option<String>,
}
