use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use super::{Attempt, Retrying, delay};
use crate::config::{Backoff, RetrySettings};
use crate::provider::testing::request;
use crate::provider::{Boxed, Category, Error, EventStream, Provider, Reply, Request, StreamEvent, Usage};

const MS: Duration = Duration::from_millis(1);

#[test]
fn waits_follow_the_vectors() {
    let policy = |backoff, initial_ms: u32| RetrySettings {
        backoff,
        initial_delay: initial_ms * MS,
        ..RetrySettings::default()
    };
    let exponential = policy(Backoff::Exponential, 500);
    for (n, least_ms, most_ms) in
        [(0, 500, 1000), (1, 1000, 1500), (3, 4000, 4500), (10, 30_000, 30_001), (u32::MAX, 30_000, 30_001)]
    {
        assert_eq!(delay(&exponential, n, 0.0), least_ms * MS);
        assert!(delay(&exponential, n, 0.999_999) < most_ms * MS);
    }
    let linear = policy(Backoff::Linear, 500);
    assert_eq!([0, 1, 2, u32::MAX].map(|n| delay(&linear, n, 0.5).as_millis()), [500, 1000, 1500, 30_000]);
    assert_eq!(delay(&policy(Backoff::Fixed, 500), 9, 0.5), 500 * MS);
    assert_eq!(delay(&policy(Backoff::Fixed, 40_000), 0, 0.5), 30_000 * MS);
    let huge = RetrySettings { initial_delay: Duration::MAX, ..RetrySettings::default() };
    for backoff in [Backoff::Exponential, Backoff::Linear, Backoff::Fixed] {
        assert_eq!(delay(&RetrySettings { backoff, ..huge }, 1, 0.0), huge.max_delay);
    }
}

/// What the provider does at one try, after so many milliseconds.
#[derive(Clone)]
enum Step {
    Reply(u64),
    Fail(u64, Error),
    /// Streams only: the connection stands, and then this comes.
    Events(Vec<Result<StreamEvent, Error>>),
}

struct Scripted(Mutex<VecDeque<Step>>);

impl Scripted {
    fn next(&self) -> Step {
        self.0.lock().unwrap().pop_front().expect("one try too many")
    }
}

impl Provider for Scripted {
    fn complete<'a>(&'a self, _request: &'a Request) -> Boxed<'a, Result<Reply, Error>> {
        Box::pin(async {
            match self.next() {
                Step::Reply(ms) => {
                    sleep(Duration::from_millis(ms)).await;
                    Ok(Reply::default())
                }
                Step::Fail(ms, error) => {
                    sleep(Duration::from_millis(ms)).await;
                    Err(error)
                }
                Step::Events(_) => unreachable!(),
            }
        })
    }

    fn stream<'a>(&'a self, _request: &'a Request) -> Boxed<'a, Result<EventStream, Error>> {
        Box::pin(async {
            match self.next() {
                Step::Events(events) => Ok(Box::pin(stream::iter(events)) as EventStream),
                Step::Reply(ms) => {
                    // One event at once and the rest too late.
                    let rest = stream::once(async move {
                        sleep(Duration::from_millis(ms)).await;
                        Ok(done())
                    });
                    Ok(Box::pin(stream::iter([Ok(text())]).chain(rest)) as EventStream)
                }
                Step::Fail(ms, error) => {
                    sleep(Duration::from_millis(ms)).await;
                    Err(error)
                }
            }
        })
    }
}

fn fail(category: Category) -> Step {
    Step::Fail(0, Error::new(category, "m"))
}

fn asking(category: Category, seconds: u64) -> Step {
    Step::Fail(0, Error { retry_after: Some(Duration::from_secs(seconds)), ..Error::new(category, "m") })
}

fn text() -> StreamEvent {
    StreamEvent::Text("x".to_owned())
}

fn done() -> StreamEvent {
    StreamEvent::Done { stop_reason: "stop".to_owned(), usage: Usage::default(), is_refusal: false }
}

struct Trial {
    retrying: Retrying,
    count: Arc<AtomicU64>,
    seen: Arc<Mutex<Vec<Attempt>>>,
    start: Instant,
}

/// Fixed waits of half a second.
fn trial(max_retries: u32, deadline: Option<Duration>, steps: Vec<Step>) -> Trial {
    let policy = RetrySettings { max_retries, backoff: Backoff::Fixed, ..RetrySettings::default() };
    let (count, seen, start) =
        (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())), Instant::now());
    let retrying = Retrying::new(
        Box::new(Scripted(Mutex::new(steps.into()))),
        policy,
        deadline.map(|time| start + time),
    )
    .counting(count.clone())
    .observed({
        let seen = seen.clone();
        move |attempt| seen.lock().unwrap().push(attempt)
    })
    .randomly(|| 0.0);
    Trial { retrying, count, seen, start }
}

impl Trial {
    /// The outcome of a request, the milliseconds that it took and the retries that were counted.
    async fn complete(&self) -> (Result<(), String>, u128, u64) {
        let outcome = self.retrying.complete(&request()).await;
        self.report(outcome.map(|_| ()))
    }

