//! A manifest: which server a plugin is, and which of its tools may be called.
//!
//! It is read once, when the process starts or a workspace is opened. No directory is ever scanned for one.

use std::io::Read as _;
use std::path::Path;

use axlr_protocol::limits;
use reqwest::Url;
use serde::Deserialize;

use crate::tools::quoted;

/// A plugin's manifest, checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Manifest {
    pub(crate) id: String,
    pub(super) server: Server,
    allowed: Allowed,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Server {
    /// A program that speaks on its stdin and stdout.
    Stdio { command: String, args: Vec<String> },
    /// Streamable HTTP.
    Http { url: Url },
}

/// The tools that may be called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Allowed {
    Every,
    Named(Vec<String>),
}

/// A file that is no manifest. The words go behind its path.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not an absolute path.
    #[error("must be named by an absolute path")]
    Relative,
    /// It could not be read.
    #[error("can't be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// A folder, a pipe, a device.
    #[error("is not a regular file")]
    NotRegular,
    /// Over the limit.
    #[error("is over the limit of {} bytes", limits::PLUGIN_MANIFEST_MAX_BYTES)]
    TooLarge,
    /// Not UTF-8, not JSON, or not the members that a manifest has.
    #[error("is not a manifest: {0}")]
    Malformed(String),
    /// A member with a value that it can't have.
    #[error("{0}")]
    Member(String),
}

/// What an id must be.
pub(super) const ID_RULE: &str = "must be a letter followed by letters, digits, _ and -";

/// Whether a text can be the id of a plugin.
pub(super) fn is_id(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// What the name of a tool must be.
pub(super) fn tool_name_rule() -> String {
    let most = limits::PLUGIN_TOOL_NAME_MAX_CHARS;
    format!("must be 1 to {most} of letters, digits, _, . and -")
}

/// Whether a text can be the name of a tool.
pub(super) fn is_tool_name(text: &str) -> bool {
    (1..=limits::PLUGIN_TOOL_NAME_MAX_CHARS).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// The members, before their values are looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    manifest_version: u64,
    id: String,
    command: Option<String>,
    args: Option<Vec<String>>,
    url: Option<String>,
    allow_tools: Vec<String>,
}

impl Manifest {
    /// Reads the manifest at an absolute path.
    ///
    /// # Errors
    /// See [`ManifestError`].
    ///
    /// Source: SPEC §3.8.
    pub(crate) fn read(path: &Path) -> Result<Self, ManifestError> {
        if !path.is_absolute() {
            return Err(ManifestError::Relative);
        }
        // Asked before it is opened: the opening of a pipe waits for whoever writes it.
        if !std::fs::metadata(path)?.is_file() {
            return Err(ManifestError::NotRegular);
        }
        let most = limits::PLUGIN_MANIFEST_MAX_BYTES;
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
        Self::parse(&bytes)
    }

    /// Reads the text of a manifest.
    fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        if bytes.len() > limits::PLUGIN_MANIFEST_MAX_BYTES {
            return Err(ManifestError::TooLarge);
        }
        let text = str::from_utf8(bytes).map_err(|error| ManifestError::Malformed(error.to_string()))?;
        if !text.trim_start().starts_with('{') {
            // serde would take an array of the values in their order.
            return Err(ManifestError::Malformed("it must be one JSON object".to_owned()));
        }
        let members: Members =
            serde_json::from_str(text).map_err(|error| ManifestError::Malformed(error.to_string()))?;
        let Members { manifest_version, id, command, args, url, allow_tools } = members;
        if manifest_version != 1 {
            return Err(member(format!("manifest_version {manifest_version} must be 1")));
        }
        if !is_id(&id) {
            return Err(member(format!("id {} {ID_RULE}", quoted(&id))));
        }
        let server = match (command, url) {
            (Some(command), None) => stdio(command, args)?,
            (None, Some(url)) => http(&url, args)?,
            (Some(_), Some(_)) => return Err(member("command and url must not both be given")),
            (None, None) => return Err(member("command or url is missing")),
        };
        Ok(Self { id, server, allowed: allowed(allow_tools)? })
    }

    /// Whether a tool of this name may be called.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        match &self.allowed {
            Allowed::Every => true,
            Allowed::Named(names) => names.iter().any(|name| name == tool),
        }
    }
}

fn member(message: impl Into<String>) -> ManifestError {
    ManifestError::Member(message.into())
}

fn stdio(command: String, args: Option<Vec<String>>) -> Result<Server, ManifestError> {
    if !command.starts_with('/') || command.contains('\0') {
        return Err(member(format!("command {} must be an absolute path without NUL", quoted(&command))));
    }
    let Some(args) = args else { return Err(member("args is missing; with command it is required")) };
    if let Some(index) = args.iter().position(|argument| argument.contains('\0')) {
        return Err(member(format!("args[{index}] must not contain NUL")));
    }
    Ok(Server::Stdio { command, args })
}

fn http(text: &str, args: Option<Vec<String>>) -> Result<Server, ManifestError> {
    let wrong = |rule: &str| member(format!("url {} {rule}", quoted(text)));
    if args.is_some_and(|args| !args.is_empty()) {
        return Err(member("args must be empty or absent with url"));
    }
    // The parser would pass over these in silence.
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong("must not contain white space"));
    }
    let url = Url::parse(text).map_err(|error| wrong(&format!("is no URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must be http or https"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("must name a host"));
    }
    // The parser takes fewer slashes, and more, and backslashes; and it forgets an empty user, which is one too.
    let authority = text.split_once(':').map_or("", |(_, rest)| rest).trim_start_matches(['/', '\\']);
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        // Not shown: a password stands in it.
        return Err(member("url must not hold a user or a password; give a header"));
    }
    if !text[url.scheme().len()..].starts_with("://")
        || text[url.scheme().len() + 3..].starts_with(['/', '\\'])
    {
        return Err(wrong("must have its host right after \"//\""));
    }
    if url.fragment().is_some() {
        return Err(wrong("must not have a fragment"));
    }
    Ok(Server::Http { url })
}

fn allowed(names: Vec<String>) -> Result<Allowed, ManifestError> {
    match names.as_slice() {
        [] => return Err(member("allow_tools must not be empty; [\"*\"] allows every tool")),
        [every] if every == "*" => return Ok(Allowed::Every),
        _ => {}
    }
    for (index, name) in names.iter().enumerate() {
        if name == "*" {
            return Err(member("allow_tools: \"*\" must stand alone"));
        }
        if !is_tool_name(name) {
            return Err(member(format!("allow_tools[{index}] {} {}", quoted(name), tool_name_rule())));
        }
        if names[..index].contains(name) {
            return Err(member(format!("allow_tools[{index}] {} is there twice", quoted(name))));
        }
    }
    Ok(Allowed::Named(names))
}

#[cfg(test)]
mod tests;
