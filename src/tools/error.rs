//! Why a tool did not complete.

use std::fmt;

/// What kind of fault it was. `crate::error` gives each its wire code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Malformed,
    InvalidArguments,
    NotRegularFile,
    InvalidOffset,
    InvalidText,
    LimitTooSmall,
    Conflict,
    FileTooLarge,
    NotSearchable,
    InvalidPath,
    InvalidManifest,
    NotFound,
    PermissionDenied,
    Filesystem,
    StartFailed,
    UnknownPlugin,
    UnknownPluginTool,
    PluginUnavailable,
    PluginFailed,
    Cancelled,
    TimedOut,
}

/// A fault of a tool: its kind, a message for the caller (workspace-relative paths only) and the cause for the log.
#[derive(Debug)]
pub struct Error {
    /// What kind of fault it was.
    pub kind: Kind,
    /// For the person or model that must act on it: the member, its value, the limit or the rule.
    pub message: String,
    source: Option<std::io::Error>,
}

impl Error {
    /// A fault that no operating system error caused.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// A malformed request: an argument check that reads no file.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(Kind::Malformed, message)
    }

    /// The same fault with its cause.
    pub fn with_source(mut self, source: std::io::Error) -> Self {
        self.source = Some(source);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
