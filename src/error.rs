//! The one place where a Rust error becomes a wire code.

use axlr_protocol::{Code, ErrorBody};

use crate::tools::{Error, Kind};

/// The wire form of a tool's error. Its causes go to the log.
pub(crate) fn failure(error: Error) -> ErrorBody {
    if let Some(source) = std::error::Error::source(&error) {
        tracing::debug!(kind = ?error.kind, cause = %source, "{error}");
    }
    ErrorBody { code: code(error.kind), message: error.message }
}

fn code(kind: Kind) -> Code {
    match kind {
        Kind::Malformed => Code::InvalidRequest,
        Kind::InvalidArguments => Code::InvalidArguments,
        Kind::NotRegularFile => Code::NotRegularFile,
        Kind::InvalidOffset => Code::InvalidOffset,
        Kind::InvalidText => Code::InvalidText,
        Kind::LimitTooSmall => Code::LimitTooSmall,
        Kind::Conflict => Code::Conflict,
        Kind::FileTooLarge => Code::FileTooLarge,
        Kind::NotSearchable => Code::NotSearchable,
        Kind::InvalidPath => Code::InvalidPath,
        Kind::InvalidManifest => Code::InvalidManifest,
        Kind::NotFound => Code::NotFound,
        Kind::PermissionDenied => Code::PermissionDenied,
        Kind::Filesystem => Code::FilesystemError,
        Kind::StartFailed => Code::StartFailed,
        Kind::UnknownPlugin => Code::UnknownPlugin,
        Kind::UnknownPluginTool => Code::UnknownPluginTool,
        Kind::PluginUnavailable => Code::PluginUnavailable,
        Kind::PluginFailed => Code::PluginFailed,
        Kind::Cancelled => Code::Cancelled,
        Kind::TimedOut => Code::Timeout,
    }
}

/// A refusal in the runtime's own words.
pub(crate) fn refusal(code: Code, message: impl Into<String>) -> ErrorBody {
    ErrorBody { code, message: message.into() }
}

/// The answer when the actor or task that had the request is gone.
pub(crate) fn lost() -> ErrorBody {
    refusal(
        Code::InternalError,
        "the request was lost to a fault of the daemon; whether it had effects is unknown",
    )
}
