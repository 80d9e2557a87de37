//! The end of temporary files that a SIGKILL left. Their makers held a lock on them, so one that can be locked is
//! nobody's. Sweeps run beside the work: nothing waits for them, and what fails in them is left for the next one.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, OFlags, flock, fstat, statat, unlinkat};
use rustix::io::Errno;

use super::open::{open_entry, open_own_folder};
use super::{Folder, Identity, Workspace, is_temporary_name};
use crate::cancel::Cancel;
use crate::capacity::{
    SWEEP_FOLDERS_MAX, SWEEP_MAX_ENTRIES, SWEEP_REST_FACTOR, SWEEP_REST_MAX, SWEEP_REST_MIN,
};

/// Sweeps the folders that are written to, each no more often than it can afford.
#[derive(Debug, Default)]
pub struct Sweeper {
    folders: Mutex<HashMap<Identity, Rest>>,
}

/// A swept folder.
#[derive(Debug, Clone, Copy)]
struct Rest {
    until: Instant,
    /// Somebody waits for the rest's end and will sweep for all who wrote meanwhile.
    is_awaited: bool,
}

impl Sweeper {
    /// Sweeps a folder that was just written to, after the rest that its last sweep earned it. For a blocking thread
    /// that has answered already: it may sleep up to [`SWEEP_REST_MAX`]. Returns at once when another call waits for
    /// the same folder.
    pub fn after_write(&self, folder: &Folder) {
        let identity = folder.identity();
        let started = Instant::now();
        let rest = {
            let mut folders = self.lock();
            let rest = folders.entry(identity).or_insert(Rest { until: started, is_awaited: false });
            if rest.is_awaited {
                return;
            }
            rest.is_awaited = true;
            rest.until.saturating_duration_since(started)
        };
        if !rest.is_zero() {
            std::thread::sleep(rest);
        }
        // From here on a write may come too late for this sweep: it waits for its own.
        let started = Instant::now();
        self.rest(identity, started + SWEEP_REST_MIN);
        sweep_folder(folder);
        let ended = Instant::now();
        let earned = (ended - started).saturating_mul(SWEEP_REST_FACTOR);
        self.extend(identity, ended + earned.clamp(SWEEP_REST_MIN, SWEEP_REST_MAX));
    }

    fn rest(&self, identity: Identity, until: Instant) {
        let mut folders = self.lock();
        if folders.len() > SWEEP_FOLDERS_MAX {
            let now = Instant::now();
            folders.retain(|_, rest| rest.is_awaited || rest.until > now);
        }
        folders.insert(identity, Rest { until, is_awaited: false });
    }

    fn extend(&self, identity: Identity, until: Instant) {
        if let Some(rest) = self.lock().get_mut(&identity) {
            rest.until = rest.until.max(until);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Rest>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the temporary files in a folder whose makers are dead.
pub fn sweep_folder(folder: &Folder) {
    let Ok(entries) = Dir::read_from(folder.handle()) else { return };
    for entry in entries.flatten() {
        if is_temporary_name(entry.file_name().to_bytes()) {
            remove_leftover(folder.handle(), entry.file_name());
        }
    }
}

/// Sweeps every folder of a root's own file system, once, through no symlink, as long as it is wanted and up to
/// [`SWEEP_MAX_ENTRIES`].
pub fn sweep_tree(workspace: &Workspace, cancel: &Cancel) {
    let mut waiting = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(path) = waiting.pop() {
        if cancel.is_cancelled() {
            return;
        }
        let Ok(folder) = open_own_folder(workspace, &path) else { continue };
        seen += sweep_level(folder, &path, &mut waiting);
        if seen > SWEEP_MAX_ENTRIES {
            return;
        }
    }
}

/// Sweeps one folder and notes its subfolders. Returns how many entries it looked at.
fn sweep_level(folder: OwnedFd, path: &Path, waiting: &mut Vec<PathBuf>) -> usize {
    let mut seen = 0;
    let Ok(entries) = Dir::read_from(&folder) else { return seen };
    for entry in entries.flatten() {
        seen += 1;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match type_of(folder.as_fd(), name, entry.file_type()) {
            FileType::Directory => waiting.push(path.join(OsStr::from_bytes(name.to_bytes()))),
            FileType::RegularFile if is_temporary_name(name.to_bytes()) => {
                remove_leftover(folder.as_fd(), name);
            }
            _ => {}
        }
        if seen > SWEEP_MAX_ENTRIES {
            break;
        }
    }
    seen
}

fn type_of(folder: BorrowedFd, name: &CStr, told: FileType) -> FileType {
    match told {
        // Not every file system says it in the listing.
        FileType::Unknown => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |status| FileType::from_raw_mode(status.st_mode)),
        told => told,
    }
}

fn remove_leftover(folder: BorrowedFd, name: &CStr) {
    let file = match open_entry(folder, name, OFlags::RDONLY) {
        // One that stands for a file which may be written but not read.
        Err(Errno::ACCESS) => open_entry(folder, name, OFlags::WRONLY),
        opened => opened,
    };
    let Ok(file) = file else { return };
    let is_regular =
        fstat(&file).is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile);
    // The lock is held while the name goes, so that a maker who is about to take it sees one or the other.
    if is_regular && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        let _ = unlinkat(folder, name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests;
