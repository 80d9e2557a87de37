//! The directory that a program begins in, as a handle.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

/// A handle that names is enough to begin in a directory that may be searched but not listed.
#[cfg(target_os = "linux")]
const FLAGS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const FLAGS: OFlags = OFlags::RDONLY;

/// Opens a directory for a [`super::Command`]. A relative path begins at `base`, or where this process is.
///
/// # Errors
/// What open(2) says: it is missing, no directory, or not permitted.
pub fn open_directory(base: Option<BorrowedFd<'_>>, path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(base.unwrap_or(CWD), path, FLAGS | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}
