//! Arguments and outputs of every tool, one file a tool. They derive serde and act on nothing.

mod daemon;
mod edit;
mod exec;
mod list;
mod map;
mod plugins;
mod read;
mod search;
mod write;

pub use daemon::*;
pub use edit::{EditArguments, EditOutput};
pub use exec::{ExecArguments, ExecOutput};
pub use list::{Entry, EntryType, ListArguments, ListOutput};
pub use map::{Plain, StringMap};
pub use plugins::{PluginTool, PluginsCallArguments, PluginsCallOutput, PluginsListOutput};
pub use read::{ContentEncoding, ReadArguments, ReadOutput};
pub use search::{Match, SearchArguments, SearchOutput, Skipped, SkippedFiles};
pub use write::{WriteArguments, WriteMode, WriteOutput};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An object without members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Empty {}

/// For `skip_serializing_if`.
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}
