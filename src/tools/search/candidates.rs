//! The files that a search looks at, in walk order.

use axlr_protocol::limits;

use crate::cancel::Cancel;
use crate::capacity::SEARCH_IDLE_ENTRIES;
use crate::dialect::glob::Glob;
use crate::tools::Error;
use crate::tools::check::fault_at;
use crate::tools::tour::{Tour, cancelled};
use crate::workspace::walk::{Directory, Entry, Kind};

/// The walk of a search.
pub(super) struct Candidates<'c> {
    tour: Tour<'c>,
    glob: Option<&'c Glob>,
    cancel: &'c Cancel,
    ignored: u64,
}

/// What comes next in walk order. Its path is [`Candidates::path`].
#[derive(Debug)]
pub(super) enum Next {
    /// A file in this directory.
    File(Directory),
    /// A file or directory that can't be read, or whose name is not UTF-8.
    Unreadable,
    /// A stretch of the walk had no file to search: time to look whether there is something to send.
    Nothing,
    /// As many entries as a search walks lie behind, and there is one more.
    Limit,
    /// Nothing more.
    End,
}

impl<'c> Candidates<'c> {
    pub(super) fn new(tour: Tour<'c>, glob: Option<&'c Glob>, cancel: &'c Cancel) -> Self {
        Self { tour, glob, cancel, ignored: 0 }
    }

    /// The path of what came last.
    pub(super) fn path(&self) -> &str {
        self.tour.walk.path()
    }

    /// How many files and directories the ignore files left out so far.
    pub(super) fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Walks on to what comes next.
    ///
    /// # Errors
    /// `Cancelled`; `Filesystem` when descriptors or memory ran out.
    pub(super) fn next(&mut self) -> Result<Next, Error> {
        for _ in 0..SEARCH_IDLE_ENTRIES {
            let Some(entry) = self.tour.walk.next() else {
                // A walk that was told to stop may look like one that came to its end.
                return if self.cancel.is_cancelled() { Err(cancelled()) } else { Ok(Next::End) };
            };
            if self.cancel.is_cancelled() {
                return Err(cancelled());
            }
            let Entry { path, name, is_lossy, kind, .. } = entry;
            let is_wanted = match kind {
                Kind::Dir => true,
                Kind::File => self.glob.is_none_or(|glob| glob.matches(path)),
                Kind::Symlink | Kind::Other => false,
            };
            let is_reserved = matches!(name, ".git" | ".axlr" | ".kernel");
            if self.tour.walk.seen() > limits::SEARCH_MAX_ENTRIES {
                return Ok(Next::Limit);
            }
            if !is_wanted || is_reserved {
                continue;
            }
            let is_dir = kind == Kind::Dir;
            if self.tour.ignores(is_dir) {
                self.ignored += 1;
                continue;
            }
            if is_lossy {
                return Ok(Next::Unreadable);
            }
            let reached =
                if is_dir { self.tour.enter().map(|()| None) } else { self.tour.walk.directory().map(Some) };
            match reached {
                Ok(None) => {}
                Ok(Some(directory)) => return Ok(Next::File(directory)),
                Err(error) if error.is_exhaustion() => return Err(fault_at(self.path(), error)),
                // Removed meanwhile, or something else has its name now.
                Err(error) if error.is_gone() => {}
                Err(_) => return Ok(Next::Unreadable),
            }
        }
        Ok(Next::Nothing)
    }
}
