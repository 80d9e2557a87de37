//! What the daemon counts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axlr_protocol::tool::{ServerStatsOutput, ToolStats};
use axlr_protocol::{Status, Tool};
use hdrhistogram::Histogram;
use tokio::sync::Notify;

/// Bytes and connections. The doors count.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes received.
    pub bytes_in: AtomicU64,
    /// Bytes sent.
    pub bytes_out: AtomicU64,
    connections: AtomicUsize,
    http_connections: AtomicUsize,
    /// Told when the last connection is closed.
    closed: Notify,
}

impl Traffic {
    /// Counts a connection of the socket. Returns how many of these are open with it.
    pub fn open(&self) -> usize {
        self.connections.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Counts the end of one.
    pub fn close(&self) {
        if self.connections.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.closed.notify_waiters();
        }
    }

    /// Counts a connection of an HTTP door, which has a bound of its own. Returns how many of these are open with it.
    pub fn open_http(&self) -> usize {
        self.http_connections.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Counts the end of one.
    pub fn close_http(&self) {
        if self.http_connections.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.closed.notify_waiters();
        }
    }

    /// How many connections are open, of both kinds.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Acquire) + self.http_connections.load(Ordering::Acquire)
    }

    /// Returns when none is open.
    pub(super) async fn all_closed(&self) {
        super::until(&self.closed, || self.connections() == 0).await;
    }
}

impl super::Inner {
    /// What `server.stats` answers.
    pub(super) fn stats(&self) -> ServerStatsOutput {
        let (stats, traffic) = (&self.stats, &self.stats.traffic);
        ServerStatsOutput {
            uptime_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            connections: traffic.connections() as u64,
            running: stats.running.load(Ordering::Relaxed) as u64,
            queued: stats.queued.load(Ordering::Relaxed) as u64,
            children: self.children.load(Ordering::Relaxed) as u64,
            detached: self.detached.load(Ordering::Relaxed) as u64,
            bytes_in: traffic.bytes_in.load(Ordering::Relaxed),
            bytes_out: traffic.bytes_out.load(Ordering::Relaxed),
            resident_bytes: crate::process::resident_bytes(),
            tools: stats.tools(),
        }
    }
}

#[derive(Default)]
pub(super) struct Stats {
    pub(super) traffic: Traffic,
    /// Requests that run and wait, over all sessions.
    pub(super) running: AtomicUsize,
    pub(super) queued: AtomicUsize,
    tools: [Counters; Tool::ALL.len()],
}

#[derive(Default)]
struct Counters {
    by_status: [AtomicU64; 5],
    in_flight: AtomicU64,
    /// Microseconds; made at the first request, since most tools of most daemons see none.
    latency: Mutex<Option<Histogram<u32>>>,
}

impl Stats {
    pub(super) fn began(&self, tool: Tool) {
        self.counters(tool).in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self, tool: Tool) {
        self.counters(tool).in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn answered(&self, tool: Tool, status: Status, took: Duration) {
        let counters = self.counters(tool);
        counters.by_status[status as usize].fetch_add(1, Ordering::Relaxed);
        let mut latency = counters.latency.lock().unwrap_or_else(PoisonError::into_inner);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        latency.get_or_insert_with(histogram).saturating_record(micros);
    }

    pub(super) fn tools(&self) -> BTreeMap<String, ToolStats> {
        let used = |tool: &&Tool| self.counters(**tool).is_used();
        Tool::ALL
            .iter()
            .filter(used)
            .map(|&tool| (tool.as_str().to_owned(), self.counters(tool).snapshot()))
            .collect()
    }

    fn counters(&self, tool: Tool) -> &Counters {
        &self.tools[tool as usize]
    }
}

/// One microsecond to an hour in two significant digits.
fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, 3_600_000_000, 2)
        .unwrap_or_else(|_| unreachable!("the bounds are constants"))
}

impl Counters {
    fn is_used(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
            || self.by_status.iter().any(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn snapshot(&self) -> ToolStats {
        let count = |status: Status| self.by_status[status as usize].load(Ordering::Relaxed);
        let latency = self.latency.lock().unwrap_or_else(PoisonError::into_inner);
        let quantile = |q| latency.as_ref().map_or(0, |histogram| histogram.value_at_quantile(q));
        ToolStats {
            completed: count(Status::Completed),
            rejected: count(Status::Rejected),
            failed: count(Status::Failed),
            cancelled: count(Status::Cancelled),
            timed_out: count(Status::TimedOut),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            p50_us: quantile(0.5),
            p99_us: quantile(0.99),
            max_us: latency.as_ref().map_or(0, Histogram::max),
        }
    }
}
