//! The ordered walk: depth first, names in byte order, a directory's entries right after it, never through a symlink.
//!
//! [`Walk::next`] yields one entry; the caller decides whether to [`Walk::enter`] it. Every directory is opened by
//! its single name relative to its parent's descriptor, so a tree that changes meanwhile can make entries vanish, but
//! can't lead the walk out of the workspace. At most [`WALK_DIRECTORIES_KEPT`] directories of the way down stay open,
//! however deep it is; when the walk comes back to one that was closed, it is opened again by the same steps.

mod directory;
mod listing;
mod place;

use listing::Listing;

use crate::capacity::{WALK_CHUNK_BYTES, WALK_DIRECTORIES_KEPT};
use crate::workspace::Error;

pub use directory::{Contents, Directory, Facts, Kind};
pub use place::Place;

/// A walk below one directory. Memory is what the names of the directories on the way down take.
#[derive(Debug)]
pub struct Walk {
    base: Directory,
    levels: Vec<Level>,
    /// The levels before this one hold no open directory.
    first_open: usize,
    /// The path of the current entry; its beginning is that of the directory it is in.
    path: String,
    seen: u64,
    most: u64,
    spare: Vec<Listing>,
    chunk: Vec<u8>,
}

#[derive(Debug)]
struct Level {
    directory: Option<Directory>,
    listing: Listing,
    next: usize,
    /// How much of `path` is this directory's, the slash included.
    prefix: usize,
}

/// One entry of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'w> {
    /// Relative to the workspace.
    pub path: &'w str,
    /// The last component of `path`.
    pub name: &'w str,
    /// Whether the name is not UTF-8 and is shown with U+FFFD. Such a directory can't be entered by a path, so don't.
    pub is_lossy: bool,
    /// What it is.
    pub kind: Kind,
    /// 1 for an entry of the directory where the walk began.
    pub depth: usize,
}

impl Walk {
    /// Begins below `base`, whose path in the workspace is `path`, empty for the workspace itself. No more than `most`
    /// entries will be looked at, so that one directory with very many names costs no more memory than those.
    ///
    /// Between chunks of names `stop` is asked; when it says yes what follows is incomplete.
    ///
    /// # Errors
    /// What getdents(2) says.
    pub fn new(base: Directory, path: &str, most: u64, stop: &dyn Fn() -> bool) -> Result<Self, Error> {
        let mut walk = Self {
            base: base.clone(),
            levels: Vec::new(),
            first_open: 0,
            path: path.to_owned(),
            seen: 0,
            most,
            spare: Vec::new(),
            chunk: Vec::with_capacity(WALK_CHUNK_BYTES),
        };
        walk.push(base, stop)?;
        Ok(walk)
    }

    /// The next entry in walk order; `None` at the end. It becomes the current one.
    #[expect(clippy::should_implement_trait, reason = "it lends, which an Iterator can't")]
    pub fn next(&mut self) -> Option<Entry<'_>> {
        loop {
            let level = self.levels.last_mut()?;
            if level.next == level.listing.len() {
                self.pop();
                continue;
            }
            let index = level.next;
            level.next += 1;
            let known = level.listing.kind(index);
            let prefix = level.prefix;
            let is_lossy = self.set_path(index);
            // Without a kind from the directory itself, ask. What has vanished meanwhile is no entry.
            let kind = match known.map_or_else(|| self.stat().map(|facts| facts.kind), Ok) {
                Ok(kind) => kind,
                Err(Error::NotFound) => continue,
                Err(_) => Kind::Other,
            };
            self.seen += 1;
            let path = self.path.as_str();
            return Some(Entry { path, name: &path[prefix..], is_lossy, kind, depth: self.levels.len() });
        }
    }

    /// Goes below the current entry, a directory: its entries come next.
    ///
    /// # Errors
    /// What openat(2) and getdents(2) say; the walk then goes on behind the directory.
    pub fn enter(&mut self, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let directory = self.directory()?.open_directory(self.current_name())?;
        self.push(directory, stop)
    }

    /// Asks what the current entry is now.
    ///
    /// # Errors
    /// What fstatat(2) says.
    pub fn stat(&mut self) -> Result<Facts, Error> {
        self.directory()?.stat(self.current_name())
    }

    /// The directory that the current entry is in.
    ///
    /// # Errors
    /// What openat(2) says when it had been closed and can't be opened again.
    pub fn directory(&mut self) -> Result<Directory, Error> {
        let top = self.levels.len() - 1;
        if self.levels[top].directory.is_none() {
            self.reopen()?;
        }
        Ok(self.levels[top].directory.clone().unwrap_or_else(|| self.base.clone()))
    }

    /// Whether the directory that was just entered, or where the walk began, has an entry of that name.
    pub fn has(&self, name: &str) -> bool {
        self.levels.last().is_some_and(|level| level.listing.contains(name.as_bytes()))
    }

    /// The path of the current entry, or of the directory that was just entered with a slash behind it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The depth of the entries that come next; 1 where the walk began.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The length of the path of the directory that the walk is in, the slash included; 0 for the workspace itself.
    pub fn prefix(&self) -> usize {
        self.levels.last().map_or(0, |level| level.prefix)
    }

    /// How many entries were yielded.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    fn current_name(&self) -> &[u8] {
        let level = &self.levels[self.levels.len() - 1];
        level.listing.name(level.next - 1)
    }

    fn set_path(&mut self, index: usize) -> bool {
        let level = &self.levels[self.levels.len() - 1];
        let name = level.listing.name(index);
        self.path.truncate(level.prefix);
        match std::str::from_utf8(name) {
            Ok(name) => {
                self.path.push_str(name);
                false
            }
            Err(_) => {
                self.path.push_str(&String::from_utf8_lossy(name));
                true
            }
        }
    }

    fn push(&mut self, directory: Directory, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let mut listing = self.spare.pop().unwrap_or_default();
        // One more than may follow, so that the caller learns that there was more.
        let most = usize::try_from((self.most - self.seen.min(self.most)) + 1).unwrap_or(usize::MAX);
        listing.read(&directory, most, &mut self.chunk, stop)?;
        if !self.path.is_empty() {
            self.path.push('/');
        }
        self.levels.push(Level { directory: Some(directory), listing, next: 0, prefix: self.path.len() });
        if self.levels.len() - self.first_open > WALK_DIRECTORIES_KEPT {
            self.levels[self.first_open].directory = None;
            self.first_open += 1;
        }
        Ok(())
    }

    fn pop(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.spare.push(level.listing);
        }
    }

    /// Opens the top level's directory again, step by step from the base, and keeps half of what may be kept, so that
    /// the next levels on the way up are open too.
    fn reopen(&mut self) -> Result<(), Error> {
        let top = self.levels.len() - 1;
        let first = (top + 1).saturating_sub(WALK_DIRECTORIES_KEPT / 2);
        let mut directory = self.base.clone();
        for index in 0..=top {
            if index > 0 {
                let name = self.levels[index - 1].prefix..self.levels[index].prefix - 1;
                directory = directory.open_directory(self.path[name].as_bytes())?;
            }
            if index >= first {
                self.levels[index].directory = Some(directory.clone());
            }
        }
        self.first_open = first;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
