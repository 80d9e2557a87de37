//! The life of a program: one `select!` over its output, its end, its deadline and its cancellation.

use std::future::pending;
use std::io;
use std::time::Duration;

use axlr_protocol::{EventBody, limits};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, timeout_at};

use super::capacity::{LAST_WORDS_WAIT, PIPE_BYTES, PIPE_FIRST_BYTES, TREE_DEATH_WAIT};
use super::capture::{Capture, Captured, Source, Tail};
use super::controls::{Control, Controls};
use super::feed::Feed;
use super::{Child, Command, Containment, Detached, ExitStatus, Input, StartError};
use crate::cancel::Cancel;

/// A program and how it is to be run.
pub struct Job {
    /// What to start. Its `stdin` is set by what follows.
    pub command: Command,
    /// Counted from the start of the program.
    pub timeout: Duration,
    /// Bound on captured stdout and stderr together, in bytes. Without effect when streaming.
    pub max_output_bytes: usize,
    /// What its stdin begins with.
    pub stdin: Vec<u8>,
    /// Whether more may come through [`Controls`].
    pub stdin_open: bool,
    /// Where output goes at once, instead of being captured. It is read only as fast as this channel takes it.
    pub events: Option<mpsc::Sender<EventBody>>,
    /// What reaches it from outside.
    pub controls: Option<Controls>,
}

/// How a program ended that was not stopped.
pub struct Report {
    /// How it ended.
    pub status: ExitStatus,
    /// Captured stdout; empty when streaming.
    pub stdout: String,
    /// Captured stderr; empty when streaming.
    pub stderr: String,
    /// Bytes captured, or sent when streaming.
    pub captured_bytes: u64,
    /// Bytes dropped.
    pub discarded_bytes: u64,
    /// Whether bytes were dropped, or somebody still held the output open.
    pub truncated: bool,
    /// What it left running.
    pub detached: Option<Detached>,
}

/// Why there is no [`Report`]. In the last two cases the whole tree is dead.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It was never started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its deadline passed.
    #[error("timed out")]
    TimedOut {
        /// The last characters of its output.
        tail: String,
    },
    /// It was cancelled, or nobody wants its events any more.
    #[error("cancelled")]
    Cancelled {
        /// The last characters of its output.
        tail: String,
    },
}

/// Runs a program to its end, its deadline or its cancellation.
///
/// # Errors
/// See [`RunError`].
///
/// Source: SPEC §3.4 and §6.
pub async fn run(containment: &Containment, mut job: Job, cancel: &Cancel) -> Result<Report, RunError> {
    let cancelled = || RunError::Cancelled { tail: String::new() };
    if cancel.is_cancelled() {
        return Err(cancelled());
    }
    job.command.stdin = if job.stdin_open || !job.stdin.is_empty() { Input::Pipe } else { Input::Null };
    let birth = containment.spawn(job.command);
    tokio::pin!(birth);
    let mut child = tokio::select! {
        child = &mut birth => child?,
        () = cancel.cancelled() => {
            // A birth takes a millisecond, and hangs where a file system does not answer; then whoever comes of it
            // is killed unseen.
            if let Ok(Ok(mut child)) = tokio::time::timeout(TREE_DEATH_WAIT, birth).await {
                child.kill().await;
            }
            return Err(cancelled());
        }
    };
    let life = Life {
        feed: Feed::new(child.stdin.take(), job.stdin, job.stdin_open),
        stdout: Stream::new(Source::Stdout, child.stdout.take()),
        stderr: Stream::new(Source::Stderr, child.stderr.take()),
        output: Output::new(job.max_output_bytes, job.events, child.pid()),
        controls: job.controls,
        phase: Phase::Running,
        child,
    };
    life.live(job.timeout, cancel).await
}

struct Life {
    child: Child,
    feed: Feed,
    stdout: Stream,
    stderr: Stream,
    output: Output,
    controls: Option<Controls>,
    phase: Phase,
}

/// How far a life has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The program runs.
    Running,
    /// It has ended; what it wrote is being read.
    Draining(ExitStatus),
    /// All of that is read, but somebody holds the pipes open and has a moment to let go.
    Waiting(ExitStatus),
    /// The moment is over and the group killed; what the pipes hold now is the last that is read.
    Closing(ExitStatus),
}

/// Why a life was stopped.
enum Stop {
    TimedOut,
    Cancelled,
}

