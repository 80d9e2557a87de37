//! The atomic replacement: a temporary file beside its target, locked by its maker while it lives, then renamed.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, RawMode, Stat, Uid, fchmod, fchown, flock, fstat, linkat,
    openat, renameat, unlinkat,
};
use rustix::io::{Errno, write};

use super::{Error, Folder};

/// How much a change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A power cut, once it was answered.
    Synced,
    /// The end of any process: all at once, but a power cut may lose it.
    Atomic,
}

/// What a replacement keeps of a file: owner, group and the permission bits 0777.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    owner: u32,
    group: u32,
    mode: RawMode,
}

impl Attributes {
    pub(super) fn of(status: &Stat) -> Self {
        Self { owner: status.st_uid, group: status.st_gid, mode: status.st_mode & 0o777 }
    }
}

/// New content on its way. Dropped before it has its name, it leaves nothing.
#[derive(Debug)]
pub struct Temporary {
    folder: Folder,
    name: String,
    /// Open, and locked by flock(2), as long as this value lives: an unlocked one has lost its maker.
    file: OwnedFd,
    attributes: Attributes,
    is_named: bool,
}

/// The file that a replacement took the name of. The file system gives its space back when this is dropped, if nobody
/// else has it open; that takes several times as long as the rename, and nobody needs to wait for it.
#[derive(Debug, Default)]
pub struct Replaced(#[expect(dead_code, reason = "held, not used")] Option<OwnedFd>);

impl Replaced {
    fn hold(folder: &Folder, name: &str) -> Self {
        #[cfg(target_os = "linux")]
        let held =
            openat(folder.handle(), name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
        #[cfg(target_os = "linux")]
        return Self(held.ok());
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (folder, name);
            Self(None)
        }
    }
}

const PREFIX: &str = ".axlr-tmp-";
const DIGITS: usize = 16;

/// Whether a name has the shape of a temporary one. Walks pass over such names, sweeps remove them.
///
/// Source: SPEC §3.2.
pub fn is_temporary_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes()).is_some_and(|digits| {
        digits.len() == DIGITS && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

impl Temporary {
    /// Makes an empty temporary file, to become a new file (0666 less the umask) or the replacement of one with these
    /// attributes.
    ///
    /// # Errors
    /// [`Error::OwnerNotKept`], or what open(2) says.
    pub fn make(folder: &Folder, like: Option<&Attributes>) -> Result<Self, Error> {
        let mode = Mode::from_raw_mode(like.map_or(0o666, |attributes| attributes.mode));
        loop {
            let name = random_name();
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = match openat(folder.handle(), name.as_str(), flags, mode) {
                Ok(file) => file,
                Err(Errno::EXIST | Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            // A sweep in another process that comes between the open and the lock takes the file for a leftover. It
            // holds the lock then, or has unlinked the file; either way this one is given up.
            let lock = flock(&file, FlockOperation::NonBlockingLockExclusive);
            let status = fstat(&file)?;
            let attributes = Attributes::of(&status);
            let mut temporary = Self { folder: folder.clone(), name, file, attributes, is_named: true };
            if lock == Err(Errno::WOULDBLOCK) || status.st_nlink == 0 {
                continue;
            }
            if let Some(attributes) = like {
                temporary.adopt(attributes)?;
            }
            return Ok(temporary);
        }
    }

    /// Gives the file these attributes, where it has others.
    ///
    /// # Errors
    /// [`Error::OwnerNotKept`] when this process may not give files to that user or group.
    pub fn adopt(&mut self, like: &Attributes) -> Result<(), Error> {
        if (self.attributes.owner, self.attributes.group) != (like.owner, like.group) {
            let owner = (self.attributes.owner != like.owner).then(|| Uid::from_raw(like.owner));
            let group = (self.attributes.group != like.group).then(|| Gid::from_raw(like.group));
            fchown(&self.file, owner, group).map_err(|errno| Error::OwnerNotKept(errno.into()))?;
            // A change of owner may clear bits of the mode.
            self.attributes = Attributes::of(&fstat(&self.file)?);
        }
        if self.attributes.mode != like.mode {
            fchmod(&self.file, Mode::from_raw_mode(like.mode))?;
        }
        self.attributes = *like;
        Ok(())
    }

    /// Appends to the file.
    ///
    /// # Errors
    /// What write(2) says.
    pub fn write(&mut self, mut content: &[u8]) -> Result<(), Error> {
        while !content.is_empty() {
            match write(&self.file, content) {
                Ok(count) => content = &content[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Puts the content on stable storage.
    ///
    /// # Errors
    /// What fdatasync(2) says.
    pub fn sync(&self) -> Result<(), Error> {
        Ok(sync_data(&self.file)?)
    }

    /// Gives the file its name, which nothing may have yet.
    ///
    /// # Errors
    /// [`Error::Exists`], a dangling symlink included; otherwise what rename(2) and link(2) say.
    pub fn create(mut self, name: &str, durability: Durability) -> Result<(), Error> {
        self.take_free_name(name)?;
        self.settle(durability)
    }

    /// Gives the file the name of the file that it replaces. A symlink of that name is replaced, not followed.
    ///
    /// # Errors
    /// [`Error::NotRegular`] for a folder; otherwise what rename(2) says.
    pub fn replace(mut self, name: &str, durability: Durability) -> Result<Replaced, Error> {
        let replaced = Replaced::hold(&self.folder, name);
        match renameat(self.folder.handle(), self.name.as_str(), self.folder.handle(), name) {
            Ok(()) => self.is_named = false,
            Err(Errno::ISDIR) => return Err(Error::NotRegular("a directory")),
            Err(errno) => return Err(errno.into()),
        }
        self.settle(durability)?;
        Ok(replaced)
    }

    #[cfg(target_os = "linux")]
    fn take_free_name(&mut self, name: &str) -> Result<(), Error> {
        use rustix::fs::{RenameFlags, renameat_with};
        let folder = self.folder.handle();
        match renameat_with(folder, self.name.as_str(), folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.is_named = false,
            // Not every file system knows the flag; most of those know links.
            Err(Errno::INVAL | Errno::NOSYS) => self.link(name)?,
            Err(errno) => return Err(errno.into()),
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    fn take_free_name(&mut self, name: &str) -> Result<(), Error> {
        self.link(name)
    }

    /// A second name beside the temporary one, which goes when this value does.
    fn link(&mut self, name: &str) -> Result<(), Error> {
        let folder = self.folder.handle();
        Ok(linkat(folder, self.name.as_str(), folder, name, AtFlags::empty())?)
    }

    fn settle(&self, durability: Durability) -> Result<(), Error> {
        if durability == Durability::Synced && !self.folder.is_readable() {
            // The folder's own handle cannot be synced.
            sync_file_system(&self.file)?;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.is_named {
            let _ = unlinkat(self.folder.handle(), self.name.as_str(), AtFlags::empty());
        }
    }
}

/// Seeded by the operating system; that the name is free is open(2)'s business.
fn random_name() -> String {
    format!("{PREFIX}{:016x}", RandomState::new().build_hasher().finish())
}

#[cfg(not(target_vendor = "apple"))]
fn sync_data(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fdatasync(file)
}

/// There, fsync(2) stops at the drive's cache.
#[cfg(target_vendor = "apple")]
fn sync_data(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fcntl_fullfsync(file)
}

#[cfg(target_os = "linux")]
fn sync_file_system(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::syncfs(file)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(file: impl AsFd) -> Result<(), Errno> {
    rustix::fs::fsync(file)
}

#[cfg(test)]
mod tests;
