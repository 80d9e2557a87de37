//! `server.info`: what the daemon is and can do.

use std::collections::BTreeMap;

use axlr_protocol::limits;
use axlr_protocol::schema;
use axlr_protocol::tool::ServerInfoOutput;

/// What clients may ask for by name; the name of the containment at work is added.
const CAPABILITIES: &[&str] = &[
    "stream",
    "cancel",
    "stdin_open",
    "exec.signal",
    "base64",
    "ignore_files",
    "explain",
    "plugins",
    "json",
    "msgpack",
];

pub(super) fn info(runtime: &super::Inner) -> ServerInfoOutput {
    let containment = format!("containment.{}", runtime.config.containment.name());
    ServerInfoOutput {
        name: "axlrd".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol_versions: vec![limits::PROTOCOL_VERSION],
        pid: std::process::id(),
        uptime_ms: u64::try_from(runtime.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        tools: schema::tools().to_vec(),
        limits: limits_of(&runtime.config.capacity),
        capabilities: CAPABILITIES.iter().map(|&name| name.to_owned()).chain([containment]).collect(),
    }
}

fn limits_of(capacity: &crate::capacity::Capacity) -> BTreeMap<String, u64> {
    let daemon = [
        ("running_max", capacity.running as u64),
        ("connection_running_max", capacity.running_per_session as u64),
        ("connection_waiting_max", capacity.waiting_per_session as u64),
        ("connection_waiting_max_bytes", capacity.waiting_bytes_per_session as u64),
        ("connections_max", capacity.connections as u64),
        ("children_max", capacity.children as u64),
        ("children_waiting_max", capacity.children_waiting as u64),
    ];
    let contract = [
        ("request_max_bytes", limits::REQUEST_MAX_BYTES as u64),
        ("response_max_bytes", limits::RESPONSE_MAX_BYTES as u64),
        ("request_id_max_bytes", limits::REQUEST_ID_MAX_BYTES as u64),
        ("depth_max", limits::DEPTH_MAX as u64),
        ("connection_outbox_max_bytes", limits::CONNECTION_OUTBOX_MAX_BYTES as u64),
        ("page_default_bytes", limits::PAGE_DEFAULT_BYTES),
        ("page_max_bytes", limits::PAGE_MAX_BYTES),
        ("file_max_bytes", limits::FILE_MAX_BYTES),
        ("exec_timeout_default_ms", limits::EXEC_TIMEOUT_DEFAULT_MS),
        ("exec_timeout_max_ms", limits::EXEC_TIMEOUT_MAX_MS),
        ("exec_stream_timeout_max_ms", limits::EXEC_STREAM_TIMEOUT_MAX_MS),
        ("exec_output_default_bytes", limits::EXEC_OUTPUT_DEFAULT_BYTES),
        ("exec_output_max_bytes", limits::EXEC_OUTPUT_MAX_BYTES),
        ("exec_chunk_max_bytes", limits::EXEC_CHUNK_MAX_BYTES as u64),
        ("exec_stdin_waiting_max_bytes", limits::EXEC_STDIN_WAITING_MAX_BYTES as u64),
        ("pattern_max_bytes", limits::PATTERN_MAX_BYTES as u64),
        ("context_max_lines", limits::CONTEXT_MAX_LINES),
        ("results_default", limits::RESULTS_DEFAULT),
        ("results_max", limits::RESULTS_MAX),
        ("search_max_files", limits::SEARCH_MAX_FILES),
        ("search_max_bytes", limits::SEARCH_MAX_BYTES),
        ("search_max_entries", limits::SEARCH_MAX_ENTRIES),
        ("search_file_max_bytes", limits::SEARCH_FILE_MAX_BYTES),
        ("entries_default", limits::ENTRIES_DEFAULT),
        ("entries_max", limits::ENTRIES_MAX),
        ("list_depth_default", limits::DEPTH_DEFAULT),
        ("list_depth_max", limits::LIST_DEPTH_MAX),
        ("list_max_entries", limits::LIST_MAX_ENTRIES),
        ("plugin_manifest_max_bytes", limits::PLUGIN_MANIFEST_MAX_BYTES as u64),
        ("plugin_tool_name_max_chars", limits::PLUGIN_TOOL_NAME_MAX_CHARS as u64),
        ("plugin_start_max_ms", limits::PLUGIN_START_MAX_MS),
        ("plugin_pages_max", limits::PLUGIN_PAGES_MAX as u64),
        ("plugin_message_max_bytes", limits::PLUGIN_MESSAGE_MAX_BYTES as u64),
        ("plugin_noise_max_bytes", limits::PLUGIN_NOISE_MAX_BYTES as u64),
        ("plugin_timeout_default_ms", limits::PLUGIN_TIMEOUT_DEFAULT_MS),
        ("plugin_timeout_max_ms", limits::PLUGIN_TIMEOUT_MAX_MS),
        ("drain_default_ms", limits::DRAIN_DEFAULT_MS),
    ];
    daemon.into_iter().chain(contract).map(|(name, value)| (name.to_owned(), value)).collect()
}
