//! Sizes that only the house feels. What a client can feel is in `axlr_protocol::limits`.

use std::time::Duration;

use axlr_protocol::limits;

/// Bounds of one runtime. Binaries take the default; tests shrink it.
#[derive(Debug, Clone)]
pub struct Capacity {
    /// Requests that run at once in the whole daemon.
    pub running: usize,
    /// Requests of one connection that run at once.
    pub running_per_session: usize,
    /// Requests of one connection that wait.
    pub waiting_per_session: usize,
    /// Bytes of the requests of one connection that wait.
    pub waiting_bytes_per_session: usize,
    /// Connections.
    pub connections: usize,
    /// Exec children.
    pub children: usize,
    /// Execs that wait for a child's place.
    pub children_waiting: usize,
    /// Threads that one search may use.
    pub search_threads: usize,
    /// How often within [`Capacity::rebirth_window`] a failed actor is started anew.
    pub rebirths: usize,
    /// See [`Capacity::rebirths`].
    pub rebirth_window: Duration,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            running: limits::RUNNING_MAX,
            running_per_session: limits::CONNECTION_RUNNING_MAX,
            waiting_per_session: limits::CONNECTION_WAITING_MAX,
            waiting_bytes_per_session: limits::CONNECTION_WAITING_MAX_BYTES,
            connections: limits::CONNECTIONS_MAX,
            children: limits::CHILDREN_MAX,
            children_waiting: limits::CHILDREN_WAITING_MAX,
            search_threads: std::thread::available_parallelism().map_or(1, usize::from).min(8),
            rebirths: 5,
            rebirth_window: Duration::from_secs(10),
        }
    }
}

impl Capacity {
    /// Blocking threads of the runtime: one for every request that may run, so that requests stuck on a dead file
    /// system never starve those of another, and some for syncs, sweeps and the opening of roots.
    pub fn blocking_threads(&self) -> usize {
        self.running + 64
    }
}

/// How long a cancelled read, search or list may take to notice before it is answered without its own word: long
/// enough for a page in memory, short enough when the file system hangs.
pub const CANCEL_GRACE: Duration = Duration::from_millis(50);

/// How long an idle blocking thread waits for more work before it ends.
pub const BLOCKING_KEEP_ALIVE: Duration = Duration::from_secs(5);

/// After the drain, how long cancelled requests may take to answer before the daemon ends without them.
pub const STOP_GRACE: Duration = Duration::from_secs(1);

/// HTTP connections over the bound that are told so at once; those beyond are closed without a word. Each is there for
/// up to two seconds, and anybody on this machine can open them: without a bound they would take every descriptor.
pub const HTTP_EXCESS: usize = 256;

/// How long after its timeout a command's reader may leave the last of its output untaken before the command is given
/// up, and with it its place.
pub const COMMAND_READER_GRACE: Duration = Duration::from_secs(60);

/// Largest page that a read answers in the caller's own task when the page cache holds it. Copying, checking and
/// hashing so much takes about 60 µs, no more than the hop to another thread and back; it is also the default page.
pub const READ_INLINE_MAX_BYTES: usize = 65_536;

/// How often a path is resolved anew when the tree changes under it, before the slower walk that needs no quiet moment.
pub const RESOLVE_ATTEMPTS: usize = 16;

/// Bytes that are written, hashed or read before a cancellation is asked for again: about 0.2 ms of hashing.
pub const CHUNK_BYTES: usize = 262_144;

/// How often a mutation starts anew when others change its file between the check and the rename, before it gives up.
pub const COMMIT_ATTEMPTS: usize = 8;

/// Entries that the sweep of a root looks at before it gives up: as many as a search walks.
pub const SWEEP_MAX_ENTRIES: usize = 1_000_000;

/// A folder that was swept rests so many times as long as the sweep took, so that writes to a large folder spend
/// at most a twentieth of their time on leftovers …
pub const SWEEP_REST_FACTOR: u32 = 20;

/// … but at least this long, so that a burst of writes to a small folder shares one sweep …
pub const SWEEP_REST_MIN: Duration = Duration::from_millis(20);

/// … and never longer than this.
pub const SWEEP_REST_MAX: Duration = Duration::from_secs(1);

/// Folders whose rest is remembered.
pub const SWEEP_FOLDERS_MAX: usize = 1_024;

/// Directories between a walk's beginning and its place that stay open. Those above are opened again on the way back.
pub const WALK_DIRECTORIES_KEPT: usize = 64;

/// Room for one getdents(2), between two looks at the cancellation: some thousand names.
pub const WALK_CHUNK_BYTES: usize = 32 * 1024;

/// Room that a file gets when it grew between fstat(2) and read(2).
pub const READ_GROWTH_BYTES: usize = 64 * 1024;

/// Lines of an ignore file that are compiled together, between two looks at the cancellation.
pub const IGNORE_BLOCK_LINES: usize = 128;

/// Streamed matches and entries that wait are sent together after so long …
pub const STREAM_BATCH_TIME: Duration = Duration::from_millis(5);

/// … or when they are so large.
pub const STREAM_BATCH_BYTES: u64 = 32 * 1024;

