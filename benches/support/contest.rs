//! Short alternating turns.

use std::time::{Duration, Instant};

/// One way of doing the work.
pub(crate) struct Contestant<'a> {
    pub(crate) name: &'static str,
    act: Act<'a>,
}

/// Does the operation so many times and records how long each took.
type Act<'a> = Box<dyn FnMut(usize, &mut Vec<Duration>) + 'a>;

impl<'a> Contestant<'a> {
    /// Every operation is timed by itself.
    pub(crate) fn each(name: &'static str, mut operation: impl FnMut() + 'a) -> Self {
        Self::timed(name, move || {
            let start = Instant::now();
            operation();
            start.elapsed()
        })
    }

    /// Every operation says itself how long the part took that counts.
    pub(crate) fn timed(name: &'static str, mut operation: impl FnMut() -> Duration + 'a) -> Self {
        let act = move |count: usize, times: &mut Vec<Duration>| {
            times.extend((0..count).map(|_| operation()));
        };
        Self { name, act: Box::new(act) }
    }

    /// Many operations at once, for throughput: what counts is the share of each in the time of all.
    pub(crate) fn batch(name: &'static str, mut operations: impl FnMut(usize) + 'a) -> Self {
        let act = move |count: usize, times: &mut Vec<Duration>| {
            let start = Instant::now();
            operations(count);
            times.push(start.elapsed() / u32::try_from(count).unwrap());
        };
        Self { name, act: Box::new(act) }
    }

    /// How long so many operations take together.
    pub(crate) fn total(&mut self, count: u64) -> Duration {
        let count = usize::try_from(count).unwrap();
        let mut times = Vec::with_capacity(count);
        (self.act)(count, &mut times);
        times.iter().sum::<Duration>().mul_f64(count as f64 / times.len() as f64)
    }
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Turns of each contestant in one run.
    pub(crate) turns: usize,
    /// Operations in one turn.
    pub(crate) operations: usize,
}

/// What one contestant took in the two runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    /// Median of the medians of the turns, in each run.
    pub(crate) p50: [Duration; 2],
    /// The 99th percentile of all operations of both runs.
    pub(crate) p99: Duration,
}

/// Two runs of alternating turns. Each turn begins with another contestant than the one before, and is led by an
/// operation that does not count: the caches are those of the others.
pub(crate) fn alternate(contestants: &mut [Contestant<'_>], effort: Effort) -> Vec<Measure> {
    let mut all = vec![Vec::new(); contestants.len()];
    let mut runs = [0, 1].map(|_| {
        let mut medians = vec![Vec::new(); contestants.len()];
        for turn in 0..effort.turns {
            for place in 0..contestants.len() {
                let index = (turn + place) % contestants.len();
                let mut times = Vec::with_capacity(effort.operations);
                (contestants[index].act)(1, &mut Vec::new());
                (contestants[index].act)(effort.operations, &mut times);
                all[index].extend_from_slice(&times);
                medians[index].push(quantile(&mut times, 0.5));
            }
        }
        medians
    });
    all.iter_mut()
        .enumerate()
        .map(|(index, times)| Measure {
            p50: runs.each_mut().map(|medians| quantile(&mut medians[index], 0.5)),
            p99: quantile(times, 0.99),
        })
        .collect()
}

/// The smallest value that so large a part of them does not pass.
pub(crate) fn quantile(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    let rank = (times.len() as f64 * part).ceil() as usize;
    times[rank.clamp(1, times.len()) - 1]
}
