//! Sizes of the tools' results.

/// Bytes of a command's output that a model gets.
pub(crate) const COMMAND_OUTPUT_MAX_BYTES: usize = 102_400;

/// Bytes of one `read_file` result.
pub(crate) const READ_OUTPUT_MAX_BYTES: usize = 1024 * 1024;

/// Lines that `read_file` returns when nothing else is said.
pub(crate) const READ_LINES_DEFAULT: u64 = 2000;

/// A NUL within the first so many bytes makes a file binary.
pub(crate) const BINARY_WINDOW_BYTES: usize = 512;

/// Bytes that are read of a file at once.
pub(crate) const READ_PAGE_BYTES: u64 = 256 * 1024;

/// Characters of a command in a log line.
pub(crate) const SHOWN_COMMAND_CHARS: usize = 60;

/// Characters of a search in a log line.
pub(crate) const SHOWN_QUERY_CHARS: usize = 80;

/// How often an edit begins anew when somebody else changes the file meanwhile.
pub(crate) const EDIT_TRIES: usize = 3;
