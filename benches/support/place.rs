//! Where processes may run. Ratios are made with both ends on one CPU: between two idle CPUs of a virtual machine
//! most of a round trip is the waking of the other one.

use std::sync::OnceLock;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How client and server are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Both on one CPU.
    OneCpu,
    /// Wherever the kernel likes.
    Free,
}

impl Placement {
    /// Places the calling thread and every thread that these processes have. What they start later inherits it.
    pub(crate) fn apply(self, processes: &[u32]) {
        let free = free();
        let set = match self {
            Placement::Free => *free,
            Placement::OneCpu => {
                let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| free.is_set(*cpu)).unwrap();
                let mut one = CpuSet::new();
                one.set(last);
                one
            }
        };
        sched_setaffinity(None, &set).unwrap();
        for thread in processes.iter().flat_map(|process| threads(*process)) {
            // A thread that ended meanwhile needs no place.
            let _ = sched_setaffinity(Some(thread), &set);
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Placement::OneCpu => "one CPU",
            Placement::Free => "free",
        }
    }
}

/// What this process was given at its start. The first call must come before any placing.
pub(crate) fn free() -> &'static CpuSet {
    static FREE: OnceLock<CpuSet> = OnceLock::new();
    FREE.get_or_init(|| sched_getaffinity(None).unwrap())
}

/// How many CPUs that is.
pub(crate) fn cpus() -> usize {
    free().count() as usize
}

fn threads(process: u32) -> Vec<Pid> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    tasks.filter_map(|task| Pid::from_raw(task.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}
