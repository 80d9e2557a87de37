//! What a streaming request sends before its response.

use crate::tool::{Entry, Match};

/// One event of a streaming request.
///
/// Source: SPEC §6.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The request that it belongs to.
    pub request_id: String,
    /// Counts from 0 within the request.
    pub seq: u64,
    /// What happened.
    pub body: EventBody,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// exec: the child runs.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// exec: bytes of its stdout, as the pipe gave them.
    Stdout {
        /// At most [`crate::limits::EXEC_CHUNK_MAX_BYTES`]. Base64 in JSON, bin in MessagePack.
        data: Vec<u8>,
    },
    /// exec: bytes of its stderr.
    Stderr {
        /// As for stdout.
        data: Vec<u8>,
    },
    /// search: matches in walk order, as they are found.
    Matches {
        /// At least one.
        matches: Vec<Match>,
    },
    /// search: named `progress` on the wire.
    SearchProgress {
        /// Files scanned so far.
        files_scanned: u64,
        /// Files skipped so far.
        files_skipped: u64,
    },
    /// list: entries in walk order.
    Entries {
        /// At least one.
        entries: Vec<Entry>,
    },
    /// list: named `progress` on the wire.
    ListProgress {
        /// Entries visited so far.
        entries_seen: u64,
    },
    /// plugins.call: named `progress` on the wire.
    PluginProgress {
        /// As the plugin reported it.
        progress: f64,
        /// As the plugin reported it.
        total: Option<f64>,
        /// As the plugin reported it.
        message: Option<String>,
    },
}
