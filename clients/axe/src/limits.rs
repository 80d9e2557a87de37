//! The numbers of axe that a user can feel, each with its unit.

use std::time::Duration;

/// Turns that an agent may take when nothing else is said.
pub const DEFAULT_MAX_TURNS: u32 = 50;
/// Time of a whole run when nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// Depth of sub-agents when nothing else is said.
pub const DEFAULT_MAX_DEPTH: u32 = 3;
/// Largest depth of sub-agents: each level multiplies what a run may cost.
pub const MAX_DEPTH: u32 = 5;

/// First wait before a request is sent again.
pub const DEFAULT_INITIAL_DELAY: Duration = Duration::from_millis(500);
/// Longest wait before a request is sent again.
pub const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(30);

/// Most that is read from stdin, in bytes: far more than a model takes, far less than memory.
pub const STDIN_MAX_BYTES: u64 = 32 * 1024 * 1024;
/// From this size on, in bytes, all context files together are worth a warning: few models take more.
pub const LARGE_CONTEXT_BYTES: usize = 512 * 1024;
/// A NUL among this many first bytes marks a context file as binary.
pub const BINARY_PREFIX_BYTES: usize = 512;

/// Bytes of a run's final text that its memory keeps.
pub const MEMORY_RESULT_MAX_BYTES: usize = 1000;
/// Time of the one request of a collection.
pub const GC_TIMEOUT: Duration = Duration::from_secs(120);
/// Tokens of its reply.
pub const GC_MAX_TOKENS: u64 = 4096;

/// Bytes of a tool's output that the JSON envelope shows; what the model gets is not cut by this.
pub const DETAIL_OUTPUT_MAX_BYTES: usize = 1024;
/// Bytes of a text that a line of diagnostics shows of it.
pub const PREVIEW_MAX_BYTES: usize = 80;
