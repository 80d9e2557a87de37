//! Real programs, under every mechanism that works on this machine.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use axlr_protocol::EventBody;
use axlr_protocol::tool::SignalName;

use super::*;
use crate::cancel::Cancel;

mod birth;
mod control;
mod daemon;
mod output;
mod trees;

/// What a machine can do is asked once; each test that finds less says so.
fn every_mechanism() -> Vec<Containment> {
    [Preference::Cgroup, Preference::Keeper, Preference::Group]
        .into_iter()
        .filter_map(|preference| {
            Containment::start(preference)
                .inspect_err(|error| eprintln!("SKIPPED {preference:?}: not possible here: {error}"))
                .ok()
        })
        .collect()
}

/// Those that hold a whole tree.
fn tree_mechanisms() -> Vec<Containment> {
    every_mechanism().into_iter().filter(|containment| containment.name() != "group").collect()
}

fn open(directory: impl AsRef<Path>) -> OwnedFd {
    std::fs::File::open(directory).unwrap().into()
}

fn command(program: &str, arguments: &[&str], directory: impl AsRef<Path>) -> Command {
    Command {
        program: program.to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        directory: open(directory),
        stdin: Input::Null,
    }
}

fn job(command: Command) -> Job {
    Job {
        command,
        timeout: Duration::from_secs(20),
        max_output_bytes: 1 << 20,
        stdin: Vec::new(),
        stdin_open: false,
        events: None,
        controls: None,
    }
}

fn shell(script: &str, directory: impl AsRef<Path>) -> Job {
    job(command("/bin/sh", &["-c", script], directory))
}

async fn run_job(containment: &Containment, job: Job) -> Result<Report, RunError> {
    run(containment, job, &Cancel::new()).await
}

/// What a test compares of a report.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: ExitStatus,
    stdout: String,
    stderr: String,
    truncated: bool,
}

async fn see(containment: &Containment, job: Job) -> Seen {
    let report = run_job(containment, job).await.unwrap();
    Seen { status: report.status, stdout: report.stdout, stderr: report.stderr, truncated: report.truncated }
}

fn seen(status: ExitStatus, stdout: &str, stderr: &str, truncated: bool) -> Seen {
    Seen { status, stdout: stdout.to_owned(), stderr: stderr.to_owned(), truncated }
}

/// The state of a process, as in `/proc/PID/stat`; `None` when there is no such process. A zombie is dead: in a test
/// the orphans of cgroup mode go to whatever reaps for this machine.
fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn is_alive(pid: i32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Reads numbers that a script wrote, one a line; waits until there are so many.
fn read_pids(file: &Path, count: usize) -> Vec<i32> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let pids: Vec<i32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        if pids.len() >= count && text.ends_with('\n') {
            return pids;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{} has {text:?}", file.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until all are dead; fails after `limit`.
fn assert_dead_within(limit: Duration, pids: &[i32], context: &str) {
    let begun = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| is_alive(**pid)) {
        assert!(begun.elapsed() < limit, "{context}: {pid} of {pids:?} lives in state {:?}", state(*pid));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A tree of four: a child in the group, one with setsid(2), and a double fork that does so too. Each writes
/// its number to `pids`.
const ESCAPING_TREE: &str = "
    sleep 600 >/dev/null 2>&1 & echo $! >> pids
    setsid sh -c 'echo $$ >> pids; exec sleep 600' >/dev/null 2>&1 &
    (setsid sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; wait' >/dev/null 2>&1 &)
    until [ $(wc -l < pids) -ge 4 ]; do sleep 0.01; done
";
const ESCAPING_TREE_SIZE: usize = 4;
