//! `search`: matching lines of the files below a directory, a page at a time.
//!
//! The way of one file: `candidates` walks to it, `file` reads and judges it, `scan` looks through its text with a
//! compiled `pattern`, `excerpt` words what is found, and `front` takes that into the page in walk order. A search
//! begins on the calling thread; when there is more to do than a few files, `crew` hires threads that read ahead, a
//! `batch` at a time. The answer is the same.

mod batch;
mod candidates;
mod crew;
mod excerpt;
mod file;
mod front;
mod pattern;
mod scan;

use axlr_protocol::limits;
use axlr_protocol::tool::{SearchArguments, SearchOutput};

use candidates::{Candidates, Next};
use crew::Ends;
use file::{Hand, Outcome, Reason};
use front::{Flow, Front, Position};
use pattern::Key;
use scan::{Job, Take};

use crate::cancel::Cancel;
use crate::capacity::{SEARCH_ALONE_BYTES, SEARCH_ALONE_FILES};
use crate::dialect::glob::Glob;
use crate::dialect::re2::Options;
use crate::tools::arguments;
use crate::tools::check::{Bound, bounded, fault_at, quoted};
use crate::tools::tour::{Plan, Tour};
use crate::tools::{Error, Events, Kind};
use crate::workspace::walk::{self, Place};
use crate::workspace::{Scope, Workspace};

pub use pattern::Patterns;

const MAX_RESULTS: Bound = arguments::count(limits::RESULTS_DEFAULT, limits::RESULTS_MAX);
const CONTEXT_LINES: Bound =
    Bound { min: 0, max: limits::CONTEXT_MAX_LINES, default: 0, zero_is_default: false, unit: "" };

/// A search whose arguments were checked, all but the pattern's meaning.
#[derive(Debug, Clone)]
pub struct Search {
    key: Key,
    scope: Scope,
    glob: Option<Glob>,
    context_lines: usize,
    max_results: u64,
    offset: u64,
    max_bytes: u64,
    ignore_files: bool,
    explain: bool,
}

impl Search {
    /// Checks the arguments. Whether the pattern compiles is found out by [`search`], away from the caller's task.
    ///
    /// # Errors
    /// `Malformed`, with the member, its value and the limit or rule.
    pub fn parse(arguments: SearchArguments) -> Result<Self, Error> {
        pattern::check(&arguments.pattern)?;
        let context_lines = bounded("context_lines", arguments.context_lines, CONTEXT_LINES)?;
        Ok(Self {
            scope: arguments::scope(arguments.path.as_deref())?,
            glob: arguments::glob(arguments.glob.as_deref())?,
            context_lines: usize::try_from(context_lines).unwrap_or(0),
            max_results: bounded("max_results", arguments.max_results, MAX_RESULTS)?,
            offset: arguments::offset(arguments.offset)?,
            max_bytes: arguments::page_bytes(arguments.max_bytes)?,
            ignore_files: arguments.ignore_files.unwrap_or(false),
            explain: arguments.explain.unwrap_or(false),
            key: Key {
                pattern: arguments.pattern,
                options: Options {
                    literal: arguments.literal.unwrap_or(false),
                    ignore_case: arguments.ignore_case.unwrap_or(false),
                },
            },
        })
    }

    /// What is wanted of a file ahead of the front, when at most `to_pass` matches before it lie before the page: all
    /// that may be on the page, and, as long as the page's beginning may lie further on, the count.
    fn take_ahead(&self, to_pass: u64) -> Take {
        let most_items = self.max_results + 1;
        let count_to = if to_pass == 0 { 0 } else { to_pass.saturating_add(most_items) };
        Take { skip: 0, most_items, most_bytes: self.max_bytes, count_to }
    }
}

/// Searches a file, or the files below a directory, in walk order, line by line.
///
/// The search ends when the page is full and a further match is known, or at a limit. With `events` the matches are
/// sent as they are found and the output has none. At most `threads` threads work on it, the calling one included;
/// their number can't be told from the answer.
///
/// # Errors
/// `Malformed` when the pattern does not compile; `NotSearchable` when the path is neither a directory nor a regular
/// file; `NotFound`, `PermissionDenied` and `Filesystem` when it can't be looked at; `Cancelled`. What can't be read
/// further down is counted as skipped.
///
/// Source: SPEC §3.5.
pub fn search(
    workspace: &Workspace,
    search: &Search,
    patterns: &Patterns,
    threads: usize,
    cancel: &Cancel,
    events: Option<&Events>,
) -> Result<SearchOutput, Error> {
    let pattern = patterns.get(&search.key, cancel)?;
    let path = search.scope.as_str();
    let place = workspace.locate(&search.scope).map_err(|error| fault_at(path, error))?;
    let stop = || cancel.is_cancelled();
    let job = Job { pattern: &pattern, context: search.context_lines, stop: &stop };
    let mut hand = Hand::new(job);
    let mut front = Front::new(search, cancel, events);
    match place.facts.kind {
        walk::Kind::Dir => {
            let plan = Plan {
                scope: &search.scope,
                ignore_files: search.ignore_files,
                most: limits::SEARCH_MAX_ENTRIES,
            };
            let tour = Tour::begin(workspace, &place, plan, cancel)?;
            let mut candidates = Candidates::new(tour, search.glob.as_ref(), cancel);
            let ends = Ends { candidates: &mut candidates, front: &mut front, hand: &mut hand };
            search_below(threads, (search, &pattern, cancel), ends)?;
        }
        walk::Kind::File => search_file(&place, path, &mut front, &mut hand)?,
        walk::Kind::Symlink => return Err(not_searchable(path, "a symlink")),
        walk::Kind::Other => return Err(not_searchable(path, "no regular file")),
    }
    front.finish()
}

/// Searches a directory: first alone, then, when it is worth it, with others.
fn search_below(
    threads: usize,
    what: (&Search, &pattern::Compiled, &Cancel),
    ends: Ends<'_, '_>,
) -> Result<(), Error> {
    let Ends { candidates, front, hand } = ends;
    loop {
        if threads > 1 && (front.files() >= SEARCH_ALONE_FILES || front.bytes() >= SEARCH_ALONE_BYTES) {
            return crew::search_with(threads, what, Ends { candidates, front, hand });
        }
        let next = candidates.next()?;
        let position = Position { path: candidates.path(), ignored: candidates.ignored() };
        let flow = match next {
            Next::File(directory) => {
                let mut examine = |take| hand.examine(&directory, position.path, take);
                front.admit(position, Outcome::Deferred, &mut examine)?
            }
            Next::Unreadable => {
                let outcome = Outcome::Skipped { size: 0, reason: Reason::Unreadable };
                front.admit(position, outcome, &mut |_| Outcome::Deferred)?
            }
            Next::Nothing => {
                front.tick()?;
                Flow::On
            }
            Next::Limit | Next::End => {
                front.close(position.ignored, matches!(next, Next::Limit));
                return Ok(());
            }
        };
        if flow == Flow::Decided {
            return Ok(());
        }
    }
}

/// Searches one file, whatever the glob and the ignore files say of it.
fn search_file(place: &Place, path: &str, front: &mut Front<'_>, hand: &mut Hand<'_>) -> Result<(), Error> {
    let mut examine = |take| hand.examine(&place.directory, path, take);
    front.admit(Position { path, ignored: 0 }, Outcome::Deferred, &mut examine)?;
    Ok(())
}

fn not_searchable(path: &str, what: &str) -> Error {
    let message = format!("path {} is {what}; give a directory or a regular file", quoted(path));
    Error::new(Kind::NotSearchable, message)
}

#[cfg(test)]
mod tests;
