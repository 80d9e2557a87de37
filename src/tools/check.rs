//! Checks of arguments that read no file, and the words of their refusals: the member, its value, the rule.

use axlr_protocol::limits;

use super::{Error, Kind};
use crate::workspace::{self, Digest, WorkspacePath};

/// The range of a whole number that may be left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) min: u64,
    pub(super) max: u64,
    /// What an absent member means.
    pub(super) default: u64,
    /// Whether 0 means the default too.
    pub(super) zero_is_default: bool,
    /// What is counted, for the message: "byte", "ms". Empty for plain numbers.
    pub(super) unit: &'static str,
}

/// A whole number within its bound.
pub(super) fn bounded(member: &str, value: Option<i64>, bound: Bound) -> Result<u64, Error> {
    let Bound { min, max, default, zero_is_default, unit } = bound;
    let value = match value {
        None => return Ok(default),
        Some(0) if zero_is_default => return Ok(default),
        Some(value) => value,
    };
    let zero = if zero_is_default { format!(" (0 means the default, {default})") } else { String::new() };
    match u64::try_from(value) {
        Ok(value) if value > max && unit.is_empty() => {
            Err(Error::malformed(format!("{member} {value} exceeds the limit of {max}")))
        }
        Ok(value) if value > max => {
            Err(Error::malformed(format!("{member} {value} exceeds the {max} {unit} limit")))
        }
        Ok(value) if value >= min => Ok(value),
        _ => Err(Error::malformed(format!("{member} {value} is less than {min}{zero}"))),
    }
}

/// The path of a file.
pub(super) fn file_path(member: &str, value: &str) -> Result<WorkspacePath, Error> {
    WorkspacePath::parse(value).map_err(|rule| Error::malformed(format!("{member} {} {rule}", quoted(value))))
}

/// Text that no file of text could hold is refused.
pub(super) fn without_nul(member: &str, value: &str) -> Result<(), Error> {
    match memchr::memchr(0, value.as_bytes()) {
        None => Ok(()),
        Some(position) => Err(Error::malformed(format!(
            "{member} {} must not contain NUL (there is one at byte {position})",
            quoted(value)
        ))),
    }
}

/// A digest; empty counts as not given.
pub(super) fn digest(member: &str, value: Option<&str>) -> Result<Option<Digest>, Error> {
    match value {
        None | Some("") => Ok(None),
        Some(value) => Digest::parse(value).map(Some).ok_or_else(|| {
            Error::malformed(format!("{member} {} must be 64 lower-case hex digits", quoted(value)))
        }),
    }
}

/// A value as it stands in a message: in quotes, control characters escaped, cut at 80 characters.
///
/// Source: SPEC §5.
pub(crate) fn quoted(value: &str) -> String {
    let mut text = String::from("\"");
    let mut characters = value.chars();
    for character in characters.by_ref().take(limits::MESSAGE_VALUE_MAX_CHARS) {
        match character {
            '\'' => text.push('\''),
            // Escapes quotes, backslashes and what a terminal would not show.
            other => text.extend(other.escape_debug()),
        }
    }
    text.push('"');
    if characters.next().is_some() {
        text.push('…');
    }
    text
}

/// What the file system refused, for the member `path`.
pub(super) fn fault(path: &WorkspacePath, error: workspace::Error) -> Error {
    fault_at(path.as_str(), error)
}

/// What the file system refused at a path in the workspace; empty is the workspace.
pub(super) fn fault_at(path: &str, error: workspace::Error) -> Error {
    let kind = match &error {
        workspace::Error::NotFound => Kind::NotFound,
        workspace::Error::Exists => Kind::Conflict,
        workspace::Error::PermissionDenied(_) | workspace::Error::OwnerNotKept(_) => Kind::PermissionDenied,
        workspace::Error::NotRegular(_) => Kind::NotRegularFile,
        workspace::Error::Escapes | workspace::Error::Io(_) => Kind::Filesystem,
    };
    let message = format!("path {} {error}", quoted(if path.is_empty() { "." } else { path }));
    match error.into_source() {
        Some(source) => Error::new(kind, message).with_source(source),
        None => Error::new(kind, message),
    }
}

#[cfg(test)]
mod tests;
