//! `list`: the entries of a directory, a page at a time.

use axlr_protocol::tool::{Entry, EntryType, ListArguments, ListOutput};
use axlr_protocol::{EventBody, limits};

use crate::cancel::Cancel;
use crate::dialect::glob::Glob;
use crate::tools::arguments;
use crate::tools::check::{Bound, bounded, fault_at};
use crate::tools::outbox::Outbox;
use crate::tools::page::{Page, Turn, page_size};
use crate::tools::tour::{Plan, Tour, cancelled};
use crate::tools::{Error, Events};
use crate::workspace::walk::{self, Facts, Kind, Place};
use crate::workspace::{self, Scope, Workspace};

const MAX_DEPTH: Bound = arguments::count(limits::DEPTH_DEFAULT, limits::LIST_DEPTH_MAX);
const MAX_ENTRIES: Bound = arguments::count(limits::ENTRIES_DEFAULT, limits::ENTRIES_MAX);

/// A listing whose arguments were checked.
#[derive(Debug, Clone)]
pub struct List {
    scope: Scope,
    glob: Option<Glob>,
    max_depth: usize,
    max_entries: u64,
    offset: u64,
    max_bytes: u64,
    ignore_files: bool,
}

impl List {
    /// Checks the arguments.
    ///
    /// # Errors
    /// `Malformed`, with the member, its value and the limit or rule.
    pub fn parse(arguments: ListArguments) -> Result<Self, Error> {
        // The range holds always, though the depth is of meaning only when recursive.
        let max_depth = bounded("max_depth", arguments.max_depth, MAX_DEPTH)?;
        let max_depth = if arguments.recursive.unwrap_or(false) { max_depth } else { 1 };
        Ok(Self {
            scope: arguments::scope(arguments.path.as_deref())?,
            glob: arguments::glob(arguments.glob.as_deref())?,
            max_depth: usize::try_from(max_depth).unwrap_or(usize::MAX),
            max_entries: bounded("max_entries", arguments.max_entries, MAX_ENTRIES)?,
            offset: arguments::offset(arguments.offset)?,
            max_bytes: arguments::page_bytes(arguments.max_bytes)?,
            ignore_files: arguments.ignore_files.unwrap_or(false),
        })
    }
}

/// Lists a directory in walk order, or describes what else the path names.
///
/// Sizes are bytes. Only the entries of the page are asked for theirs, and the walk ends when it is known whether more
/// follow. With `events` the entries are sent as they are found and the output has none.
///
/// # Errors
/// `NotFound`, `PermissionDenied` and `Filesystem` when the path can't be looked at; `Cancelled`. A directory further
/// down that can't be read is listed without entries.
///
/// Source: SPEC §3.6.
pub fn list(
    workspace: &Workspace,
    request: &List,
    cancel: &Cancel,
    events: Option<&Events>,
) -> Result<ListOutput, Error> {
    let path = request.scope.as_str();
    let place = workspace.locate(&request.scope).map_err(|error| fault_at(path, error))?;
    let mut listing = Listing {
        page: Page::new(request.offset, request.max_entries, request.max_bytes),
        outbox: Outbox::new(events, cancel, |entries| EventBody::Entries { entries }),
        output: ListOutput::default(),
    };
    if place.facts.kind == Kind::Dir {
        listing.walk(workspace, &place, request, cancel)?;
    } else {
        listing.describe(path, place.facts);
    }
    let Listing { page, outbox, mut output } = listing;
    output.entries = outbox.finish()?;
    output.next_offset = page.next_offset();
    output.truncated = page.has_more() || output.limit_reached;
    output.entries_ignored = request.ignore_files.then_some(output.entries_ignored.unwrap_or(0));
    Ok(output)
}

/// A listing on its way.
struct Listing<'c> {
    page: Page,
    outbox: Outbox<'c, Entry>,
    output: ListOutput,
}

impl Listing<'_> {
    /// Lists what is below a directory, until the page is decided.
    fn walk(
        &mut self,
        workspace: &Workspace,
        place: &Place,
        request: &List,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let plan = Plan {
            scope: &request.scope,
            ignore_files: request.ignore_files,
            most: limits::LIST_MAX_ENTRIES,
        };
        let mut tour = Tour::begin(workspace, place, plan, cancel)?;
        let mut ignored = 0;
        // A walk that was told to stop may look like one that came to its end, so cancellation is asked behind it.
        while let Some(entry) = tour.walk.next() {
            let walk::Entry { kind, depth, is_lossy, .. } = entry;
            let is_dir = kind == Kind::Dir;
            let is_entered = is_dir && !is_lossy && entry.name != ".git" && depth < request.max_depth;
            let is_left_out = matches!(entry.name, ".axlr" | ".kernel");
            let is_wanted = request.glob.as_ref().is_none_or(|glob| glob.matches(entry.path));
            if cancel.is_cancelled() {
                break;
            }
            if tour.walk.seen() > limits::LIST_MAX_ENTRIES {
                self.output.limit_reached = true;
                break;
            }
            let entries_seen = tour.walk.seen();
            self.outbox.tick(|| EventBody::ListProgress { entries_seen })?;
            // An ignored directory counts whatever the glob says: what is below it is left out unseen.
            if is_left_out {
                continue;
            }
            if (is_wanted || is_dir) && tour.ignores(is_dir) {
                ignored += 1;
                continue;
            }
            if is_wanted && !self.visit(&mut tour, kind, is_lossy) {
                break;
            }
            if is_entered {
                enter(&mut tour)?;
            }
        }
        self.output.entries_ignored = Some(ignored);
        if cancel.is_cancelled() { Err(cancelled()) } else { Ok(()) }
    }

    /// Lists what is no directory: itself.
    fn describe(&mut self, path: &str, facts: Facts) {
        if self.page.turn() == Turn::Wanted {
            self.admit(path, false, facts.kind, Ok(facts));
        }
    }

    /// Puts the walk's current entry where it belongs; `false` when the page is decided.
    fn visit(&mut self, tour: &mut Tour<'_>, kind: Kind, is_lossy: bool) -> bool {
        match self.page.turn() {
            Turn::Passed => true,
            Turn::Beyond => false,
            Turn::Wanted => {
                // Of everything but a file the type is all there is to tell.
                let facts = if kind == Kind::File { tour.walk.stat() } else { Ok(Facts { kind, size: 0 }) };
                self.admit(tour.walk.path(), is_lossy, kind, facts)
            }
        }
    }

    fn admit(
        &mut self,
        path: &str,
        name_lossy: bool,
        kind: Kind,
        facts: Result<Facts, workspace::Error>,
    ) -> bool {
        let (kind, size) = match facts {
            Ok(facts) => (facts.kind, (facts.kind == Kind::File).then_some(facts.size)),
            // Gone between getdents(2) and here: no entry.
            Err(workspace::Error::NotFound) => return true,
            Err(_) => (kind, None),
        };
        let kind = match kind {
            Kind::File => EntryType::File,
            Kind::Dir => EntryType::Dir,
            Kind::Symlink => EntryType::Symlink,
            Kind::Other => EntryType::Other,
        };
        let entry = Entry { path: path.to_owned(), kind, size, name_lossy };
        let bytes = page_size(&entry);
        let is_admitted = self.page.admit(bytes);
        if is_admitted {
            self.outbox.push(entry, bytes);
        }
        is_admitted
    }
}

/// Goes below the current entry. When it can't be read, the listing goes on behind it.
fn enter(tour: &mut Tour<'_>) -> Result<(), Error> {
    match tour.enter() {
        Err(error) if error.is_exhaustion() => Err(fault_at(tour.walk.path(), error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
