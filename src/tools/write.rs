//! `write`: the whole content of one file, made or replaced.

use std::borrow::Cow;

use axlr_protocol::tool::{ContentEncoding, WriteArguments, WriteMode, WriteOutput};
use axlr_protocol::{Output, limits};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::mutation::{Change, Content, Seen, look_at_file, refuse_stale, require_text, require_unreserved};
use super::{Error, Kind, check};
use crate::cancel::Cancel;
use crate::workspace::{self, Digest, Folder, WorkspacePath};

/// A checked request to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    pub(super) path: WorkspacePath,
    content: Vec<u8>,
    rule: Rule,
    /// Whether missing folders are made.
    pub(super) makes_folders: bool,
}

/// What may stand at the path before.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    /// Nothing.
    Create,
    /// A file with this digest, and of text unless bytes are written.
    Replace { expected: Digest, is_text: bool },
    /// Nothing, or any file; one with this digest, if one is given.
    Overwrite { expected: Option<Digest> },
}

impl Write {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Malformed, naming the member and the rule; `invalid_arguments` for members that do not go together.
    ///
    /// Source: SPEC §3.2, §4.
    pub fn parse(arguments: WriteArguments) -> Result<Self, Error> {
        let path = check::file_path("path", &arguments.path)?;
        let is_text = arguments.encoding.unwrap_or_default() == ContentEncoding::Utf8;
        let content =
            if is_text { text_content(arguments.content)? } else { bytes_content(&arguments.content)? };
        let expected = check::digest("expected_sha256", arguments.expected_sha256.as_deref())?;
        let overwrite = arguments.overwrite.unwrap_or(false);
        let rule = match (arguments.mode, overwrite, expected) {
            (WriteMode::Create, true, _) => {
                return Err(conflicting(
                    "overwrite true goes with mode \"replace\", not with mode \"create\"",
                ));
            }
            (WriteMode::Create, false, Some(_)) => {
                return Err(conflicting("mode \"create\" replaces nothing, so it takes no expected_sha256"));
            }
            (WriteMode::Create, false, None) => Rule::Create,
            (WriteMode::Replace, true, expected) => Rule::Overwrite { expected },
            (WriteMode::Replace, false, Some(expected)) => Rule::Replace { expected, is_text },
            (WriteMode::Replace, false, None) => {
                return Err(conflicting(
                    "mode \"replace\" needs expected_sha256, the digest of what it replaces, or overwrite",
                ));
            }
        };
        require_unreserved(&path)?;
        // What must be there already is in a folder that is.
        let makes_nothing = matches!(rule, Rule::Replace { .. } | Rule::Overwrite { expected: Some(_) });
        let makes_folders = arguments.parents.unwrap_or(false) && !makes_nothing;
        Ok(Self { path, content, rule, makes_folders })
    }

    /// What stands at the path now, as far as it matters.
    pub(super) fn look(&self, folder: &Folder, cancel: &Cancel) -> Result<Seen, Error> {
        let (_, name) = self.path.split();
        let fault = |error| check::fault(&self.path, error);
        match &self.rule {
            Rule::Replace { .. } => look_at_file(folder, &self.path, cancel),
            rule => match (rule, folder.holds(name).map_err(fault)?) {
                (Rule::Overwrite { expected: Some(expected) }, false) => Err(self.missing(expected)),
                (Rule::Overwrite { expected: Some(_) }, true) => Seen::digest(folder, &self.path, cancel),
                (Rule::Overwrite { expected: None }, true) => {
                    let attributes = folder.attributes(name).map_err(fault)?;
                    folder.require_writable(name).map_err(fault)?;
                    Ok(Seen::File { attributes, content: Content::Unread })
                }
                (_, true) => Err(self.taken()),
                (_, false) => Ok(Seen::Nothing),
            },
        }
    }

    /// The new content, if it may replace what was seen.
    pub(super) fn change(&self, seen: &Seen) -> Result<Change<'_>, Error> {
        match (&self.rule, seen) {
            (Rule::Replace { expected, is_text }, Seen::File { content: Content::Bytes(old), .. }) => {
                if *is_text {
                    require_text(&self.path, old)?;
                }
                refuse_stale(expected, &Digest::of(old))?;
            }
            (
                Rule::Overwrite { expected: Some(expected) },
                Seen::File { content: Content::Digest(old), .. },
            ) => {
                refuse_stale(expected, old)?;
            }
            _ => {}
        }
        let output = WriteOutput {
            written_bytes: self.content.len() as u64,
            content_sha256: Digest::of(&self.content).to_string(),
        };
        Ok(Change { content: Cow::Borrowed(&self.content), output: Output::Write(output) })
    }

    fn taken(&self) -> Error {
        let path = check::quoted(self.path.as_str());
        Error::new(Kind::Conflict, format!("path {path} exists already; mode \"create\" never overwrites"))
    }

    /// A digest was given, and there is nothing that could have it.
    fn missing(&self, expected: &Digest) -> Error {
        let path = check::quoted(self.path.as_str());
        let message = format!("path {path} does not exist, so it cannot have the expected_sha256 {expected}");
        Error::new(Kind::Conflict, message)
    }

    /// The folder does not exist, and this request does not make it.
    pub(super) fn missing_folder(&self) -> Error {
        match &self.rule {
            Rule::Overwrite { expected: Some(expected) } => self.missing(expected),
            Rule::Replace { .. } => check::fault(&self.path, workspace::Error::NotFound),
            Rule::Create | Rule::Overwrite { expected: None } => {
                let path = check::quoted(self.path.as_str());
                let message = format!("the folder of path {path} does not exist; parents makes it");
                Error::new(Kind::NotFound, message)
            }
        }
    }
}

fn conflicting(rule: &str) -> Error {
    Error::new(Kind::InvalidArguments, rule)
}

fn text_content(content: String) -> Result<Vec<u8>, Error> {
    require_size(content.len() as u64)?;
    check::without_nul("content", &content)?;
    Ok(content.into_bytes())
}

fn bytes_content(content: &str) -> Result<Vec<u8>, Error> {
    let bytes = STANDARD.decode(content).map_err(|error| {
        let content = check::quoted(content);
        Error::malformed(format!("content {content} must be base64 (RFC 4648 section 4, padded): {error}"))
    })?;
    require_size(bytes.len() as u64)?;
    Ok(bytes)
}

fn require_size(size: u64) -> Result<(), Error> {
    if size <= limits::FILE_MAX_BYTES {
        return Ok(());
    }
    let max = limits::FILE_MAX_BYTES;
    Err(Error::malformed(format!("content of {size} bytes exceeds the {max} byte limit")))
}

#[cfg(test)]
mod tests;
