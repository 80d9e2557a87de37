//! Every number that a client can feel, with its unit and the section of SPEC.md that promises it.
//!
//! Sizes are bytes unless the name says otherwise. What only the daemon feels is in `src/capacity.rs` of the runtime.

/// The protocol version that every message carries. SPEC §1.
pub const PROTOCOL_VERSION: u64 = 1;
/// Largest request document or frame. SPEC §1.2, §2.3.
pub const REQUEST_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Largest encoded response; a larger one is replaced by `response_too_large`. SPEC §1.3.
pub const RESPONSE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Longest `request_id`, in bytes of UTF-8. SPEC §1.1.
pub const REQUEST_ID_MAX_BYTES: usize = 128;
/// Deepest nesting of a request; the request object is level 1. SPEC §1.2.
pub const DEPTH_MAX: usize = 128;
/// MessagePack frame lengths stay below this, so that the first byte of a length is 0x00. SPEC §2.3.
pub const FRAME_LENGTH_END: u32 = 1 << 24;
/// A JSON connection that sends this much without a line end is answered and closed. SPEC §2.3.
pub const LINE_ABANDON_BYTES: usize = 64 * 1024 * 1024;
/// Values quoted in messages are cut at this many characters. SPEC §5.
pub const MESSAGE_VALUE_MAX_CHARS: usize = 80;

/// Default of `max_bytes` of read, search and list. SPEC §3.1.
pub const PAGE_DEFAULT_BYTES: u64 = 65_536;
/// Largest `max_bytes` of read, search and list. SPEC §3.1.
pub const PAGE_MAX_BYTES: u64 = 1_048_576;
/// Largest content of a write, and largest file that can be edited or replaced by digest. SPEC §3.2.
pub const FILE_MAX_BYTES: u64 = 1_048_576;

/// Default of exec's `timeout_ms`. SPEC §3.4.
pub const EXEC_TIMEOUT_DEFAULT_MS: u64 = 30_000;
/// Largest `timeout_ms` of an exec. SPEC §3.4.
pub const EXEC_TIMEOUT_MAX_MS: u64 = 300_000;
/// Largest `timeout_ms` of a streaming exec on the socket. SPEC §7.3.
pub const EXEC_STREAM_TIMEOUT_MAX_MS: u64 = 86_400_000;
/// Default of exec's `max_output_bytes`. SPEC §3.4.
pub const EXEC_OUTPUT_DEFAULT_BYTES: u64 = 262_144;
/// Largest `max_output_bytes`. SPEC §3.4.
pub const EXEC_OUTPUT_MAX_BYTES: u64 = 1_048_576;
/// How long a process that outlives its program may hold the output open. SPEC §3.4.
pub const EXEC_HOLDER_GRACE_MS: u64 = 1_000;
/// How much of the output a timeout or cancel message quotes, in characters. SPEC §3.4.
pub const EXEC_MESSAGE_TAIL_CHARS: usize = 1_000;
/// Largest chunk of an exec's output in one event, before encoding. SPEC §6.
pub const EXEC_CHUNK_MAX_BYTES: usize = 65_536;
/// Most bytes of `exec.write` that may wait for one exec's stdin. SPEC §7.3.
pub const EXEC_STDIN_WAITING_MAX_BYTES: usize = 4 * 1024 * 1024;

/// Longest search pattern, in bytes. SPEC §3.5.
pub const PATTERN_MAX_BYTES: usize = 4_096;
/// Most `context_lines`. SPEC §3.5.
pub const CONTEXT_MAX_LINES: u64 = 5;
/// Default of `max_results`. SPEC §3.5.
pub const RESULTS_DEFAULT: u64 = 50;
/// Largest `max_results`. SPEC §3.5.
pub const RESULTS_MAX: u64 = 200;
/// A search skips files over this size. SPEC §3.5.
pub const SEARCH_FILE_MAX_BYTES: u64 = 1_048_576;
/// A NUL within the first so many bytes makes a file binary. SPEC §3.5.
pub const SEARCH_BINARY_WINDOW_BYTES: usize = 8_192;
/// A search stops after so many files, scanned and skipped. SPEC §3.5.
pub const SEARCH_MAX_FILES: u64 = 20_000;
/// A search stops before the file that would pass this sum of sizes. SPEC §3.5.
pub const SEARCH_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// A search stops after so many walked entries of any kind. SPEC §3.5.
pub const SEARCH_MAX_ENTRIES: u64 = 1_000_000;
/// Longest reported line; a longer one is cut around the match. SPEC §3.5.
pub const LINE_MAX_BYTES: usize = 300;
/// How far before the match the window of a cut line begins. SPEC §3.5.
pub const LINE_LEAD_BYTES: usize = 64;
/// A match that begins past this byte moves the window of a cut line. SPEC §3.5.
pub const LINE_SHIFT_BYTES: usize = 236;
/// Sample paths of each reason in a search's `skipped`. SPEC §4.2.
pub const SKIPPED_SAMPLES_MAX: usize = 10;

/// Default of `max_depth`. SPEC §3.6.
pub const DEPTH_DEFAULT: u64 = 3;
/// Largest `max_depth`. SPEC §3.6.
pub const LIST_DEPTH_MAX: u64 = 8;
/// Default of `max_entries`. SPEC §3.6.
pub const ENTRIES_DEFAULT: u64 = 200;
/// Largest `max_entries`. SPEC §3.6.
pub const ENTRIES_MAX: u64 = 500;
/// A listing stops after so many visited entries. SPEC §3.6.
pub const LIST_MAX_ENTRIES: u64 = 20_000;

