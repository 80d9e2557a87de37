//! The closed sets of statuses and error codes. Their strings are forever.

use serde::{Deserialize, Serialize};

/// How an operation ended.
///
/// Source: SPEC §1.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The operation was seen to finish.
    Completed,
    /// Validation or policy refused it; nothing was done.
    Rejected,
    /// It broke while it ran.
    Failed,
    /// A cancellation was observed; effects before it remain.
    Cancelled,
    /// Its deadline passed; effects before it remain.
    TimedOut,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal => $status:ident,)*) => {
        /// The stable code of an error. Each code has exactly one [`Status`].
        ///
        /// Source: SPEC §5.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Code {
            /// Every code, in the order of declaration.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The string that stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }

            /// The status that a response with this code has.
            pub const fn status(self) -> Status {
                match self { $(Code::$name => Status::$status),* }
            }
        }
    };
}

codes! {
    /// The request, or one of its arguments, is malformed.
    InvalidRequest = "invalid_request" => Rejected,
    /// Well-formed arguments that do not go together.
    InvalidArguments = "invalid_arguments" => Rejected,
    /// The path names something that is not a regular file.
    NotRegularFile = "not_regular_file" => Rejected,
    /// The offset lies beyond the end, or inside a character.
    InvalidOffset = "invalid_offset" => Rejected,
    /// The bytes are not text: invalid UTF-8, or a NUL.
    InvalidText = "invalid_text" => Rejected,
    /// Not even one character fits the limit.
    LimitTooSmall = "limit_too_small" => Rejected,
    /// The file is not in the state that the request expects.
    Conflict = "conflict" => Rejected,
    /// The file, or the result, is over the size limit.
    FileTooLarge = "file_too_large" => Rejected,
    /// The search scope is a symlink, or neither a directory nor a regular file.
    NotSearchable = "not_searchable" => Rejected,
    /// A directory path leads outside, or is no directory.
    InvalidPath = "invalid_path" => Rejected,
    /// No plugin with that id is registered.
    UnknownPlugin = "unknown_plugin" => Rejected,
    /// The plugin's tool is not allowed by the manifest, or not advertised now.
    UnknownPluginTool = "unknown_plugin_tool" => Rejected,
    /// No such workspace, or not one that this connection may use.
    UnknownWorkspace = "unknown_workspace" => Rejected,
    /// Another request in flight on this connection has this id.
    RequestIdInUse = "request_id_in_use" => Rejected,
    /// A bound of the daemon is reached; nothing was done.
    Overloaded = "overloaded" => Rejected,
    /// The exec is not running, or its stdin is not open.
    NotRunning = "not_running" => Rejected,
    /// The daemon is going down.
    ShuttingDown = "shutting_down" => Rejected,
    /// A plugin manifest, id or environment is wrong.
    InvalidManifest = "invalid_manifest" => Rejected,
    /// The file or directory does not exist.
    NotFound = "not_found" => Failed,
    /// The operating system denied it.
    PermissionDenied = "permission_denied" => Failed,
    /// Any other fault of the file system, escapes from the workspace included.
    FilesystemError = "filesystem_error" => Failed,
    /// The program could not be started.
    StartFailed = "start_failed" => Failed,
    /// The plugin could not be started, or its handshake failed.
    PluginUnavailable = "plugin_unavailable" => Failed,
    /// The plugin broke the protocol, or died in the middle.
    PluginFailed = "plugin_failed" => Failed,
    /// The encoded response would pass the limit; the operation may have had effects.
    ResponseTooLarge = "response_too_large" => Failed,
    /// A fault of the daemon itself; effects are unknown.
    InternalError = "internal_error" => Failed,
    /// A cancellation was observed.
    Cancelled = "cancelled" => Cancelled,
    /// The deadline passed.
    Timeout = "timeout" => TimedOut,
}
