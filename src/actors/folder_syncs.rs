//! Folder syncs, shared: whoever waits for a folder that is being synced shares the next sync of it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::tools::{Error, Folder};
use crate::workspace::Identity;

/// The folders of one root that are being synced. Called on blocking threads.
#[derive(Debug, Default)]
pub(super) struct FolderSyncs {
    folders: Mutex<HashMap<Identity, Arc<Gate>>>,
}

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    /// How many commits asked so far.
    asked: u64,
    /// How many of them are on stable storage.
    synced: u64,
    /// Whether one of them is at it.
    syncing: bool,
}

impl FolderSyncs {
    /// Returns when a sync of the folder that began after this call has ended.
    pub(super) fn sync(&self, folder: &Folder) -> Result<(), Error> {
        let gate = self.lock().entry(folder.identity()).or_default().clone();
        let result = gate.sync(folder);
        let mut folders = self.lock();
        // The map's and ours: nobody else waits at this gate.
        if Arc::strong_count(&gate) == 2 {
            folders.remove(&folder.identity());
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Arc<Gate>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    fn sync(&self, folder: &Folder) -> Result<(), Error> {
        let mut state = self.lock();
        state.asked += 1;
        let mine = state.asked;
        loop {
            if state.synced >= mine {
                return Ok(());
            }
            if state.syncing {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.syncing = true;
            let covers = state.asked;
            drop(state);
            let result = folder.sync();
            state = self.lock();
            state.syncing = false;
            if result.is_ok() {
                state.synced = state.synced.max(covers);
            }
            // When it failed those that wait try for themselves, and get their own error.
            self.changed.notify_all();
            result?;
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
