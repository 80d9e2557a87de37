//! The folder that a file is made or replaced in. What is asked here is asked by a single name of the open folder, so
//! no symlink and no rename leads the answer elsewhere.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, accessat, fstat, fsync, mkdirat, statat, unlinkat,
};
use rustix::io::Errno;

use super::open::{FileSize, open_beneath, open_entry, require_regular};
use super::replace::{Attributes, Durability};
use super::{Error, Identity, Workspace};

/// An open folder below the root. Clones share the handle.
#[derive(Debug, Clone)]
pub struct Folder {
    handle: Arc<OwnedFd>,
    identity: Identity,
    is_readable: bool,
}

/// Folders that one request made. They go away with this value when nothing came to stand in them, unless it is kept.
#[derive(Debug, Default)]
pub struct MadeFolders(Vec<(Folder, String)>);

impl Folder {
    /// Opens a folder beneath the root; empty is the root.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Escapes`], or what open(2) says.
    pub fn open(workspace: &Workspace, path: &str) -> Result<Self, Error> {
        match open_beneath(workspace, path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(handle) => Self::from_handle(handle, true),
            // A folder that may be entered and written but not listed is a folder too.
            #[cfg(target_os = "linux")]
            Err(Error::PermissionDenied(_)) => {
                Self::from_handle(open_beneath(workspace, path, OFlags::PATH | OFlags::DIRECTORY)?, false)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a folder, making what is missing of it (0777 less the umask). What is made is on stable storage before
    /// something can stand in it, when that is asked.
    ///
    /// # Errors
    /// Those of [`Folder::open`] and mkdir(2). What was made is removed again.
    ///
    /// Source: SPEC §4 (`parents`).
    pub fn make(
        workspace: &Workspace,
        path: &str,
        durability: Durability,
    ) -> Result<(Self, MadeFolders), Error> {
        let mut made = MadeFolders::default();
        let mut folder = Self::open(workspace, "")?;
        let mut end = 0;
        for name in path.split('/') {
            end += name.len();
            let prefix = &path[..end];
            end += 1;
            if name.is_empty() || name == "." {
                continue;
            }
            folder = match Self::open(workspace, prefix) {
                Ok(next) => next,
                Err(Error::NotFound) => {
                    folder.make_entry(name, durability, &mut made)?;
                    Self::open(workspace, prefix)?
                }
                Err(error) => return Err(error),
            };
        }
        Ok((folder, made))
    }

    fn make_entry(&self, name: &str, durability: Durability, made: &mut MadeFolders) -> Result<(), Error> {
        match mkdirat(self.handle(), name, Mode::from_raw_mode(0o777)) {
            Ok(()) => made.0.push((self.clone(), name.to_owned())),
            // Somebody else was faster, or a symlink that leads nowhere is in the way: the open that follows tells.
            Err(Errno::EXIST) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
        match durability {
            Durability::Synced => self.sync(),
            Durability::Atomic => Ok(()),
        }
    }

    fn from_handle(handle: OwnedFd, is_readable: bool) -> Result<Self, Error> {
        let status = fstat(&handle)?;
        let identity = Identity { device: status.st_dev as u64, inode: status.st_ino as u64 };
        Ok(Self { handle: Arc::new(handle), identity, is_readable })
    }

    /// Which folder it is, whatever path leads to it.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether the path leads to this folder at this moment.
    pub fn is_at(&self, workspace: &Workspace, path: &str) -> bool {
        Self::open(workspace, path).is_ok_and(|folder| folder.identity == self.identity)
    }

    /// Puts the folder's entries on stable storage.
    ///
    /// # Errors
    /// What fsync(2) says.
    pub fn sync(&self) -> Result<(), Error> {
        if !self.is_readable {
            // Such a handle cannot be synced; `Temporary` syncs the whole file system when it is renamed.
            return Ok(());
        }
        match fsync(self.handle()) {
            // Some file systems know no sync of folders, they are always written through.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether anything has that name, a dangling symlink included.
    ///
    /// # Errors
    /// What fstatat(2) says.
    pub fn holds(&self, name: &str) -> Result<bool, Error> {
        match statat(self.handle(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Owner and mode of the regular file of that very name.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotRegular`], or what fstatat(2) says.
    pub fn attributes(&self, name: &str) -> Result<Attributes, Error> {
        let status = statat(self.handle(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        require_regular(FileType::from_raw_mode(status.st_mode))?;
        Ok(Attributes::of(&status))
    }

    /// Opens the regular file of that very name for reading.
    ///
    /// # Errors
    /// As [`Folder::attributes`], or what openat(2) says.
    pub fn open_file(&self, name: &str) -> Result<(OwnedFd, Attributes, FileSize), Error> {
        // Asked first, because opening a pipe would be noticed at its other end.
        self.attributes(name)?;
        let file = match open_entry(self.handle(), name, OFlags::RDONLY) {
            Err(Errno::LOOP) => return Err(Error::NotRegular("a symbolic link")),
            opened => opened?,
        };
        let status = fstat(&file)?;
        require_regular(FileType::from_raw_mode(status.st_mode))?;
        Ok((file, Attributes::of(&status), status.st_size as FileSize))
    }

    /// Whether this process may write to a file; a rename would not ask.
    ///
    /// # Errors
    /// [`Error::PermissionDenied`], or what faccessat2(2) says.
    ///
    /// Source: SPEC §3.2.
    pub fn require_writable(&self, name: &str) -> Result<(), Error> {
        let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
        match accessat(self.handle(), name, Access::WRITE_OK, flags) {
            // Before Linux 5.8 there is no such question that does not follow a symlink; what it is was asked before.
            Err(Errno::NOSYS) => Ok(accessat(self.handle(), name, Access::WRITE_OK, AtFlags::EACCESS)?),
            answer => Ok(answer?),
        }
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    pub(super) fn is_readable(&self) -> bool {
        self.is_readable
    }
}

impl MadeFolders {
    /// The request succeeded: the folders stay.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for (parent, name) in self.0.iter().rev() {
            // One that is no longer empty is in use by somebody else and stays.
            let _ = unlinkat(parent.handle(), name.as_str(), AtFlags::REMOVEDIR);
        }
    }
}

#[cfg(test)]
mod tests;