    async fn stream(&self) -> (Result<(), String>, u128, u64) {
        let outcome = async {
            let mut stream = self.retrying.stream(&request()).await?;
            while let Some(event) = stream.next().await {
                event?;
            }
            Ok(())
        };
        self.report(outcome.await)
    }

    fn report(&self, outcome: Result<(), Error>) -> (Result<(), String>, u128, u64) {
        let outcome = outcome.map_err(|error| error.to_string());
        (outcome, self.start.elapsed().as_millis(), self.count.load(Ordering::Relaxed))
    }
}

fn err(text: &str) -> Result<(), String> {
    Err(text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again() {
    use Category::{Auth, BadRequest, Overloaded, RateLimit, Server, Timeout};
    for (max, steps, expected) in [
        (0, vec![fail(Server)], (err("server: m"), 0, 0)),
        (2, vec![fail(Server), Step::Reply(0)], (Ok(()), 500, 1)),
        (3, vec![fail(RateLimit), fail(Overloaded), fail(Timeout), Step::Reply(0)], (Ok(()), 1500, 3)),
        (2, vec![fail(Server), fail(RateLimit), fail(Overloaded)], (err("overloaded: m"), 1000, 2)),
        (2, vec![fail(Auth)], (err("auth: m"), 0, 0)),
        (2, vec![fail(BadRequest)], (err("bad_request: m"), 0, 0)),
        (2, vec![fail(Server), fail(Auth)], (err("auth: m"), 500, 1)),
    ] {
        assert_eq!(trial(max, None, steps).complete().await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_has_its_own_count() {
    let steps = vec![fail(Category::Server), Step::Reply(0), fail(Category::Server), Step::Reply(0)];
    let trial = trial(1, None, steps);
    assert_eq!(trial.complete().await, (Ok(()), 500, 1));
    assert_eq!(trial.complete().await, (Ok(()), 1000, 2));
}

#[tokio::test(start_paused = true)]
async fn the_provider_may_ask_for_a_longer_wait_but_not_for_a_shorter_one() {
    let steps = vec![asking(Category::RateLimit, 40), Step::Reply(0)];
    assert_eq!(trial(1, None, steps).complete().await, (Ok(()), 40_000, 1));
    let steps = vec![asking(Category::RateLimit, 0), Step::Reply(0)];
    assert_eq!(trial(1, None, steps).complete().await, (Ok(()), 500, 1));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_all() {
    let second = Some(Duration::from_secs(1));
    // Under way.
    let steps = vec![Step::Reply(5000)];
    assert_eq!(trial(3, second, steps).complete().await, (err("timeout: the deadline passed"), 1000, 0));
    // No time left to wait.
    let steps = vec![asking(Category::RateLimit, 60)];
    let expected = err("timeout: the deadline leaves no time for another try after rate_limit: m");
    assert_eq!(trial(3, second, steps).complete().await, (expected.clone(), 0, 0));
    let steps = vec![fail(Category::RateLimit), Step::Fail(100, Error::new(Category::RateLimit, "m"))];
    assert_eq!(trial(3, second, steps).complete().await, (expected, 600, 1));
    // A try that would fit fits.
    let steps = vec![fail(Category::Server), Step::Reply(400)];
    assert_eq!(trial(3, second, steps).complete().await, (Ok(()), 900, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_tried_again_until_its_first_event() {
    use Category::{Overloaded, Server};
    let events = |events: Vec<Result<StreamEvent, Error>>| Step::Events(events);
    let broken = || Err(Error::new(Overloaded, "m"));
    for (steps, expected) in [
        (vec![fail(Server), events(vec![Ok(text()), Ok(done())])], (Ok(()), 500, 1)),
        (vec![events(vec![broken()]), events(vec![Ok(text()), Ok(done())])], (Ok(()), 500, 1)),
        (vec![events(vec![]), events(vec![Ok(done())])], (Ok(()), 500, 1)),
        (vec![events(vec![Ok(text()), broken()])], (err("overloaded: m"), 0, 0)),
        (
            vec![events(vec![broken()]), events(vec![broken()]), events(vec![broken()])],
            (err("overloaded: m"), 1000, 2),
        ),
    ] {
        assert_eq!(trial(2, None, steps).stream().await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_stream_as_well() {
    let trial = trial(2, Some(Duration::from_secs(1)), vec![Step::Reply(5000)]);
    assert_eq!(trial.stream().await, (err("timeout: the deadline passed"), 1000, 0));
}

#[tokio::test(start_paused = true)]
async fn retries_are_announced() {
    let trial = trial(3, None, vec![fail(Category::RateLimit), asking(Category::Server, 2), Step::Reply(0)]);
    trial.complete().await.0.unwrap();
    let lines: Vec<String> = trial.seen.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "[retry] Attempt 1/3 after rate_limit, waiting 500ms",
            "[retry] Attempt 2/3 after server, waiting 2000ms"
        ]
    );
}
