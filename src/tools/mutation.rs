//! What write and edit have in common: content is prepared beside its target, and takes its name in one short step.
//!
//! [`prepare`] may run beside other mutations; [`Prepared::commit`] runs one at a time in each root, in order of
//! arrival. What was seen while preparing decides nothing: the commit looks again, and prepares again when somebody,
//! a predecessor included, has changed what the new content depends on. So each mutation ends as if all of it had run
//! at its turn.

use std::borrow::Cow;
use std::os::fd::AsFd;

use axlr_protocol::{Output, limits};

use super::{Edit, Error, Kind, Write, check};
use crate::cancel::Cancel;
use crate::capacity::{CHUNK_BYTES, COMMIT_ATTEMPTS};
use crate::workspace::{
    self, Attributes, Digest, Durability, Identity, MadeFolders, Replaced, Sweeper, Temporary, Workspace,
    WorkspacePath,
};

/// A checked request to change a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// See [`Write`].
    Write(Write),
    /// See [`Edit`].
    Edit(Edit),
}

/// New content that waits for its turn. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct Prepared {
    // Before the folders that were made for it, which can only go when they are empty.
    temporary: Temporary,
    made: MadeFolders,
    folder: workspace::Folder,
    seen: Seen,
    output: Output,
    durability: Durability,
}

/// A change that is made, and the folder whose entries say so.
#[derive(Debug)]
pub struct Committed {
    /// The answer.
    pub output: Output,
    /// To be synced before the answer, when the durability is [`Durability::Synced`], and swept behind it.
    pub folder: Folder,
    /// What it took the place of, to be dropped when nobody waits any more.
    pub replaced: Replaced,
}

/// A folder in which something was committed. One sync of it serves every commit before it.
#[derive(Debug, Clone)]
pub struct Folder(workspace::Folder);

/// What stands at the path, as far as the mutation depends on it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing.
    Nothing,
    /// A regular file.
    File { attributes: Attributes, content: Content },
}

/// How much of a file was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    Unread,
    Bytes(Vec<u8>),
    Digest(Digest),
}

/// The new content and what is answered when it is in place.
pub(super) struct Change<'a> {
    pub(super) content: Cow<'a, [u8]>,
    pub(super) output: Output,
}

impl Mutation {
    /// The file.
    pub fn path(&self) -> &WorkspacePath {
        match self {
            Self::Write(write) => &write.path,
            Self::Edit(edit) => &edit.path,
        }
    }

    fn look(&self, folder: &workspace::Folder, cancel: &Cancel) -> Result<Seen, Error> {
        match self {
            Self::Write(write) => write.look(folder, cancel),
            Self::Edit(edit) => edit.look(folder, cancel),
        }
    }

    fn change(&self, seen: &Seen) -> Result<Change<'_>, Error> {
        match self {
            Self::Write(write) => write.change(seen),
            Self::Edit(edit) => edit.change(seen),
        }
    }

    fn open_folder(
        &self,
        workspace: &Workspace,
        durability: Durability,
    ) -> Result<(workspace::Folder, MadeFolders), Error> {
        let (path, _) = self.path().split();
        let opened = match workspace::Folder::open(workspace, path) {
            Err(workspace::Error::NotFound) => match self {
                Self::Write(write) if write.makes_folders => {
                    workspace::Folder::make(workspace, path, durability)
                }
                Self::Write(write) => return Err(write.missing_folder()),
                Self::Edit(_) => Err(workspace::Error::NotFound),
            },
            opened => opened.map(|folder| (folder, MadeFolders::default())),
        };
        opened.map_err(|error| check::fault(self.path(), error))
    }
}

/// Makes the new content beside its target, synced when that is asked.
///
/// # Errors
/// Those of the mutation at this moment, which another mutation before it may make untrue; `cancelled`, with nothing
/// left.
///
/// Source: SPEC §3.2, §3.3.
pub fn prepare(
    workspace: &Workspace,
    mutation: &Mutation,
    durability: Durability,
    cancel: &Cancel,
) -> Result<Prepared, Error> {
    refuse_cancelled(cancel)?;
    let (folder, made) = mutation.open_folder(workspace, durability)?;
    let seen = mutation.look(&folder, cancel)?;
    let Change { content, output } = mutation.change(&seen)?;
    let fault = |error| check::fault(mutation.path(), error);
    let mut temporary = Temporary::make(&folder, seen.attributes()).map_err(fault)?;
    for chunk in content.chunks(CHUNK_BYTES) {
        refuse_cancelled(cancel)?;
        temporary.write(chunk).map_err(fault)?;
    }
    refuse_cancelled(cancel)?;
    if durability == Durability::Synced {
        temporary.sync().map_err(fault)?;
    }
    Ok(Prepared { temporary, made, folder, seen, output, durability })
}

