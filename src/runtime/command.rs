//! Commands: programs that a door runs in no workspace, wherever the client says. The streaming twin of a session's exec.
//!
//! A command takes its place in the line for children like an exec, counts as one in the statistics and is contained
//! like one. Its output is read only as fast as it is taken; it dies with its whole tree when its [`Running`] is dropped,
//! when its client has left, or with the runtime.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axlr_protocol::{EventBody, Status, Tool};
use ractor::rpc::CallResult;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::{Inner, Runtime};
use crate::actors::{ChildPlace, LineFull, SupervisorMsg};
use crate::cancel::Cancel;
use crate::capacity::COMMAND_READER_GRACE;
use crate::process::{self, Detached, ExitStatus, Input, Job, RunError};

/// What to run.
#[derive(Debug)]
pub struct Command {
    /// Absolute, with a slash (from the directory), or a bare name for the absolute entries of the environment's PATH.
    pub program: String,
    /// The arguments after the program's own name.
    pub arguments: Vec<String>,
    /// Where; a relative path begins in the runtime's first root, or where the daemon is when it has none. None is that
    /// folder itself.
    pub directory: Option<PathBuf>,
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    /// Counted from its start; then it is killed.
    pub timeout: Duration,
}

/// Why a command was not run. Nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Every place for children is taken, and the line for them is full.
    #[error("overloaded")]
    Overloaded,
    /// The runtime was asked to stop.
    #[error("shutting_down")]
    ShuttingDown,
    /// The client left while it waited.
    #[error("cancelled")]
    Left,
    /// A fault of the daemon.
    #[error("internal_error")]
    Lost,
}

/// A piece of a command's output, as the pipe gave it.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    /// Of its stdout.
    Stdout(Vec<u8>),
    /// Of its stderr.
    Stderr(Vec<u8>),
}

/// How a command ended. In the last three cases nothing of it is left.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code; killed by signal N it is 128+N, as a shell has it.
    Exited(i32),
    /// It was never started.
    NotStarted(String),
    /// Its timeout passed.
    TimedOut,
    /// Its client left, or the runtime stopped.
    Cancelled,
}

/// What comes next of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Progress {
    /// More output.
    Output(Chunk),
    /// The last word.
    Ended(End),
}

/// A command that was started, or is about to be. Dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    output: mpsc::Receiver<EventBody>,
    end: oneshot::Receiver<End>,
}

impl Runtime {
    /// Runs a command when a place for a child is free; clients take turns, and `client` says who this one is. It is
    /// given up when `left` returns.
    ///
    /// # Errors
    /// See [`Refused`]. That it can't be started is an [`End`].
    pub async fn run(
        &self,
        client: u64,
        command: Command,
        left: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Running, Refused> {
        let mut counted = Counted::new(self.0.clone());
        let mut left = Box::pin(left);
        let place = tokio::select! {
            biased;
            () = self.0.stopping() => Err(Refused::ShuttingDown),
            () = &mut left => Err(Refused::Left),
            place = self.0.place(client) => place,
        };
        let place = place.inspect_err(|refused| counted.status = refused.status())?;
        // One chunk ahead: what a slow reader has not taken stays in the child's pipe.
        let (events, output) = mpsc::channel(1);
        let (sender, end) = oneshot::channel();
        tokio::spawn(async move {
            let end = counted.runtime.live(command, events, left).await;
            counted.status = end.status();
            // The place is free and the count right before the answer is out.
            drop((place, counted));
            let _ = sender.send(end);
        });
        Ok(Running { output, end })
    }
}

impl Running {
    /// What comes next; after [`Progress::Ended`] nothing does. `None` is a fault of the daemon: how the command ended is
    /// not known.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Progress>> {
        loop {
            match ready!(self.output.poll_recv(context)) {
                Some(EventBody::Stdout { data }) => {
                    return Poll::Ready(Some(Progress::Output(Chunk::Stdout(data))));
                }
                Some(EventBody::Stderr { data }) => {
                    return Poll::Ready(Some(Progress::Output(Chunk::Stderr(data))));
                }
                Some(_) => {}
                None => break,
            }
        }
        let end = ready!(Pin::new(&mut self.end).poll(context));
        Poll::Ready(end.ok().map(Progress::Ended))
    }

    /// The same as a future.
    pub async fn next(&mut self) -> Option<Progress> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }
}

/// A child's place, and one among the running requests of the daemon.
struct Place {
    _child: ChildPlace,
    _running: OwnedSemaphorePermit,
}

