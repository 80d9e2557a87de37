//! Authority over one directory. A [`Workspace`] holds a capability handle; everything below is opened relative to it,
//! beneath it, and asked through the handle that came back. This room knows nothing of async, actors or sockets.
//!
//! - [`WorkspacePath`], [`Scope`]: names from outside, checked once;
//! - [`open_regular`], [`open_regular_cached`]: the ways in, for reading;
//! - [`Folder`]: where a file is made or replaced, and what is synced afterwards;
//! - [`Temporary`]: the atomic replacement;
//! - [`Sweeper`], [`sweep_tree`]: the end of temporary files whose makers were killed;
//! - [`walk`]: the ordered walk, and directories asked by single names;
//! - [`Digest`], [`text`]: what content is.

mod content;
mod error;
#[cfg(test)]
pub(crate) mod fixture;
mod folder;
mod open;
mod path;
mod replace;
mod root;
mod sweep;
pub mod walk;

pub use content::{Digest, hex, text};
pub use error::{Error, is_symlink_loop};
pub use folder::{Folder, MadeFolders};
pub use open::{FileSize, open_regular, open_regular_cached, read_cached, read_fully};
pub use path::{Scope, WorkspacePath};
pub use replace::{Attributes, Durability, Replaced, Temporary, is_temporary_name};
pub use root::{Identity, Workspace};
pub use sweep::{Sweeper, sweep_folder, sweep_tree};
