//! The capability handle.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};

/// Which directory a root is, whatever path leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// The device.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
}

/// The directory that every file operation stays below.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    identity: Identity,
    answers_at_once: bool,
}

impl Workspace {
    /// Opens a root: the only place where a path is resolved with the process's own authority. A symlink to a
    /// directory is resolved here, once.
    ///
    /// # Errors
    /// What open(2) says; `NotADirectory` when it is none.
    pub fn open(root: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(root, ambient_authority())?;
        let metadata = dir.dir_metadata()?;
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        let answers_at_once = super::open::answers_at_once(dir.as_fd());
        Ok(Self { dir, identity, answers_at_once })
    }

    /// The capability itself.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The handle for calls that cap-std does not have. It is an `O_PATH` descriptor: reopen `.` before getdents.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Device and inode of the root.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether the root's file system can be asked for what it has in memory without ever waiting for it.
    pub(super) fn answers_at_once(&self) -> bool {
        self.answers_at_once
    }
}
