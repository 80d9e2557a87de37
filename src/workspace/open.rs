//! The ways in: openat2(2) beneath the root's handle, or a walk that does the same where the kernel has none.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use cap_std::fs::{OpenOptions, OpenOptionsExt};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, pread};
use rustix::path::Arg;

use super::{Error, Workspace, WorkspacePath};

/// How every file is opened: a FIFO or a device does not make us wait, a terminal does not become ours, and no child
/// inherits it.
pub(super) const CAREFUL: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The size that a file had when it was opened.
pub type FileSize = u64;

/// Opens what a path names beneath the root; empty is the root. Symlinks are followed as long as they stay inside,
/// whatever is moved around meanwhile.
///
/// # Errors
/// [`Error::Escapes`] when the path leads outside; otherwise what openat2(2) says.
///
/// Source: SPEC §3.
pub(super) fn open_beneath(workspace: &Workspace, path: &str, flags: OFlags) -> Result<OwnedFd, Error> {
    let path = if path.is_empty() { "." } else { path };
    #[cfg(target_os = "linux")]
    if let Some(answer) = linux::open(workspace.handle(), path, flags | OFlags::CLOEXEC) {
        return answer;
    }
    walk(workspace, Path::new(path), flags | OFlags::CLOEXEC)
}

/// Opens a regular file for reading.
///
/// # Errors
/// [`Error::NotRegular`] for anything else, without waiting for its other end; otherwise those of opening beneath the root.
///
/// Source: SPEC §3.1.
pub fn open_regular(workspace: &Workspace, path: &WorkspacePath) -> Result<(OwnedFd, FileSize), Error> {
    let file = match open_beneath(workspace, path.as_str(), OFlags::RDONLY | CAREFUL) {
        Ok(file) => file,
        Err(error) => return Err(refusal(workspace, path, error)),
    };
    let status = fstat(&file)?;
    require_regular(FileType::from_raw_mode(status.st_mode))?;
    Ok((file, status.st_size as FileSize))
}

/// The same, when the kernel answers without waiting for a disk, a network or another process; `None` says: ask again
/// where waiting does no harm.
pub fn open_regular_cached(
    workspace: &Workspace,
    path: &WorkspacePath,
) -> Option<Result<(OwnedFd, FileSize), Error>> {
    if !workspace.answers_at_once() {
        return None;
    }
    #[cfg(target_os = "linux")]
    return linux::open_regular_cached(workspace.handle(), path.as_str());
    #[cfg(not(target_os = "linux"))]
    None
}

/// Reads at an offset until the buffer is full or the file ends. Returns how much was read.
///
/// # Errors
/// What pread(2) says.
pub fn read_fully(file: BorrowedFd, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match pread(file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(filled)
}

/// One read of what is in the page cache; `None` when the kernel would have to wait for any of it.
pub fn read_cached(file: BorrowedFd, buffer: &mut [u8], offset: u64) -> Option<usize> {
    #[cfg(target_os = "linux")]
    return linux::read_cached(file, buffer, offset);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (file, buffer, offset);
        None
    }
}

/// Whether the file system of an open directory keeps what [`open_regular_cached`] needs.
pub(super) fn answers_at_once(directory: BorrowedFd) -> bool {
    #[cfg(target_os = "linux")]
    return linux::answers_at_once(directory);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = directory;
        false
    }
}

/// Opens an entry of an open directory by its own name: a symlink is not followed.
pub(super) fn open_entry(directory: BorrowedFd, name: impl Arg, access: OFlags) -> Result<OwnedFd, Errno> {
    openat(directory, name, access | CAREFUL | OFlags::NOFOLLOW, Mode::empty())
}

/// Opens a folder of the root's own file system, through no symlink; empty is the root.
pub(super) fn open_own_folder(workspace: &Workspace, path: &Path) -> Result<OwnedFd, Error> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    if let Some(answer) = linux::open_own(workspace.handle(), path, flags) {
        return answer;
    }
    let folder = walk(workspace, path, flags)?;
    if fstat(&folder)?.st_dev as u64 == workspace.identity().device {
        Ok(folder)
    } else {
        Err(Error::Escapes)
    }
}