impl Life {
    async fn live(mut self, timeout: Duration, cancel: &Cancel) -> Result<Report, RunError> {
        let deadline = tokio::time::sleep(timeout);
        let grace = tokio::time::sleep(Duration::ZERO);
        let cancelled = cancel.cancelled();
        tokio::pin!(deadline, grace, cancelled);
        loop {
            self.advance(grace.as_mut());
            if let Some(status) = self.ended() {
                return Ok(self.report(status));
            }
            let is_running = self.phase == Phase::Running;
            // While a chunk waits for the channel nothing is read, so the pipes hold the program back.
            let is_reading = self.output.is_idle();
            tokio::select! {
                () = &mut cancelled => return Err(self.stop(Stop::Cancelled).await),
                () = &mut deadline, if is_running => return Err(self.stop(Stop::TimedOut).await),
                () = &mut grace, if matches!(self.phase, Phase::Waiting(_)) => self.close(),
                delivered = self.output.deliver() => {
                    if !delivered {
                        return Err(self.stop(Stop::Cancelled).await);
                    }
                }
                status = self.child.exited(), if is_running => self.drain(status),
                ready = self.stdout.readable(), if is_reading && self.stdout.is_open() => {
                    self.stdout.read(ready, &mut self.output);
                }
                ready = self.stderr.readable(), if is_reading && self.stderr.is_open() => {
                    self.stderr.read(ready, &mut self.output);
                }
                () = self.feed.write(), if self.feed.wants_to_write() => {}
                control = next_control(&mut self.controls), if is_running => self.control(control),
            }
        }
    }

    fn ended(&self) -> Option<ExitStatus> {
        let is_over = !self.stdout.is_open() && !self.stderr.is_open() && self.output.is_idle();
        match self.phase {
            Phase::Running => None,
            Phase::Draining(status) | Phase::Waiting(status) | Phase::Closing(status) => {
                is_over.then_some(status)
            }
        }
    }

    /// The program has ended. What is in the pipes now is its own.
    fn drain(&mut self, status: ExitStatus) {
        self.phase = Phase::Draining(status);
        self.controls = None;
        self.stdout.owe();
        self.stderr.owe();
    }

    /// Begins the wait for a holder once the program's own output is delivered, however slowly: a slow reader is no
    /// holder.
    fn advance(&mut self, grace: std::pin::Pin<&mut Sleep>) {
        if let Phase::Draining(status) = self.phase
            && self.stdout.owes_nothing()
            && self.stderr.owes_nothing()
            && self.output.is_idle()
        {
            self.phase = Phase::Waiting(status);
            grace.reset(Instant::now() + Duration::from_millis(limits::EXEC_HOLDER_GRACE_MS));
        }
    }

    /// The wait is over.
    fn close(&mut self) {
        if let Phase::Waiting(status) = self.phase {
            self.phase = Phase::Closing(status);
            self.child.kill_group();
            self.output.is_truncated = true;
            self.stdout.close_after_owed();
            self.stderr.close_after_owed();
        }
    }

    fn control(&mut self, control: Option<Control>) {
        match control {
            Some(Control::Write { piece, eof }) => self.feed.push(piece, eof),
            Some(Control::Signal { signal, reply }) => {
                if self.child.signal(signal) {
                    let _ = reply.send(());
                }
            }
            Some(Control::EndOfInput) => self.feed.close(),
            None => {
                self.controls = None;
                self.feed.close();
            }
        }
    }

    fn report(self, status: ExitStatus) -> Report {
        let detached = self.child.settle();
        let is_truncated = self.output.is_truncated;
        let Captured { stdout, stderr, captured, discarded } = self.output.finish();
        Report {
            status,
            stdout,
            stderr,
            captured_bytes: captured,
            discarded_bytes: discarded,
            truncated: is_truncated || discarded > 0,
            detached,
        }
    }

    /// Kills the tree at once, then looks at what it wrote last. Who listens has a moment to take that.
    async fn stop(mut self, stop: Stop) -> RunError {
        self.child.kill().await;
        let end = Instant::now() + LAST_WORDS_WAIT;
        self.output.deliver_by(end).await;
        for stream in [&mut self.stdout, &mut self.stderr] {
            stream.close_after_owed();
            while stream.is_open() {
                stream.read_now(&mut self.output);
                self.output.deliver_by(end).await;
            }
        }
        let tail = self.output.tail.finish();
        match stop {
            Stop::TimedOut => RunError::TimedOut { tail },
            Stop::Cancelled => RunError::Cancelled { tail },
        }
    }
}

async fn next_control(controls: &mut Option<Controls>) -> Option<Control> {
    match controls {
        Some(controls) => controls.0.recv().await,
        None => pending().await,
    }
}

/// One of the program's pipes.
struct Stream {
    source: Source,
    /// None once it has ended or was closed.
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
    /// Bytes that were in the pipe at a moment that counts, and are not read yet.
    owed: u64,
    /// Whether it is closed once those are read.
    closes: bool,
}

