//! Context files: which of a workdir's files the patterns of an agent name, and what is in them.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern::{Pattern, PatternError, Segment};
use crate::limits;
use crate::provider::Boxed;

/// Never entered by `**`: no part of what people mean by their files.
const REPOSITORY: &str = ".git";

/// A workdir, confined: nothing outside it is listed or read, symlinks included.
pub trait Files: Send + Sync {
    /// What is directly in a directory; "" is the workdir itself. A name that is not UTF-8 is left out.
    ///
    /// # Errors
    /// See [`FilesError`].
    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, Result<Vec<Entry>, FilesError>>;

    /// A regular file's bytes, whole.
    ///
    /// # Errors
    /// See [`FilesError`].
    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<Vec<u8>, FilesError>>;
}

/// Why a directory or a file was not had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// This one is missing, unreadable, outside, or of another kind. It is passed over.
    #[error("{0}")]
    Unreadable(String),
    /// Nothing can be had at all: the runtime is not there.
    #[error("{0}")]
    Unavailable(String),
}

/// What is in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name there.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink to anything.
    Symlink,
    /// A socket, a pipe or a device.
    Other,
}

/// A file of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Relative to the workdir, with slashes.
    pub path: String,
    /// What is in it; what is not UTF-8 is replaced.
    pub text: String,
}

/// All files of the context.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gathered {
    /// By path, each once.
    pub files: Vec<ContextFile>,
    /// Lines for stderr.
    pub warnings: Vec<String>,
}

/// Why there is no context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatherError {
    /// A pattern means nothing: a fault of the agent's file.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The workdir can't be read at all.
    #[error("{0}")]
    Unavailable(String),
}

/// The files that any of the patterns names, in the order of their paths. Passed over in silence: what can't be read,
/// what is binary, and patterns that match nothing.
///
/// # Errors
/// See [`GatherError`].
pub async fn gather(patterns: &[String], files: &dyn Files) -> Result<Gathered, GatherError> {
    let patterns: Vec<_> = patterns.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>()?;
    let mut walk = Walk { files, listed: BTreeMap::new(), found: BTreeSet::new() };
    for pattern in patterns.iter().filter(|pattern| !pattern.leaves_workdir()) {
        walk.follow(pattern).await?;
    }
    let mut gathered = Gathered::default();
    for path in walk.found {
        if let Some(bytes) = had(files.read(&path).await)?
            && !is_binary(&bytes)
        {
            gathered.files.push(ContextFile { path, text: String::from_utf8_lossy(&bytes).into_owned() });
        }
    }
    let size: usize = gathered.files.iter().map(|file| file.text.len()).sum();
    if size >= limits::LARGE_CONTEXT_BYTES {
        gathered.warnings.push(format!(
            "{} context files hold {} KiB, which few models take; narrow the patterns of files",
            gathered.files.len(),
            size / 1024
        ));
    }
    Ok(gathered)
}

/// The search for one agent's files. Directories are listed once, and only those a pattern can reach.
struct Walk<'a> {
    files: &'a dyn Files,
    listed: BTreeMap<String, Vec<Entry>>,
    found: BTreeSet<String>,
}

/// A directory, or a file's place, and the segments that are still to be matched below it.
struct Step<'a> {
    path: String,
    segments: &'a [Segment],
}

impl Walk<'_> {
    async fn follow(&mut self, pattern: &Pattern) -> Result<(), GatherError> {
        let mut steps = vec![Step { path: String::new(), segments: pattern.segments() }];
        // Two `**` reach the same place in many ways.
        let mut seen = BTreeSet::new();
        while let Some(step) = steps.pop() {
            if !seen.insert((step.path.clone(), step.segments.len())) {
                continue;
            }
            match step.segments {
                [] => {}
                [Segment::Name(name)] => {
                    self.found.insert(below(&step.path, name));
                }
                [Segment::Name(name), after @ ..] => {
                    let path = below(&step.path, name);
                    steps.push(Step { path, segments: after });
                }
                [segment @ Segment::Wild(_), after @ ..] => {
                    self.entries(&step, &mut steps, |name| segment.matches(name), after, false).await?;
                }
                [Segment::AnyDepth] => {
                    self.entries(&step, &mut steps, |_| true, &[], false).await?;
                    self.entries(&step, &mut steps, |name| name != REPOSITORY, step.segments, true).await?;
                }
                [Segment::AnyDepth, after @ ..] => {
                    steps.push(Step { path: step.path.clone(), segments: after });
                    self.entries(&step, &mut steps, |name| name != REPOSITORY, step.segments, true).await?;
                }
            }
        }
        Ok(())
    }

    /// Takes what is in the step's directory and is accepted: as files when nothing remains to be matched, else as
    /// directories to go on in. `**`, for which things are walked, enters no symlinks.
    async fn entries<'s>(
        &mut self,
        step: &Step<'s>,
        steps: &mut Vec<Step<'s>>,
        accepts: impl Fn(&str) -> bool,
        remaining: &'s [Segment],
        is_walked: bool,
    ) -> Result<(), GatherError> {
        if !self.listed.contains_key(&step.path) {
            let entries = had(self.files.list(&step.path).await)?.unwrap_or_default();
            self.listed.insert(step.path.clone(), entries);
        }
        let Some(entries) = self.listed.get(&step.path) else { return Ok(()) };
        for entry in entries.iter().filter(|entry| accepts(&entry.name)) {
            let path = below(&step.path, &entry.name);
            match entry.kind {
                EntryKind::File | EntryKind::Symlink if remaining.is_empty() => {
                    self.found.insert(path);
                }
                EntryKind::Directory => steps.push(Step { path, segments: remaining }),
                EntryKind::Symlink if !is_walked => {
                    steps.push(Step { path, segments: remaining });
                }
                EntryKind::File | EntryKind::Symlink | EntryKind::Other => {}
            }
        }
        Ok(())
    }
}

fn below(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(limits::BINARY_PREFIX_BYTES).any(|byte| *byte == 0)
}

/// None for what is passed over.
fn had<T>(result: Result<T, FilesError>) -> Result<Option<T>, GatherError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(FilesError::Unreadable(_)) => Ok(None),
        Err(FilesError::Unavailable(reason)) => Err(GatherError::Unavailable(reason)),
    }
}