/// Compiled patterns that are kept: as many as a person or an agent goes back and forth between.
pub const PATTERNS_KEPT: usize = 8;

/// Largest compiled form of a pattern's candidates. One that is larger is no help: lines are then asked one by one.
pub const CANDIDATES_MAX_BYTES: usize = 16 * 1024 * 1024;

/// What one thread's cache for candidates may grow to.
pub const CANDIDATES_CACHE_BYTES: usize = 8 * 1024 * 1024;

/// Files that a search looks at before it thinks of other threads …
pub const SEARCH_ALONE_FILES: u64 = 32;

/// … unless they hold so many bytes.
pub const SEARCH_ALONE_BYTES: u64 = 1024 * 1024;

/// Files that are handed to a thread together, at most: enough to make handing over cheap.
pub const SEARCH_BATCH_FILES: u64 = 32;

/// What those files should hold together, judged by the files before them.
pub const SEARCH_BATCH_BYTES: u64 = 512 * 1024;

/// Directories that those files may be in: each is held open until they are done.
pub const SEARCH_BATCH_DIRECTORIES: usize = 8;

/// Batches, waiting or done, between a search's walk and its answer, for each of its threads.
pub const SEARCH_WINDOW_BATCHES: usize = 4;

/// A search hires its threads one by one while so many batches wait.
pub const SEARCH_HIRING_BATCHES: usize = 2;

/// Bytes of matches that are kept ahead of the answer; files beyond wait until the answer has come to them.
pub const SEARCH_AHEAD_BYTES: u64 = 4 * 1024 * 1024;

/// Entries without a file to search, before a search looks whether there is something to send.
pub const SEARCH_IDLE_ENTRIES: u64 = 1_024;

/// How often the client of a call is told of its progress: often enough to see that something happens, rarely enough
/// to cost nothing.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// How long calls wait for the roots that a client offered to name.
pub const ROOTS_PATIENCE: Duration = Duration::from_secs(2);

/// How long the calls of a client whose input has ended may take to be answered, before they are cancelled. It is on
/// its way out, and its next step is SIGTERM.
pub const FAREWELL_CALLS: Duration = Duration::from_secs(5);

/// Calls of one client that are not answered yet, before it is no longer read …
pub const CALLS_MAX: usize = 1_024;

/// … and the bytes of their requests.
pub const CALLS_MAX_BYTES: usize = 4 * 1024 * 1024;

/// How long a plugin may take to end after its stdin was closed, before it gets TERM …
pub const PLUGIN_EOF_GRACE: Duration = Duration::from_millis(1_000);

/// … and after that, before its whole tree is killed.
pub const PLUGIN_TERM_GRACE: Duration = Duration::from_millis(500);

/// How long the end of the daemon, or of the one-request process, waits for its plugins: both graces, and the death of
/// a tree.
pub const PLUGIN_CLOSE_MAX: Duration = Duration::from_millis(3_000);

/// A plugin that closed its stdin or stdout has so long to say by its exit status why.
pub const PLUGIN_EXIT_WAIT: Duration = Duration::from_millis(250);

/// How long the goodbye to an HTTP server, and the word that a call was cancelled, may take.
pub const PLUGIN_GOODBYE_MAX: Duration = Duration::from_secs(1);

/// The pause before a plugin is started anew after it failed twice; it doubles each time …
pub const PLUGIN_PAUSE_MIN: Duration = Duration::from_millis(250);

/// … up to this. A session that lived so long starts the count anew.
pub const PLUGIN_PAUSE_MAX: Duration = Duration::from_secs(30);

/// Bytes that may wait for a plugin's stdin before further calls wait for room.
pub const PLUGIN_STDIN_WAITING_BYTES: usize = 4 * 1024 * 1024;

/// One read of a plugin's stdout, and what its buffer shrinks to after a large message.
pub const PLUGIN_READ_BYTES: usize = 64 * 1024;

/// Progress of one call that waits for its reader; more is dropped.
pub const PLUGIN_PROGRESS_WAITING: usize = 64;

/// Answers to a server's own requests that wait to be posted; more are dropped.
pub const PLUGIN_ANSWERS_WAITING: usize = 16;

/// Longest line of a plugin's stderr in the log, in bytes.
pub const PLUGIN_LOG_LINE_BYTES: usize = 1_024;

/// Lines about one plugin that the log takes in a second.
pub const PLUGIN_LOG_LINES_PER_SECOND: u32 = 50;

/// Redirects within its own origin that an HTTP server may answer the handshake with.
pub const PLUGIN_REDIRECTS_MAX: usize = 3;

/// The pause before an HTTP server's stream is opened anew, when the server names none; it doubles each time …
pub const PLUGIN_REOPEN_PAUSE_MIN: Duration = Duration::from_millis(100);

/// … up to this.
pub const PLUGIN_REOPEN_PAUSE_MAX: Duration = Duration::from_secs(30);

/// How often a stream of an HTTP server's is taken up again in vain, before it is given up.
pub const PLUGIN_REOPENS_MAX: usize = 8;
