//! `search`. Source: SPEC §3.5.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_false;
use crate::limits;

/// Arguments of `search`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArguments {
    /// Go RE2 syntax, matched against one line at a time; text when `literal`. 1 to 4096 bytes.
    #[schemars(length(min = 1, max = limits::PATTERN_MAX_BYTES))]
    pub pattern: String,
    /// File or directory to search, relative to the workspace. Default the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Filter in the syntax of Go's path.Match, with an optional leading `**/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Whether the pattern is plain text. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub literal: Option<bool>,
    /// Whether case is ignored. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_case: Option<bool>,
    /// Lines around each match, 0 to 5. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::CONTEXT_MAX_LINES))]
    pub context_lines: Option<i64>,
    /// Matches in a page: default 50, at most 200; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::RESULTS_MAX))]
    pub max_results: Option<i64>,
    /// Matches to pass over. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub offset: Option<i64>,
    /// Bytes of matches in a page: default 65536, at most 1048576; 0 means default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = limits::PAGE_MAX_BYTES))]
    pub max_bytes: Option<i64>,
    /// Whether the workspace's ignore files are honoured. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_files: Option<bool>,
    /// Whether the output tells which files were skipped. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
}

/// One matching line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
    /// The file, relative to the workspace.
    pub path: String,
    /// Its 1-based line.
    pub line: u64,
    /// The 1-based byte column of the first match of the line.
    pub column: u64,
    /// The line, cut around the match when it is long.
    pub text: String,
    /// Lines before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Lines after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Whether `text` was cut.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// Output of `search`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchOutput {
    /// The page, in walk order; empty when it was streamed.
    pub matches: Vec<Match>,
    /// Files read and matched.
    pub files_scanned: u64,
    /// Files passed over.
    pub files_skipped: u64,
    /// The offset of the next page, when more follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Whether more follow, or a limit was reached.
    pub truncated: bool,
    /// Whether the search stopped at a limit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub limit_reached: bool,
    /// Entries that ignore files left out; only with `ignore_files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_ignored: Option<u64>,
    /// Which files were skipped; only with `explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
}

/// Files that a search passed over, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// Over 1 MiB.
    pub too_large: SkippedFiles,
    /// A NUL near the start.
    pub binary: SkippedFiles,
    /// Not UTF-8.
    pub not_utf8: SkippedFiles,
    /// A file or directory that could not be read, or whose name is not UTF-8.
    pub unreadable: SkippedFiles,
}

/// How many files were skipped for one reason, and some of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedFiles {
    /// How many.
    pub count: u64,
    /// Up to ten, in walk order.
    #[schemars(length(max = limits::SKIPPED_SAMPLES_MAX))]
    pub paths: Vec<String>,
}