impl Stream {
    fn new(source: Source, pipe: Option<Receiver>) -> Self {
        Self { source, pipe, buffer: vec![0; PIPE_FIRST_BYTES], owed: 0, closes: false }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    fn owes_nothing(&self) -> bool {
        self.pipe.is_none() || self.owed == 0
    }

    /// Notes what is in the pipe now.
    fn owe(&mut self) {
        if let Some(pipe) = &self.pipe {
            self.owed = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
        }
    }

    /// Reads what is in the pipe now and no more, whoever holds the other end.
    fn close_after_owed(&mut self) {
        self.owe();
        self.closes = true;
        if self.owed == 0 {
            self.pipe = None;
        }
    }

    async fn readable(&self) -> io::Result<()> {
        match &self.pipe {
            Some(pipe) => pipe.readable().await,
            None => pending().await,
        }
    }

    /// Reads once, when the reactor says that there is something.
    fn read(&mut self, ready: io::Result<()>, output: &mut Output) {
        let room = self.room();
        if let Some(pipe) = &self.pipe {
            let result = ready.and_then(|()| pipe.try_read(&mut self.buffer[..room]));
            self.take(result, output);
        }
    }

    /// Reads once, whatever the reactor has heard so far.
    fn read_now(&mut self, output: &mut Output) {
        let room = self.room();
        if let Some(pipe) = &self.pipe {
            let result = rustix::io::read(pipe, &mut self.buffer[..room]);
            self.take(result.map_err(io::Error::from), output);
        }
    }

    fn room(&self) -> usize {
        let most = if self.closes { usize::try_from(self.owed).unwrap_or(PIPE_BYTES) } else { PIPE_BYTES };
        self.buffer.len().min(most)
    }

    fn take(&mut self, result: io::Result<usize>, output: &mut Output) {
        match result {
            Ok(length @ 1..) => {
                output.push(self.source, &self.buffer[..length]);
                self.owed = self.owed.saturating_sub(length as u64);
                if self.closes && self.owed == 0 {
                    self.pipe = None;
                } else if length == self.buffer.len() {
                    self.buffer.resize(PIPE_BYTES, 0);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.closes => {}
            Ok(0) | Err(_) => self.pipe = None,
        }
    }
}

/// The output on its way: kept, or sent.
struct Output {
    /// Where it is sent; without that it is kept.
    events: Option<mpsc::Sender<EventBody>>,
    capture: Capture,
    tail: Tail,
    /// An event that the channel has not taken yet.
    waiting: Option<EventBody>,
    sent_bytes: u64,
    /// Whether nothing more is sent.
    is_muted: bool,
    /// Whether the output was closed before its end.
    is_truncated: bool,
}

impl Output {
    fn new(limit: usize, events: Option<mpsc::Sender<EventBody>>, pid: u32) -> Self {
        let waiting = events.is_some().then_some(EventBody::Started { pid });
        let (capture, tail) = (Capture::new(limit), Tail::default());
        Self { events, capture, tail, waiting, sent_bytes: 0, is_muted: false, is_truncated: false }
    }

    fn is_idle(&self) -> bool {
        self.waiting.is_none()
    }

    fn push(&mut self, source: Source, bytes: &[u8]) {
        self.tail.push(source, bytes);
        if self.events.is_none() {
            return self.capture.push(source, bytes);
        }
        self.sent_bytes += bytes.len() as u64;
        let data = bytes.to_vec();
        self.waiting = Some(match source {
            Source::Stdout => EventBody::Stdout { data },
            Source::Stderr => EventBody::Stderr { data },
        });
    }

    /// Waits until the channel takes the waiting event; false when nobody listens any more, which is also noticed
    /// while nothing waits. May be given up: nothing is lost.
    async fn deliver(&mut self) -> bool {
        let Some(events) = &self.events else { return pending().await };
        if self.waiting.is_none() {
            events.closed().await;
            return false;
        }
        let Ok(permit) = events.reserve().await else { return false };
        if let Some(event) = self.waiting.take() {
            permit.send(event);
        }
        true
    }

    /// Sends the waiting event when the channel takes it in time. Else that was the last, since what is sent must have
    /// no hole.
    async fn deliver_by(&mut self, end: Instant) {
        if self.waiting.is_none() {
            return;
        }
        if self.is_muted || !matches!(timeout_at(end, self.deliver()).await, Ok(true)) {
            self.is_muted = true;
            self.waiting = None;
        }
    }

    fn finish(self) -> Captured {
        match self.events {
            None => self.capture.finish(),
            Some(_) => Captured { captured: self.sent_bytes, ..Captured::default() },
        }
    }
}