/// Largest manifest of a plugin, in bytes. SPEC §3.8.
pub const PLUGIN_MANIFEST_MAX_BYTES: usize = 64 * 1024;
/// Longest name of a plugin's tool, in characters, which are ASCII. SPEC §3.8.
pub const PLUGIN_TOOL_NAME_MAX_CHARS: usize = 128;
/// Longest launch and handshake of a plugin. SPEC §3.8.
pub const PLUGIN_START_MAX_MS: u64 = 10_000;
/// Most pages of one plugin's list of tools. SPEC §3.8.
pub const PLUGIN_PAGES_MAX: usize = 1_000;
/// Largest message that a plugin may send: a line, an event or a body. SPEC §3.8.
pub const PLUGIN_MESSAGE_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Bytes on a plugin's stdout that are no message, before its session ends. SPEC §3.8.
pub const PLUGIN_NOISE_MAX_BYTES: usize = 64 * 1024;
/// How much of a plugin's stderr an error message quotes, in bytes. SPEC §3.8.
pub const PLUGIN_STDERR_TAIL_BYTES: usize = 4 * 1024;
/// Longest text of a plugin in an error message or a progress event, in characters. SPEC §3.8.
pub const PLUGIN_TEXT_MAX_CHARS: usize = 1_000;
/// Default of plugins.call's `timeout_ms`, and the deadline of plugins.list. SPEC §4.2.
pub const PLUGIN_TIMEOUT_DEFAULT_MS: u64 = 30_000;
/// Largest `timeout_ms` of plugins.call. SPEC §4.2.
pub const PLUGIN_TIMEOUT_MAX_MS: u64 = 300_000;

/// Progress events of one request, at most so many a second. SPEC §6.
pub const PROGRESS_PER_SECOND: u32 = 10;

/// Requests of one connection that run at once. SPEC §4.4.
pub const CONNECTION_RUNNING_MAX: usize = 128;
/// Requests of one connection that wait. SPEC §4.4.
pub const CONNECTION_WAITING_MAX: usize = 1_024;
/// Bytes of the requests of one connection that wait. SPEC §4.4.
pub const CONNECTION_WAITING_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of events and answers that wait to be written on one connection. SPEC §4.4.
pub const CONNECTION_OUTBOX_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Running requests of the whole daemon. SPEC §4.4.
pub const RUNNING_MAX: usize = 1_024;
/// Connections of the daemon. SPEC §4.4.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Exec children of the daemon. SPEC §4.4.
pub const CHILDREN_MAX: usize = 256;
/// Execs that wait for a child's place. SPEC §4.4.
pub const CHILDREN_WAITING_MAX: usize = 1_024;
/// How long running requests may finish after a stop. SPEC §8.
pub const DRAIN_DEFAULT_MS: u64 = 5_000;
/// Longest path of a Unix socket. SPEC §2.2, unix(7).
pub const SOCKET_PATH_MAX_BYTES: usize = 107;

/// Largest body of an HTTP request; one that is larger is answered with 413.
pub const HTTP_BODY_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Largest head of an HTTP request; one that is larger is answered with 431.
pub const HTTP_HEAD_MAX_BYTES: usize = 64 * 1024;
/// How long the head of an HTTP request may take from its first byte.
pub const HTTP_HEAD_TIMEOUT_MS: u64 = 10_000;
/// How long the body of an HTTP request may take; then the answer is 408.
pub const HTTP_BODY_TIMEOUT_MS: u64 = 30_000;
/// How long an HTTP connection may be idle.
pub const HTTP_IDLE_TIMEOUT_MS: u64 = 75_000;
/// How long an HTTP client may take nothing of an answer, when no command runs for it.
pub const HTTP_STALL_TIMEOUT_MS: u64 = 60_000;
/// HTTP connections of the daemon, beside [`CONNECTIONS_MAX`] of the socket: those who can't have the one must not be
/// able to take the other. One more is answered with 503.
pub const HTTP_CONNECTIONS_MAX: usize = 1_024;
/// Default of the `timeout` of `/exec`.
pub const HTTP_EXEC_TIMEOUT_DEFAULT_S: f64 = 30.0;
/// Largest `timeout` of `/exec`.
pub const HTTP_EXEC_TIMEOUT_MAX_S: f64 = 120.0;
/// Default of the `timeout` of `/spawn`.
pub const HTTP_SPAWN_TIMEOUT_DEFAULT_S: f64 = 300.0;
/// Largest `timeout` of `/spawn`.
pub const HTTP_SPAWN_TIMEOUT_MAX_S: f64 = 3_600.0;
/// Bytes of each stream that `/exec` answers with; the rest is drained.
pub const HTTP_EXEC_STREAM_MAX_BYTES: usize = 1_000_000;
/// What a command that timed out answers as its exit code, as timeout(1) does.
pub const HTTP_TIMEOUT_CODE: i32 = 124;
/// What a command answers as its exit code that could not be started.
pub const HTTP_NOT_STARTED_CODE: i32 = -1;
/// Sessions of the MCP door on HTTP. One more is answered with 503.
pub const MCP_SESSIONS_MAX: usize = 256;
/// How long such a session may be idle. Then it is gone, and the next request with its id is answered with 404, which
/// makes a client begin anew. Longer than any call may take.
pub const MCP_SESSION_IDLE_MS: u64 = 1_800_000;
