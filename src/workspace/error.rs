//! What the file system answered, in words that name nothing outside the workspace.

use std::io;

use rustix::io::Errno;

/// Why something below the root could not be had. The words go behind the path that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name, or a folder on the way to it, does not exist.
    #[error("does not exist")]
    NotFound,
    /// The name is taken.
    #[error("exists")]
    Exists,
    /// The operating system denied it.
    #[error("is not permitted: {0}")]
    PermissionDenied(#[source] io::Error),
    /// The owner or group of a replaced file cannot be given to its replacement.
    #[error("belongs to another user or group, which its replacement could not keep: {0}")]
    OwnerNotKept(#[source] io::Error),
    /// The path leads out of the root, through `..` or an absolute symlink.
    #[error("leads outside the workspace")]
    Escapes,
    /// The path names something else than a regular file: its noun.
    #[error("is {0}, not a regular file")]
    NotRegular(&'static str),
    /// Any other fault.
    #[error("cannot be used: {0}")]
    Io(#[source] io::Error),
}

impl Error {
    /// Whether the entry of a directory is not there any more, or is something else by now.
    pub fn is_gone(&self) -> bool {
        match self {
            Self::NotFound | Self::NotRegular(_) => true,
            Self::Io(source) => source.kind() == io::ErrorKind::NotADirectory,
            Self::Exists | Self::PermissionDenied(_) | Self::OwnerNotKept(_) | Self::Escapes => false,
        }
    }

    /// Whether the process or the machine ran out of something, so that nothing is said of the file.
    pub fn is_exhaustion(&self) -> bool {
        let Self::Io(source) = self else { return false };
        matches!(Errno::from_io_error(source), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
    }

    /// What the operating system said, for the log.
    pub fn into_source(self) -> Option<io::Error> {
        match self {
            Self::PermissionDenied(source) | Self::OwnerNotKept(source) | Self::Io(source) => Some(source),
            Self::NotFound | Self::Exists | Self::Escapes | Self::NotRegular(_) => None,
        }
    }
}

/// Whether a path was given up because its symlinks lead in a circle, or are too many.
pub fn is_symlink_loop(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::NotFound,
            Errno::EXIST => Self::Exists,
            Errno::ACCESS | Errno::PERM => Self::PermissionDenied(errno.into()),
            // openat2(2): RESOLVE_BENEATH.
            Errno::XDEV => Self::Escapes,
            _ => Self::Io(errno.into()),
        }
    }
}
