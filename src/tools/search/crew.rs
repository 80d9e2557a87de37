//! Many files at once: the calling thread walks and takes the results in order, and between those looks at files
//! itself; hired threads look at files ahead of it.
//!
//! What is read ahead is bounded by [`SEARCH_WINDOW_BATCHES`] and [`SEARCH_AHEAD_BYTES`]; whatever it holds, only
//! what the [`Front`] takes in order is part of the answer, so the number of threads can't be told from it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::Search;
use super::batch::{Batch, WalkEnd};
use super::candidates::Candidates;
use super::file::{Hand, Outcome};
use super::front::{Flow, Front};
use super::pattern::Compiled;
use super::scan::{Job, Take};
use crate::cancel::Cancel;
use crate::capacity::{
    SEARCH_AHEAD_BYTES, SEARCH_BATCH_BYTES, SEARCH_BATCH_FILES, SEARCH_HIRING_BATCHES, SEARCH_WINDOW_BATCHES,
};
use crate::tools::Error;
use crate::tools::tour::cancelled;

/// What the threads of one search share.
struct Crew<'s> {
    search: &'s Search,
    desk: Mutex<Desk>,
    /// Somebody may take a waiting batch, or go home.
    work: Condvar,
    /// The batch that the front waits for may be done.
    done: Condvar,
    is_over: AtomicBool,
    /// How many matches lie between the front and the page.
    to_pass: AtomicU64,
    /// Bytes of the matches in batches that are done or under way.
    kept: AtomicU64,
}

#[derive(Default)]
struct Desk {
    waiting: VecDeque<Batch>,
    done: Vec<Batch>,
    idle: usize,
    is_front_waiting: bool,
    has_lost_a_thread: bool,
}

/// What both ends of a search work with.
pub(super) struct Ends<'e, 's> {
    pub(super) candidates: &'e mut Candidates<'s>,
    pub(super) front: &'e mut Front<'s>,
    pub(super) hand: &'e mut Hand<'s>,
}

/// Searches on from where the ends are, with at most so many threads, the calling one included.
///
/// # Errors
/// Those of the walk and of the front.
pub(super) fn search_with(
    threads: usize,
    (search, pattern, cancel): (&Search, &Compiled, &Cancel),
    ends: Ends<'_, '_>,
) -> Result<(), Error> {
    let crew = Crew {
        search,
        desk: Mutex::default(),
        work: Condvar::new(),
        done: Condvar::new(),
        is_over: AtomicBool::new(false),
        to_pass: AtomicU64::new(ends.front.to_pass()),
        kept: AtomicU64::new(0),
    };
    let stop = || crew.is_over.load(Ordering::Relaxed) || cancel.is_cancelled();
    let job = Job { pattern, context: search.context_lines, stop: &stop };
    thread::scope(|scope| {
        let _closing = Closing(&crew);
        let hire = |number: usize| {
            let name = format!("axlr-search-{number}");
            thread::Builder::new().name(name).spawn_scoped(scope, || crew.work(Hand::new(job))).is_ok()
        };
        Shift { crew: &crew, ends, threads, hired: 0, handed_out: 0, taken: 0, spare: Vec::new() }.run(hire)
    })
}

/// The calling thread's part.
struct Shift<'c, 'e, 's> {
    crew: &'c Crew<'c>,
    ends: Ends<'e, 's>,
    threads: usize,
    hired: usize,
    /// Batches handed out so far.
    handed_out: u64,
    /// Batches that the front has taken.
    taken: u64,
    spare: Vec<Batch>,
}

