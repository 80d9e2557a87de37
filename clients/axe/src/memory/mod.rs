//! What agents remember: a Markdown file each, one entry a run.
//!
//! ```text
//! ## 2026-01-02T03:04:05Z
//! **Task:** what was asked, on one line
//! **Result:** the start of the final text
//! ```
//!
//! Appending and trimming take a lock on the file, and both make sure that the file they locked is still the one at
//! its path, so that no entry is lost between a trim's reading and its rename.

mod entry;
mod gc;
mod store;
#[cfg(test)]
mod tests;

pub use entry::Entries;
pub use gc::{Collection, GcError, Outcome};
pub use store::{Memory, MemoryError, Trimmed};
