//! Sizes and times of the providers.

use std::time::Duration;

/// Bytes of a whole reply.
pub const REPLY_MAX_BYTES: usize = 32 * 1024 * 1024;

/// Bytes of a whole stream: each token comes wrapped in some hundred bytes.
pub const STREAM_MAX_BYTES: usize = 256 * 1024 * 1024;

/// Bytes of one line or frame of a stream. A call's arguments may come in one.
pub const EVENT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of an error's body that are read.
pub const ERROR_MAX_BYTES: usize = 64 * 1024;

/// Bytes of a provider's words in an error.
pub const MESSAGE_MAX_BYTES: usize = 1000;

/// What Anthropic gets where the agent names no cap: it insists on one.
pub const ANTHROPIC_MAX_TOKENS: u64 = 4096;

/// How long the rest of a stream is waited for once the reply is complete, so that its connection can be used again.
pub const LINGER: Duration = Duration::from_millis(200);

/// Credentials of AWS are asked for anew this long before they end.
pub const CREDENTIALS_MARGIN: Duration = Duration::from_secs(60);