impl Prepared {
    /// Puts the new content in place, all at once, if the mutation still may; else does nothing. Called for one
    /// mutation of a root at a time, in order of arrival.
    ///
    /// # Errors
    /// Those of the mutation at its turn; `cancelled`, with nothing done.
    ///
    /// Source: SPEC §3.2, §3.3.
    pub fn commit(
        mut self,
        workspace: &Workspace,
        mutation: &Mutation,
        cancel: &Cancel,
    ) -> Result<Committed, Error> {
        for _ in 0..COMMIT_ATTEMPTS {
            refuse_cancelled(cancel)?;
            let durability = self.durability;
            if self.still_holds(workspace, mutation, cancel)? {
                if let Some(committed) = self.publish(mutation)? {
                    return Ok(committed);
                }
            } else {
                drop(self);
            }
            self = prepare(workspace, mutation, durability, cancel)?;
        }
        let path = check::quoted(mutation.path().as_str());
        Err(Error::new(
            Kind::Conflict,
            format!("path {path} was changed by others {COMMIT_ATTEMPTS} times while it was written"),
        ))
    }

    /// Whether the folder is still where the path leads, and what stands there still what was seen.
    fn still_holds(
        &mut self,
        workspace: &Workspace,
        mutation: &Mutation,
        cancel: &Cancel,
    ) -> Result<bool, Error> {
        let (path, _) = mutation.path().split();
        if !self.folder.is_at(workspace, path) {
            return Ok(false);
        }
        match (mutation.look(&self.folder, cancel)?, &self.seen) {
            (Seen::Nothing, Seen::Nothing) => Ok(true),
            (Seen::File { attributes, content }, Seen::File { content: seen, .. }) if content == *seen => {
                self.temporary.adopt(&attributes).map_err(|error| check::fault(mutation.path(), error))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// `None` when somebody came between the look and this.
    fn publish(self, mutation: &Mutation) -> Result<Option<Committed>, Error> {
        let (_, name) = mutation.path().split();
        let published = match self.seen {
            Seen::Nothing => self.temporary.create(name, self.durability).map(|()| Replaced::default()),
            Seen::File { .. } => self.temporary.replace(name, self.durability),
        };
        match published {
            Ok(replaced) => {
                self.made.keep();
                Ok(Some(Committed { output: self.output, folder: Folder(self.folder), replaced }))
            }
            // The name was taken at this very moment, or the temporary file is gone: somebody cleans up the folder.
            Err(workspace::Error::Exists | workspace::Error::NotFound) => Ok(None),
            Err(error) => Err(check::fault(mutation.path(), error)),
        }
    }
}

impl Folder {
    /// Which folder it is.
    pub fn identity(&self) -> Identity {
        self.0.identity()
    }

    /// Puts the folder's entries on stable storage, those of every commit that came before this call.
    ///
    /// # Errors
    /// `filesystem_error`: the change is made, but may not survive a power cut.
    pub fn sync(&self) -> Result<(), Error> {
        self.0.sync().map_err(|error| {
            let message = "the change was made, but its folder could not be put on stable storage";
            match error.into_source() {
                Some(source) => {
                    Error::new(Kind::Filesystem, format!("{message}: {source}")).with_source(source)
                }
                None => Error::new(Kind::Filesystem, message),
            }
        })
    }

    /// Removes what killed makers left in the folder. For after the answer: see [`Sweeper::after_write`].
    pub fn sweep(&self, sweeper: &Sweeper) {
        sweeper.after_write(&self.0);
    }
}

/// One mutation from beginning to end, for a process that has no others.
///
/// # Errors
/// Those of [`Prepared::commit`] and [`Folder::sync`].
pub fn apply(
    workspace: &Workspace,
    mutation: &Mutation,
    durability: Durability,
    cancel: &Cancel,
) -> Result<Output, Error> {
    let prepared = prepare(workspace, mutation, durability, cancel)?;
    let Committed { output, folder, replaced: _replaced } = prepared.commit(workspace, mutation, cancel)?;
    match durability {
        Durability::Atomic => workspace::sweep_folder(&folder.0),
        // A sync takes longer than most sweeps, which cost nothing beside it. Without a thread there is none.
        Durability::Synced => std::thread::scope(|scope| {
            let sweep = || workspace::sweep_folder(&folder.0);
            let _ = std::thread::Builder::new().spawn_scoped(scope, sweep);
            folder.sync()
        })?,
    }
    Ok(output)
}

impl Seen {
    fn attributes(&self) -> Option<&Attributes> {
        match self {
            Self::Nothing => None,
            Self::File { attributes, .. } => Some(attributes),
        }
    }

    /// A file of any size, known by its digest.
    pub(super) fn digest(
        folder: &workspace::Folder,
        path: &WorkspacePath,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let fault = |error| check::fault(path, error);
        let (_, name) = path.split();
        let (file, attributes, _) = folder.open_file(name).map_err(fault)?;
        folder.require_writable(name).map_err(fault)?;
        let mut position = 0;
        let next = |buffer: &mut [u8]| {
            refuse_cancelled(cancel)?;
            let count = workspace::read_fully(file.as_fd(), buffer, position).map_err(fault)?;
            position += count as u64;
            Ok(count)
        };
        let digest = Digest::of_chunks(next, CHUNK_BYTES)?;
        Ok(Self::File { attributes, content: Content::Digest(digest) })
    }
}

/// A regular file of a size that can be replaced or edited, with its content.
pub(super) fn look_at_file(
    folder: &workspace::Folder,
    path: &WorkspacePath,
    cancel: &Cancel,
) -> Result<Seen, Error> {
    let fault = |error| check::fault(path, error);
    let (_, name) = path.split();
    let (file, attributes, size) = folder.open_file(name).map_err(fault)?;
    folder.require_writable(name).map_err(fault)?;
    require_size(path, size)?;
    refuse_cancelled(cancel)?;
    // One byte more, to see whether it grows.
    let mut bytes = vec![0; size as usize + 1];
    let count = workspace::read_fully(file.as_fd(), &mut bytes, 0).map_err(fault)?;
    if count == bytes.len() {
        // It grew since its size was asked. All of it is wanted, or the knowledge that it is too much.
        bytes.resize(limits::FILE_MAX_BYTES as usize + 1, 0);
        let more = workspace::read_fully(file.as_fd(), &mut bytes[count..], count as u64).map_err(fault)?;
        bytes.truncate(count + more);
        require_size(path, bytes.len() as u64)?;
    } else {
        bytes.truncate(count);
    }
    Ok(Seen::File { attributes, content: Content::Bytes(bytes) })
}

fn require_size(path: &WorkspacePath, size: u64) -> Result<(), Error> {
    let max = limits::FILE_MAX_BYTES;
    if size <= max {
        return Ok(());
    }
    let path = check::quoted(path.as_str());
    Err(Error::new(
        Kind::FileTooLarge,
        format!("path {path} has {size} bytes, which exceeds the {max} byte limit"),
    ))
}

/// What a file must be to be edited, or replaced by text.
pub(super) fn require_text<'a>(path: &WorkspacePath, bytes: &'a [u8]) -> Result<&'a str, Error> {
    workspace::text(bytes).ok_or_else(|| {
        let path = check::quoted(path.as_str());
        Error::new(Kind::InvalidText, format!("path {path} is not text: it holds invalid UTF-8 or a NUL"))
    })
}

pub(super) fn refuse_stale(expected: &Digest, current: &Digest) -> Result<(), Error> {
    if expected == current {
        return Ok(());
    }
    Err(Error::new(
        Kind::Conflict,
        format!("expected_sha256 {expected} is stale, the file has changed: its digest is now {current}"),
    ))
}

/// A file with the name of a temporary one would not be listed, and the next sweep would take it.
pub(super) fn require_unreserved(path: &WorkspacePath) -> Result<(), Error> {
    let (_, name) = path.split();
    if !workspace::is_temporary_name(name.as_bytes()) {
        return Ok(());
    }
    let path = check::quoted(path.as_str());
    let rule = "has a name that is reserved for temporary files, which are removed";
    Err(Error::new(Kind::InvalidArguments, format!("path {path} {rule}")))
}

fn refuse_cancelled(cancel: &Cancel) -> Result<(), Error> {
    if cancel.is_cancelled() {
        return Err(Error::new(Kind::Cancelled, "cancelled before it was applied; nothing was written"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
