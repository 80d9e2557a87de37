//! `list`. Source: SPEC §3.6.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_false;
use crate::limits;

/// Arguments of `list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListArguments {
    /// What to list, relative to the workspace. Default the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Filter in the syntax of Go's path.Match, with an optional leading `**/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Whether directories are entered. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursive: Option<bool>,
    /// How deep, when recursive: default 3, at most 8; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::LIST_DEPTH_MAX))]
    pub max_depth: Option<i64>,
    /// Entries in a page: default 200, at most 500; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::ENTRIES_MAX))]
    pub max_entries: Option<i64>,
    /// Entries to pass over. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub offset: Option<i64>,
    /// Bytes of entries in a page: default 65536, at most 1048576; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::PAGE_MAX_BYTES))]
    pub max_bytes: Option<i64>,
    /// Whether the workspace's ignore files are honoured. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_files: Option<bool>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, never followed.
    Symlink,
    /// Anything else.
    Other,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// Relative to the workspace.
    pub path: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EntryType,
    /// Size in bytes, of regular files only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Whether the name is not UTF-8 and is shown with U+FFFD.
    #[serde(default, skip_serializing_if = "is_false")]
    pub name_lossy: bool,
}

/// Output of `list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListOutput {
    /// The page, in walk order; empty when it was streamed.
    pub entries: Vec<Entry>,
    /// The offset of the next page, when more follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Whether more follow, or a limit was reached.
    pub truncated: bool,
    /// Whether the listing stopped at a limit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub limit_reached: bool,
    /// Entries that ignore files left out; only with `ignore_files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries_ignored: Option<u64>,
}