/// Refuses everything but a regular file, with its noun.
pub(super) fn require_regular(file_type: FileType) -> Result<(), Error> {
    Err(Error::NotRegular(match file_type {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of unknown type",
    }))
}

/// A socket cannot be opened, nor may a pipe or folder that is closed to us; what it is tells more than that.
fn refusal(workspace: &Workspace, path: &WorkspacePath, error: Error) -> Error {
    #[cfg(target_os = "linux")]
    if matches!(error, Error::PermissionDenied(_) | Error::Io(_))
        && let Ok(node) = open_beneath(workspace, path.as_str(), OFlags::PATH)
        && let Ok(status) = fstat(&node)
        && let Err(not_regular) = require_regular(FileType::from_raw_mode(status.st_mode))
    {
        return not_regular;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (workspace, path);
    error
}

/// cap-std's own resolution, component by component.
fn walk(workspace: &Workspace, path: &Path, flags: OFlags) -> Result<OwnedFd, Error> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits() as i32);
    match workspace.dir().open_with(path, &options) {
        Ok(file) => Ok(file.into()),
        Err(error) => Err(walk_error(error)),
    }
}

fn walk_error(error: io::Error) -> Error {
    match Errno::from_io_error(&error) {
        Some(errno) => errno.into(),
        // cap-std's word for a path that leads outside carries no errno.
        None if error.kind() == io::ErrorKind::PermissionDenied => Error::Escapes,
        None => Error::Io(error),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::IoSliceMut;
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::path::Path;

    use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstatfs, openat2, statx};
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    use super::{CAREFUL, Error, FileSize, require_regular};
    use crate::capacity::RESOLVE_ATTEMPTS;

    const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

    /// `None` when this kernel, or a filter in front of it, has no openat2, or the tree never stood still.
    pub(super) fn open(root: BorrowedFd, path: &str, flags: OFlags) -> Option<Result<OwnedFd, Error>> {
        for _ in 0..RESOLVE_ATTEMPTS {
            match openat2(root, path, flags, Mode::empty(), BENEATH) {
                Ok(file) => return Some(Ok(file)),
                // A `..` inside a symlink was resolved while something was renamed.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::PERM) => return None,
                Err(errno) => return Some(Err(errno.into())),
            }
        }
        None
    }

    /// A mount point, an automatic one included, is left alone.
    pub(super) fn open_own(root: BorrowedFd, path: &Path, flags: OFlags) -> Option<Result<OwnedFd, Error>> {
        let resolve = BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        match openat2(root, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOSYS | Errno::PERM) => None,
            answer => Some(answer.map_err(Error::from)),
        }
    }

    pub(super) fn open_regular_cached(
        root: BorrowedFd,
        path: &str,
    ) -> Option<Result<(OwnedFd, FileSize), Error>> {
        // A mount below the root may be of another kind, whose open waits: NO_XDEV leaves those to the other way.
        let resolve = BENEATH | ResolveFlags::CACHED | ResolveFlags::NO_XDEV;
        let file = match openat2(root, path, OFlags::RDONLY | CAREFUL, Mode::empty(), resolve) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Some(Err(Error::NotFound)),
            Err(_) => return None,
        };
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let status = statx(&file, c"", flags, StatxFlags::TYPE | StatxFlags::SIZE).ok()?;
        let file_type = FileType::from_raw_mode(status.stx_mode.into());
        Some(require_regular(file_type).map(|()| (file, status.stx_size)))
    }

    pub(super) fn read_cached(file: BorrowedFd, buffer: &mut [u8], offset: u64) -> Option<usize> {
        preadv2(file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).ok()
    }

    /// An open on FUSE or a network file system asks somebody else, whatever the caches hold; these ask nobody, and
    /// they know RWF_NOWAIT.
    pub(super) fn answers_at_once(directory: BorrowedFd) -> bool {
        const EXT4: u64 = 0xEF53;
        const XFS: u64 = 0x5846_5342;
        const BTRFS: u64 = 0x9123_683E;
        const F2FS: u64 = 0xF2F5_2010;
        fstatfs(directory).is_ok_and(|status| matches!(status.f_type as u64, EXT4 | XFS | BTRFS | F2FS))
    }
}

#[cfg(test)]
mod tests;