impl Inner {
    async fn place(&self, client: u64) -> Result<Place, Refused> {
        let message = |reply| SupervisorMsg::EnterPool { session: client, reply };
        match self.supervisor.call(message, None).await {
            Ok(CallResult::Success(Ok(child))) => {
                // Places are few, so this waits only while the daemon is full of other work.
                let running = self.running.clone().acquire_owned().await.map_err(|_| Refused::Lost)?;
                Ok(Place { _child: child, _running: running })
            }
            Ok(CallResult::Success(Err(LineFull))) => Err(Refused::Overloaded),
            _ => Err(Refused::Lost),
        }
    }

    /// The whole life of a command.
    async fn live(
        self: &Arc<Self>,
        command: Command,
        events: mpsc::Sender<EventBody>,
        left: impl Future<Output = ()>,
    ) -> End {
        let Command { program, arguments, directory, environment, timeout } = command;
        let unwanted = async {
            tokio::select! {
                () = left => {}
                () = self.commands.cancelled() => {}
                // It has ended or timed out, and nobody has taken the last of its output for all that time.
                () = tokio::time::sleep(timeout + COMMAND_READER_GRACE) => {}
            }
        };
        tokio::pin!(unwanted);
        let directory = tokio::select! {
            directory = self.directory(directory) => directory,
            () = &mut unwanted => return End::Cancelled,
        };
        let directory = match directory {
            Ok(directory) => directory,
            Err(error) => return End::NotStarted(format!("its folder can't be entered: {error}")),
        };
        let stdin = Input::Null;
        let job = Job {
            command: process::Command { program, arguments, environment, directory, stdin },
            timeout,
            max_output_bytes: 0,
            stdin: Vec::new(),
            stdin_open: false,
            events: Some(events),
            controls: None,
        };
        let cancel = Cancel::new();
        let run = process::run(&self.config.containment, job, &cancel);
        tokio::pin!(run);
        let result = tokio::select! {
            result = &mut run => result,
            () = &mut unwanted => {
                cancel.cancel();
                run.await
            }
        };
        match result {
            Ok(report) => {
                self.keep(report.detached);
                End::Exited(match report.status {
                    ExitStatus::Code(code) => code,
                    ExitStatus::Signal(number) => 128 + number,
                })
            }
            Err(RunError::Start(error)) => End::NotStarted(error.to_string()),
            Err(RunError::TimedOut { .. }) => End::TimedOut,
            Err(RunError::Cancelled { .. }) => End::Cancelled,
        }
    }

    /// Opened on a thread that may wait: a file system that does not answer must hold nobody else.
    async fn directory(self: &Arc<Self>, directory: Option<PathBuf>) -> io::Result<OwnedFd> {
        let base = self.roots.first().map(|entry| entry.root.handle());
        let path = match (base, directory) {
            (Some(base), None) => return base.try_clone_to_owned(),
            (_, directory) => directory.unwrap_or_else(|| PathBuf::from(".")),
        };
        let runtime = self.clone();
        let open = move || {
            let base = runtime.roots.first().map(|entry| entry.root.handle());
            process::open_directory(base, &path)
        };
        tokio::task::spawn_blocking(open).await.map_err(io::Error::other)?
    }

    /// What a command left running on purpose lives on with the daemon.
    fn keep(self: &Arc<Self>, detached: Option<Detached>) {
        let Some(detached) = detached else { return };
        let counted = Leftover::new(self.detached.clone());
        let background = self.background.clone();
        tokio::spawn(async move {
            let _counted = counted;
            // Given up, they are killed.
            tokio::select! {
                () = detached.ended() => {}
                () = background.cancelled() => {}
            }
        });
    }
}

impl Refused {
    fn status(self) -> Status {
        match self {
            Self::Overloaded | Self::ShuttingDown => Status::Rejected,
            Self::Left => Status::Cancelled,
            Self::Lost => Status::Failed,
        }
    }
}

impl End {
    fn status(&self) -> Status {
        match self {
            Self::Exited(_) => Status::Completed,
            Self::NotStarted(_) => Status::Failed,
            Self::TimedOut => Status::TimedOut,
            Self::Cancelled => Status::Cancelled,
        }
    }
}

/// A command in the counts of the daemon, where it is an exec.
struct Counted {
    runtime: Arc<Inner>,
    began: Instant,
    status: Status,
}

impl Counted {
    fn new(runtime: Arc<Inner>) -> Self {
        runtime.stats.running.fetch_add(1, Ordering::Relaxed);
        runtime.stats.began(Tool::Exec);
        // What a fault makes of it.
        Self { runtime, began: Instant::now(), status: Status::Failed }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let stats = &self.runtime.stats;
        stats.ended(Tool::Exec);
        stats.answered(Tool::Exec, self.status, self.began.elapsed());
        if stats.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.runtime.landed.notify_waiters();
        }
    }
}

/// One command's leftover in the count of those that live.
struct Leftover(Arc<AtomicUsize>);

impl Leftover {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
