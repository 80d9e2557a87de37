//! The ignore files of a workspace: `.gitignore`, `.ignore` and `.git/info/exclude`, with or without a repository.
//!
//! As in ripgrep, `.ignore` outranks `.gitignore`, which outranks the exclude file, wherever they lie; among files of
//! one name the deeper one decides, and in one file the last matching line. They are read through the workspace's
//! directories, so nothing outside is consulted; as in git, an ignore file that is a symlink is not followed. Only
//! the rules come from the `ignore` crate, which opens no path here.

use std::borrow::Cow;

use axlr_protocol::limits;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::capacity::IGNORE_BLOCK_LINES;
use crate::workspace::walk::{Contents, Directory};
use crate::workspace::{Error, Scope, Workspace};

/// The rules that hold at the current place of a walk.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    levels: Vec<Level>,
    buffer: Vec<u8>,
}

/// The rules of one directory.
#[derive(Debug)]
struct Level {
    /// The depth of the walk at which its entries are; 0 above the walk.
    depth: usize,
    /// Length of its path, the slash included: what is cut off before matching.
    prefix: usize,
    /// By [`Source`], each in the order of its lines.
    blocks: [Vec<Gitignore>; 3],
}

/// The kinds of ignore files, the highest rank first.
#[derive(Debug, Clone, Copy)]
enum Source {
    Ignore,
    Gitignore,
    Exclude,
}

const SOURCES: [Source; 3] = [Source::Ignore, Source::Gitignore, Source::Exclude];

impl IgnoreRules {
    /// Reads the ignore files of the directories above the scope.
    ///
    /// # Errors
    /// What open(2) says of such a directory.
    pub(super) fn above(
        workspace: &Workspace,
        scope: &Scope,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let mut rules = Self::default();
        if scope.is_root() {
            return Ok(rules);
        }
        let slashes = scope.as_str().match_indices('/').map(|(index, _)| index);
        for end in std::iter::once(0).chain(slashes) {
            let path = &scope.as_str()[..end];
            let prefix = if end == 0 { 0 } else { end + 1 };
            rules.enter(&workspace.directory(path)?, Spot { depth: 0, prefix }, |_| true, stop);
        }
        Ok(rules)
    }

    /// Reads the ignore files of a directory that was entered; `has` tells which names it holds.
    pub(super) fn enter(
        &mut self,
        directory: &Directory,
        spot: Spot,
        has: impl Fn(&str) -> bool,
        stop: &dyn Fn() -> bool,
    ) {
        let mut blocks = [const { Vec::new() }; 3];
        for source in SOURCES {
            if has(source.name()) && self.read(directory, source) {
                blocks[source as usize] = compile(&self.buffer, stop);
            }
        }
        if blocks.iter().any(|blocks| !blocks.is_empty()) {
            self.levels.push(Level { depth: spot.depth, prefix: spot.prefix, blocks });
        }
    }

    /// Forgets the directories whose entries are deeper than this.
    pub(super) fn leave_to(&mut self, depth: usize) {
        while self.levels.last().is_some_and(|level| level.depth > depth) {
            self.levels.pop();
        }
    }

    /// Whether an entry is left out.
    pub(super) fn ignores(&self, path: &str, is_dir: bool) -> bool {
        for source in SOURCES {
            for level in self.levels.iter().rev() {
                for block in level.blocks[source as usize].iter().rev() {
                    match block.matched(&path[level.prefix..], is_dir) {
                        Match::None => {}
                        Match::Ignore(_) => return true,
                        Match::Whitelist(_) => return false,
                    }
                }
            }
        }
        false
    }

    /// Reads an ignore file into the buffer. What can't be read, or is over the limit of any searched file, has no
    /// rules.
    fn read(&mut self, directory: &Directory, source: Source) -> bool {
        let buffer = &mut self.buffer;
        let mut read = |directory: &Directory, name: &str| {
            let contents = directory.read_file(name.as_bytes(), limits::SEARCH_FILE_MAX_BYTES, buffer);
            matches!(contents, Ok(Contents::Whole))
        };
        match source {
            Source::Ignore | Source::Gitignore => read(directory, source.name()),
            Source::Exclude => directory
                .open_directory(b".git")
                .and_then(|git| git.open_directory(b"info"))
                .is_ok_and(|info| read(&info, "exclude")),
        }
    }
}

/// Where a directory is in a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    /// The depth of its entries.
    pub(super) depth: usize,
    /// Length of its path, the slash included.
    pub(super) prefix: usize,
}

impl Source {
    /// The name whose presence in a directory makes it worth a look.
    fn name(self) -> &'static str {
        match self {
            Source::Ignore => ".ignore",
            Source::Gitignore => ".gitignore",
            Source::Exclude => ".git",
        }
    }
}

/// Compiles an ignore file's lines. Lines that are not UTF-8 or no glob are left out, as git and ripgrep do.
fn compile(text: &[u8], stop: &dyn Fn() -> bool) -> Vec<Gitignore> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let lines: Vec<&str> = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter_map(|line| std::str::from_utf8(line).ok())
        .collect();
    let mut blocks = Vec::new();
    for lines in lines.chunks(IGNORE_BLOCK_LINES) {
        if stop() {
            break;
        }
        compile_block(lines, &mut blocks);
    }
    blocks
}

fn compile_block(lines: &[&str], blocks: &mut Vec<Gitignore>) {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        // A line that is no glob has no meaning.
        let _ = builder.add_line(None, &literal_braces(line));
    }
    match builder.build() {
        Ok(block) if block.is_empty() => {}
        Ok(block) => blocks.push(block),
        // Together they pass the compiler's size limit: find the lines that do so alone.
        Err(_) if lines.len() > 1 => {
            let (first, second) = lines.split_at(lines.len() / 2);
            compile_block(first, blocks);
            compile_block(second, blocks);
        }
        Err(_) => {}
    }
}

/// To git a brace is a character like any other; to the `ignore` crate it would begin alternatives. gitignore(5).
fn literal_braces(line: &str) -> Cow<'_, str> {
    if !line.contains(['{', '}']) {
        return Cow::Borrowed(line);
    }
    let mut literal = String::with_capacity(line.len() + 4);
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '[', '{', '}']) {
        let (plain, special) = rest.split_at(at);
        literal.push_str(plain);
        let length = match special.as_bytes()[0] {
            b'\\' => 1 + special.chars().nth(1).map_or(0, char::len_utf8),
            b'[' => class_length(special),
            _ => {
                literal.push('\\');
                1
            }
        };
        literal.push_str(&special[..length]);
        rest = &special[length..];
    }
    literal.push_str(rest);
    Cow::Owned(literal)
}

/// The length of the character class that begins here; 1 when nothing closes it. In a class braces are literal already.
fn class_length(text: &str) -> usize {
    let first = 1 + usize::from(text[1..].starts_with(['!', '^']));
    let from = first + usize::from(text[first..].starts_with(']'));
    text[from..].find(']').map_or(1, |end| from + end + 1)
}

#[cfg(test)]
mod tests;
