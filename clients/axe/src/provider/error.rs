//! Why a provider gave no reply.

use std::fmt;
use std::time::Duration;

/// The kinds of failure that users and retries tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// The key is missing, wrong or not allowed this.
    Auth,
    /// The request itself is at fault.
    BadRequest,
    /// Too many requests.
    RateLimit,
    /// The provider has too much to do.
    Overloaded,
    /// The deadline passed.
    Timeout,
    /// Everything else: the provider's side or the way to it failed.
    Server,
}

impl Category {
    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::BadRequest => "bad_request",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Server => "server",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request that brought no reply.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{category}: {message}")]
pub struct Error {
    /// Its kind.
    pub category: Category,
    /// One line for a person; holds no key.
    pub message: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}
