//! How much and how long a door bears with a client.

use std::time::Duration;

use axlr_protocol::limits;

use crate::capacity::HTTP_EXCESS;

/// The bounds of a door's connections. Tests shrink them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Connections at once, over all doors.
    pub(super) connections: usize,
    /// Connections beyond these that are told so, at once. One more is closed without a word.
    pub(super) excess: usize,
    /// For a request's head, from its first byte.
    pub(super) head: Duration,
    /// For a request's body.
    pub(super) body: Duration,
    /// Between requests.
    pub(super) idle: Duration,
    /// For a client that takes nothing of an answer, when no command runs for it.
    pub(super) stall: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: limits::HTTP_CONNECTIONS_MAX,
            excess: HTTP_EXCESS,
            head: Duration::from_millis(limits::HTTP_HEAD_TIMEOUT_MS),
            body: Duration::from_millis(limits::HTTP_BODY_TIMEOUT_MS),
            idle: Duration::from_millis(limits::HTTP_IDLE_TIMEOUT_MS),
            stall: Duration::from_millis(limits::HTTP_STALL_TIMEOUT_MS),
        }
    }
}
