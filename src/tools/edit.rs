//! `edit`: literal text of one file, replaced where it stands.

mod closest;

use std::borrow::Cow;

use axlr_protocol::tool::{EditArguments, EditOutput};
use axlr_protocol::{Output, limits};
use memchr::memmem::Finder;

use super::mutation::{Change, Content, Seen, look_at_file, refuse_stale, require_text, require_unreserved};
use super::{Error, Kind, check};
use crate::cancel::Cancel;
use crate::workspace::{self, Digest, Folder, WorkspacePath};

/// A checked request to edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub(super) path: WorkspacePath,
    old_text: String,
    new_text: String,
    expected: Option<Digest>,
    replaces_all: bool,
}

/// How many of several occurrences a refusal names. SPEC §5.
const NAMED_OCCURRENCES: usize = 5;

impl Edit {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Malformed, naming the member and the rule.
    ///
    /// Source: SPEC §3.3, §4.
    pub fn parse(arguments: EditArguments) -> Result<Self, Error> {
        let path = check::file_path("path", &arguments.path)?;
        if arguments.old_text.is_empty() {
            return Err(Error::malformed("old_text \"\" must not be empty"));
        }
        check::without_nul("old_text", &arguments.old_text)?;
        check::without_nul("new_text", &arguments.new_text)?;
        let expected = check::digest("expected_sha256", arguments.expected_sha256.as_deref())?;
        require_unreserved(&path)?;
        Ok(Self {
            path,
            old_text: arguments.old_text,
            new_text: arguments.new_text,
            expected,
            replaces_all: arguments.replace_all.unwrap_or(false),
        })
    }

    /// The file as it is now.
    pub(super) fn look(&self, folder: &Folder, cancel: &Cancel) -> Result<Seen, Error> {
        look_at_file(folder, &self.path, cancel)
    }

    /// The file as it shall be.
    pub(super) fn change(&self, seen: &Seen) -> Result<Change<'_>, Error> {
        let Seen::File { content: Content::Bytes(old), .. } = seen else {
            return Err(check::fault(&self.path, workspace::Error::NotFound));
        };
        let text = require_text(&self.path, old)?;
        if let Some(expected) = &self.expected {
            refuse_stale(expected, &Digest::of(old))?;
        }
        let places = if self.replaces_all { self.all_places(text)? } else { vec![self.only_place(text)?] };
        let content = self.replaced(old, &places)?;
        let output = EditOutput {
            written_bytes: content.len() as u64,
            content_sha256: Digest::of(&content).to_string(),
            replacements: self.replaces_all.then_some(places.len() as u64),
        };
        Ok(Change { content: Cow::Owned(content), output: Output::Edit(output) })
    }

    /// Where the only occurrence begins. Overlapping ones count: `aa` is twice in `aaa`.
    fn only_place(&self, text: &str) -> Result<usize, Error> {
        let finder = Finder::new(&self.old_text);
        let mut places = Vec::new();
        let mut from = 0;
        // One more than are named, to know whether there are more. Each is one pass over the text at most.
        while places.len() <= NAMED_OCCURRENCES {
            let Some(found) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) else { break };
            places.push(from + found);
            from += found + 1;
        }
        match places.as_slice() {
            [] => Err(self.nowhere(text)),
            [place] => Ok(*place),
            several => Err(self.ambiguous(text, several)),
        }
    }

    fn all_places(&self, text: &str) -> Result<Vec<usize>, Error> {
        let places: Vec<usize> = memchr::memmem::find_iter(text.as_bytes(), &self.old_text).collect();
        if places.is_empty() { Err(self.nowhere(text)) } else { Ok(places) }
    }

    fn replaced(&self, old: &[u8], places: &[usize]) -> Result<Vec<u8>, Error> {
        let kept = old.len() - places.len() * self.old_text.len();
        // Both factors are far below 2^32.
        let size = kept as u64 + places.len() as u64 * self.new_text.len() as u64;
        if size > limits::FILE_MAX_BYTES {
            let (path, max) = (check::quoted(self.path.as_str()), limits::FILE_MAX_BYTES);
            let message = format!("path {path} would have {size} bytes, which exceeds the {max} byte limit");
            return Err(Error::new(Kind::FileTooLarge, message));
        }
        let mut content = Vec::with_capacity(size as usize);
        let mut copied = 0;
        for place in places {
            content.extend_from_slice(&old[copied..*place]);
            content.extend_from_slice(self.new_text.as_bytes());
            copied = place + self.old_text.len();
        }
        content.extend_from_slice(&old[copied..]);
        Ok(content)
    }

    fn nowhere(&self, text: &str) -> Error {
        let path = check::quoted(self.path.as_str());
        let old_text = check::quoted(&self.old_text);
        let closest = closest::describe(text, &self.old_text)
            .unwrap_or_else(|| "nothing in the file comes close to it".to_owned());
        Error::new(Kind::Conflict, format!("old_text {old_text} does not occur in {path}: {closest}"))
    }

    fn ambiguous(&self, text: &str, places: &[usize]) -> Error {
        let path = check::quoted(self.path.as_str());
        let old_text = check::quoted(&self.old_text);
        let lines: Vec<String> = places
            .iter()
            .take(NAMED_OCCURRENCES)
            .map(|place| closest::line_at(text, *place).to_string())
            .collect();
        let more = if places.len() > NAMED_OCCURRENCES { " and more" } else { "" };
        let lines = lines.join(", ");
        Error::new(
            Kind::Conflict,
            format!(
                "old_text {old_text} occurs more than once in {path}: on lines {lines}{more}; \
                 make it longer, or set replace_all"
            ),
        )
    }
}

#[cfg(test)]
mod tests;
