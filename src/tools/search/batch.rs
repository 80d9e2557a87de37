//! Some files in walk order, handed from the walk to a thread and back as one.

use super::candidates::{Candidates, Next};
use super::file::{Outcome, Reason};
use super::front::Position;
use crate::capacity::SEARCH_BATCH_DIRECTORIES;
use crate::tools::Error;
use crate::workspace::walk::Directory;

/// Files, and what became of them. Two blocks of memory, used again for the next batch.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Its place in the order of batches.
    pub(super) index: u64,
    paths: String,
    directories: Vec<Directory>,
    files: Vec<File>,
    /// As many as files, once a thread was at it.
    pub(super) outcomes: Vec<Outcome>,
}

#[derive(Debug)]
struct File {
    /// Where its path ends; it begins where the one before ends.
    end: usize,
    /// Its directory's place in `directories`; `None` for what can't be read.
    directory: Option<usize>,
    ignored: u64,
}

/// Why the walk is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkEnd {
    /// Everything was walked.
    Complete,
    /// The limit of entries was reached.
    Limit,
}

impl Batch {
    /// Empties the batch and walks on until it holds `most` files, or the walk ends or finds none for a while.
    ///
    /// # Errors
    /// Those of the walk.
    pub(super) fn fill(
        &mut self,
        candidates: &mut Candidates<'_>,
        most: usize,
    ) -> Result<Option<WalkEnd>, Error> {
        self.paths.clear();
        self.directories.clear();
        self.files.clear();
        self.outcomes.clear();
        while self.files.len() < most {
            let directory = match candidates.next()? {
                Next::File(directory) => Some(self.place(directory)),
                Next::Unreadable => None,
                Next::Nothing => break,
                Next::Limit => return Ok(Some(WalkEnd::Limit)),
                Next::End => return Ok(Some(WalkEnd::Complete)),
            };
            self.paths.push_str(candidates.path());
            self.files.push(File { end: self.paths.len(), directory, ignored: candidates.ignored() });
            if self.directories.len() == SEARCH_BATCH_DIRECTORIES {
                break;
            }
        }
        Ok(None)
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// The file of that number.
    pub(super) fn position(&self, number: usize) -> Position<'_> {
        let begin = number.checked_sub(1).map_or(0, |before| self.files[before].end);
        let File { end, ignored, .. } = self.files[number];
        Position { path: &self.paths[begin..end], ignored }
    }

    /// The directory of the file of that number, or what became of it already.
    pub(super) fn directory(&self, number: usize) -> Result<&Directory, Outcome> {
        match self.files[number].directory {
            Some(directory) => Ok(&self.directories[directory]),
            None => Err(Outcome::Skipped { size: 0, reason: Reason::Unreadable }),
        }
    }

    /// Gives up the open directories.
    pub(super) fn close(&mut self) {
        self.directories.clear();
    }

    fn place(&mut self, directory: Directory) -> usize {
        if !self.directories.last().is_some_and(|last| last.is_same(&directory)) {
            self.directories.push(directory);
        }
        self.directories.len() - 1
    }
}
