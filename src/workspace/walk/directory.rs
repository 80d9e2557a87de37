//! One open directory, and what can be asked of it by a single name. No path is resolved here and no symlink
//! followed, so whatever happens to the tree meanwhile, an answer comes from below the directory that was opened.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::{Errno, read, retry_on_intr};

use crate::capacity::READ_GROWTH_BYTES;
use crate::workspace::open::{CAREFUL, open_beneath};
use crate::workspace::{Error, Workspace};

/// An open directory. Clones share the descriptor; it closes with the last of them.
#[derive(Debug, Clone)]
pub struct Directory(Arc<OwnedFd>);

/// What an entry is. A symlink is a symlink, whatever it points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

/// What stat(2) says of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes; of meaning for regular files only.
    pub size: u64,
}

/// How [`Directory::read_file`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// The buffer holds the whole file.
    Whole,
    /// The file has this size, which is over the limit; the buffer's content has no meaning.
    TooLarge(u64),
    /// No regular file has this name now, though another kind of entry may.
    NotRegular,
}

impl Workspace {
    /// Opens a directory of the workspace by its path, empty for the workspace itself. Symlinks on the way are
    /// followed as long as they stay inside.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Escapes`], or what open(2) says.
    pub fn directory(&self, path: &str) -> Result<Directory, Error> {
        // To ask by names of what is in it, search permission is enough.
        #[cfg(target_os = "linux")]
        let access = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let access = OFlags::RDONLY;
        let fd = open_beneath(self, path, access | OFlags::DIRECTORY)?;
        Ok(Directory(Arc::new(fd)))
    }
}

impl Directory {
    /// Opens the directory of that name for reading.
    ///
    /// # Errors
    /// What openat(2) says. A symlink is no directory.
    pub fn open_directory(&self, name: &[u8]) -> Result<Directory, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| openat(&self.0, name, flags, Mode::empty()))?;
        Ok(Directory(Arc::new(fd)))
    }

    /// Asks what the entry of that name is.
    ///
    /// # Errors
    /// What fstatat(2) says.
    pub fn stat(&self, name: &[u8]) -> Result<Facts, Error> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Facts { kind: kind_of_mode(stat.st_mode), size: u64::try_from(stat.st_size).unwrap_or(0) })
    }

    /// Reads the regular file of that name into `buffer`, whose old content is dropped, unless it is larger than
    /// `most` bytes. It never blocks on a FIFO and never follows a symlink that has taken the file's place.
    ///
    /// # Errors
    /// What openat(2) and read(2) say.
    pub fn read_file(&self, name: &[u8], most: u64, buffer: &mut Vec<u8>) -> Result<Contents, Error> {
        buffer.clear();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | CAREFUL;
        let file = match retry_on_intr(|| openat(&self.0, name, flags, Mode::empty())) {
            Ok(file) => file,
            // ELOOP: a symlink. ENXIO: a socket.
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Contents::NotRegular),
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&file)?;
        if kind_of_mode(stat.st_mode) != Kind::File {
            return Ok(Contents::NotRegular);
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > most {
            return Ok(Contents::TooLarge(size));
        }
        // One byte more than the size: a short read then proves the end without another call.
        buffer.reserve(usize::try_from(size).map_or(READ_GROWTH_BYTES, |size| size + 1));
        loop {
            if buffer.len() == buffer.capacity() {
                buffer.reserve(READ_GROWTH_BYTES);
            }
            let count = retry_on_intr(|| read(&file, spare_capacity(buffer)))?;
            let length = buffer.len() as u64;
            if length > most {
                return Ok(Contents::TooLarge(length));
            }
            if count == 0 || (length == size && buffer.len() < buffer.capacity()) {
                return Ok(Contents::Whole);
            }
        }
    }

    /// Whether two handles are the same open directory.
    pub fn is_same(&self, other: &Directory) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(super) fn kind_of(file_type: FileType) -> Option<Kind> {
    match file_type {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Dir),
        FileType::Symlink => Some(Kind::Symlink),
        FileType::Unknown => None,
        _ => Some(Kind::Other),
    }
}

fn kind_of_mode(mode: rustix::fs::RawMode) -> Kind {
    kind_of(FileType::from_raw_mode(mode)).unwrap_or(Kind::Other)
}