impl Shift<'_, '_, '_> {
    fn run(mut self, hire: impl Fn(usize) -> bool) -> Result<(), Error> {
        let window = (SEARCH_WINDOW_BATCHES * self.threads) as u64;
        let mut end = None;
        loop {
            if let Some(batch) = self.crew.take_done(self.taken) {
                if self.take(batch)? == Flow::Decided {
                    return Ok(());
                }
            } else if end.is_none() && self.handed_out - self.taken < window {
                end = self.walk_on(&hire)?;
            } else if let Some(batch) = self.crew.take_waiting() {
                if self.examine(batch)? == Flow::Decided {
                    return Ok(());
                }
            } else if self.taken < self.handed_out {
                if !self.crew.wait_for(self.taken) {
                    // A thread panicked, and so will this one when the scope ends.
                    return Err(cancelled());
                }
            } else {
                let ignored = self.ends.candidates.ignored();
                self.ends.front.close(ignored, end == Some(WalkEnd::Limit));
                return Ok(());
            }
        }
    }

    /// Walks on, and hands out what was found.
    fn walk_on(&mut self, hire: &impl Fn(usize) -> bool) -> Result<Option<WalkEnd>, Error> {
        let mut batch = self.spare.pop().unwrap_or_default();
        let mean = self.ends.front.bytes() / self.ends.front.files().max(1);
        let most = (SEARCH_BATCH_BYTES / mean.max(1)).clamp(1, SEARCH_BATCH_FILES);
        let end = batch.fill(self.ends.candidates, most as usize)?;
        self.ends.front.tick()?;
        if batch.len() == 0 {
            self.spare.push(batch);
            return Ok(end);
        }
        batch.index = self.handed_out;
        self.handed_out += 1;
        let is_much = self.crew.hand_out(batch);
        if is_much && self.hired + 1 < self.threads {
            // Where no thread is to be had, this one does it all.
            self.hired = if hire(self.hired) { self.hired + 1 } else { self.threads };
        }
        Ok(end)
    }

    /// Looks at the files of a batch on this thread.
    fn examine(&mut self, mut batch: Batch) -> Result<Flow, Error> {
        if batch.index == self.taken {
            // It is the front's next one: nothing of it is speculative.
            return self.take(batch);
        }
        self.crew.examine(&mut batch, self.ends.hand);
        self.crew.put_done(batch);
        Ok(Flow::On)
    }

    /// Takes a batch into the answer, in order.
    fn take(&mut self, mut batch: Batch) -> Result<Flow, Error> {
        let mut outcomes = std::mem::take(&mut batch.outcomes);
        let kept: u64 = outcomes.iter().map(Outcome::kept_bytes).sum();
        let mut given = outcomes.drain(..);
        for number in 0..batch.len() {
            let position = batch.position(number);
            let hand = &mut *self.ends.hand;
            let mut examine = |take: Take| match batch.directory(number) {
                Ok(directory) => hand.examine(directory, position.path, take),
                Err(outcome) => outcome,
            };
            let outcome = given.next().unwrap_or(Outcome::Deferred);
            if self.ends.front.admit(position, outcome, &mut examine)? == Flow::Decided {
                return Ok(Flow::Decided);
            }
        }
        drop(given);
        batch.outcomes = outcomes;
        batch.close();
        self.spare.push(batch);
        self.taken += 1;
        self.crew.kept.fetch_sub(kept, Ordering::Relaxed);
        self.crew.to_pass.store(self.ends.front.to_pass(), Ordering::Relaxed);
        Ok(Flow::On)
    }
}

impl Crew<'_> {
    /// A hired thread's part.
    fn work(&self, mut hand: Hand<'_>) {
        let _alarm = Alarm(self);
        while let Some(mut batch) = self.wait_for_work() {
            self.examine(&mut batch, &mut hand);
            self.put_done(batch);
        }
    }

    /// Looks at the files of a batch ahead of the front.
    fn examine(&self, batch: &mut Batch, hand: &mut Hand<'_>) {
        for number in 0..batch.len() {
            let outcome = match batch.directory(number) {
                Ok(_) if self.kept.load(Ordering::Relaxed) > SEARCH_AHEAD_BYTES => Outcome::Deferred,
                Ok(directory) => {
                    let to_pass = self.to_pass.load(Ordering::Relaxed);
                    hand.examine(directory, batch.position(number).path, self.search.take_ahead(to_pass))
                }
                Err(outcome) => outcome,
            };
            self.kept.fetch_add(outcome.kept_bytes(), Ordering::Relaxed);
            batch.outcomes.push(outcome);
        }
    }

    /// Adds a batch to those that wait. Says whether there is more to do than the threads at work will soon have done.
    fn hand_out(&self, batch: Batch) -> bool {
        let mut desk = self.desk();
        desk.waiting.push_back(batch);
        if desk.idle > 0 {
            self.work.notify_one();
            return false;
        }
        desk.waiting.len() >= SEARCH_HIRING_BATCHES
    }

    fn take_waiting(&self) -> Option<Batch> {
        self.desk().waiting.pop_front()
    }

    fn wait_for_work(&self) -> Option<Batch> {
        let mut desk = self.desk();
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(batch) = desk.waiting.pop_front() {
                return Some(batch);
            }
            desk.idle += 1;
            desk = self.work.wait(desk).unwrap_or_else(PoisonError::into_inner);
            desk.idle -= 1;
        }
    }

    fn put_done(&self, batch: Batch) {
        let mut desk = self.desk();
        desk.done.push(batch);
        if desk.is_front_waiting {
            self.done.notify_one();
        }
    }

    fn take_done(&self, index: u64) -> Option<Batch> {
        self.desk().take_done(index)
    }

    /// Waits until that batch is done; `false` when a thread was lost and it may never be.
    fn wait_for(&self, index: u64) -> bool {
        let mut desk = self.desk();
        while !desk.is_done(index) && !desk.has_lost_a_thread {
            desk.is_front_waiting = true;
            desk = self.done.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
        desk.is_front_waiting = false;
        desk.is_done(index)
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    fn take_done(&mut self, index: u64) -> Option<Batch> {
        let place = self.done.iter().position(|batch| batch.index == index)?;
        Some(self.done.swap_remove(place))
    }

    fn is_done(&self, index: u64) -> bool {
        self.done.iter().any(|batch| batch.index == index)
    }
}

/// Sends the hired threads home, however the calling thread leaves.
struct Closing<'c>(&'c Crew<'c>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        // Under the lock: a thread is either waiting, and is woken, or will see it before it waits.
        let _desk = self.0.desk();
        self.0.is_over.store(true, Ordering::Relaxed);
        self.0.work.notify_all();
    }
}

/// Wakes the front when a hired thread panics.
struct Alarm<'c>(&'c Crew<'c>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.desk().has_lost_a_thread = true;
            self.0.done.notify_one();
        }
    }
}
