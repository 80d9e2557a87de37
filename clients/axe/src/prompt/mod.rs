//! What a model is told: the system prompt, byte for byte, and the user's message; and whether it refused.
//!
//! Pure but for two things: stdin is read here, and context files come through the trait [`Files`], because axe
//! reads a workdir only through the runtime.

mod files;
mod pattern;
mod refusal;
mod system;
#[cfg(test)]
mod tests;
mod user;

pub use files::{ContextFile, Entry, EntryKind, Files, FilesError, GatherError, Gathered, gather};
pub use pattern::{Pattern, PatternError};
pub use refusal::is_refusal;
pub use system::SystemPrompt;
pub use user::{Asked, DEFAULT_TASK, Stdin, StdinError, UserMessage, sub_agent_task};
