//! The artifact directory of an agent, and what was written there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// One file written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Relative to the artifact directory.
    pub path: String,
    /// Who wrote it.
    pub agent: String,
    /// Its size in bytes.
    pub size: u64,
}

/// An artifact directory in use by one agent.
#[derive(Debug)]
pub struct Artifacts {
    directory: PathBuf,
    agent: String,
    is_default_write: bool,
    written: Mutex<Vec<Artifact>>,
}

impl Artifacts {
    /// The directory must be there. With `is_default_write` files are written there unless a call says otherwise.
    pub fn new(directory: PathBuf, agent: String, is_default_write: bool) -> Self {
        Self { directory, agent, is_default_write, written: Mutex::default() }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether a write without a word about artifacts goes here.
    pub(super) fn is_default_write(&self) -> bool {
        self.is_default_write
    }

    /// What was written, in order of first writing; a file written again counts once, with its last size.
    pub fn written(&self) -> Vec<Artifact> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn record(&self, path: &str, size: u64) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        match written.iter_mut().find(|artifact| artifact.path == path) {
            Some(artifact) => artifact.size = size,
            None => written.push(Artifact { path: path.to_owned(), agent: self.agent.clone(), size }),
        }
    }
}
