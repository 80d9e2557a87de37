//! Another try, after a while.
//!
//! [`Retrying`] wraps a provider and is one. It also keeps the run's deadline, so that a provider needs no clock: whatever
//! is under way when it passes becomes a `timeout`. Time is tokio's, so tests that pause it need not wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, future};

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep, timeout_at};

use crate::config::{Backoff, RetrySettings};
use crate::provider::{Boxed, Category, Error, EventStream, Provider, Reply, Request, StreamEvent};

/// The wait before retry `n`, counted from 0. `random` is at least 0 and less than 1, so that those who failed together do
/// not come back together.
pub fn delay(settings: &RetrySettings, n: u32, random: f64) -> Duration {
    let first = settings.initial_delay;
    let delay = match settings.backoff {
        Backoff::Fixed => Some(first),
        Backoff::Linear => n.checked_add(1).and_then(|n| first.checked_mul(n)),
        Backoff::Exponential => {
            let doubled = 2_u32.checked_pow(n).and_then(|factor| first.checked_mul(factor));
            doubled.and_then(|doubled| doubled.checked_add(first.mul_f64(random)))
        }
    };
    delay.map_or(settings.max_delay, |delay| delay.min(settings.max_delay))
}

/// A retry that is about to be waited for. Shown, it is the line of verbose output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// How many there may be.
    pub of: u32,
    /// What went wrong.
    pub after: Category,
    /// How long it takes to begin.
    pub wait: Duration,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, of, after, wait } = self;
        write!(f, "[retry] Attempt {number}/{of} after {after}, waiting {}ms", wait.as_millis())
    }
}

/// A provider that tries again.
pub struct Retrying {
    inner: Box<dyn Provider>,
    settings: RetrySettings,
    deadline: Option<Instant>,
    count: Arc<AtomicU64>,
    observer: Box<dyn Fn(Attempt) + Send + Sync>,
    random: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl Retrying {
    /// Wraps `inner`, for a run that ends at `deadline`.
    pub fn new(inner: Box<dyn Provider>, settings: RetrySettings, deadline: Option<Instant>) -> Self {
        Self {
            inner,
            settings,
            deadline,
            count: Arc::default(),
            observer: Box::new(|_| {}),
            random: Box::new(fastrand::f64),
        }
    }

    /// Adds every retry to `count`.
    pub fn counting(mut self, count: Arc<AtomicU64>) -> Self {
        self.count = count;
        self
    }

    /// Tells `observer` of every retry, before it is waited for.
    pub fn observed(mut self, observer: impl Fn(Attempt) + Send + Sync + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Takes the random part of waits from elsewhere.
    pub fn randomly(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.random = Box::new(random);
        self
    }

    async fn with_retries<'a, T>(
        &'a self,
        attempt: impl Fn() -> Boxed<'a, Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut n = 0;
        loop {
            match in_time(self.deadline, attempt()).await.and_then(|outcome| outcome) {
                Err(error) if n < self.settings.max_retries && self.is_worth_another_try(&error) => {
                    self.pause(n, error).await?;
                    n += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn is_worth_another_try(&self, error: &Error) -> bool {
        let may_pass = matches!(
            error.category,
            Category::RateLimit | Category::Server | Category::Overloaded | Category::Timeout
        );
        may_pass && self.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    async fn pause(&self, n: u32, error: Error) -> Result<(), Error> {
        let wait = delay(&self.settings, n, (self.random)()).max(error.retry_after.unwrap_or_default());
        if self.deadline.is_some_and(|deadline| deadline.saturating_duration_since(Instant::now()) < wait) {
            // Waiting for the deadline would change nothing.
            let message = format!("the deadline leaves no time for another try after {error}");
            return Err(Error { category: Category::Timeout, message, ..error });
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        (self.observer)(Attempt {
            number: n + 1,
            of: self.settings.max_retries,
            after: error.category,
            wait,
        });
        sleep(wait).await;
        Ok(())
    }

    /// A stream whose first event is there. Up to then nobody has seen anything of it, and it can be asked for anew.
    async fn started(&self, request: &Request) -> Result<EventStream, Error> {
        let mut stream = self.inner.stream(request).await?;
        let first = match stream.next().await {
            Some(first) => first?,
            None => return Err(Error::server("the stream ended early")),
        };
        Ok(timed(first, stream, self.deadline))
    }
}

impl Provider for Retrying {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, Error>> {
        Box::pin(self.with_retries(move || self.inner.complete(request)))
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, Error>> {
        Box::pin(self.with_retries(move || Box::pin(self.started(request))))
    }
}

/// The rest of a stream, which ends with an error when the deadline passes.
fn timed(first: StreamEvent, rest: EventStream, deadline: Option<Instant>) -> EventStream {
    let rest = stream::unfold(Some(rest), move |rest| async move {
        let mut rest = rest?;
        match in_time(deadline, rest.next()).await {
            Ok(event) => Some((event?, Some(rest))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Box::pin(stream::once(future::ready(Ok(first))).chain(rest))
}

async fn in_time<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Result<T, Error> {
    let Some(deadline) = deadline else { return Ok(work.await) };
    timeout_at(deadline, work).await.map_err(|_| Error::new(Category::Timeout, "the deadline passed"))
}

#[cfg(test)]
mod tests;
