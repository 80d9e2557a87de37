//! axe's own files: agents, skills, `config.toml`, and the directories they live in.
//!
//! This room reads and checks them; it asks no model and knows no runtime. Every fault is an [`Error`] of one line.

mod agent;
mod artifacts;
mod aws;
mod check;
mod directories;
mod document;
mod endpoint;
mod environment;
mod error;
mod global;
mod hosts;
mod lookup;
mod model;
mod resolve;
mod scaffold;
mod skill;
#[cfg(test)]
mod tests;
mod unknown;

pub use agent::{
    Agent, ArtifactSettings, Backoff, BuiltIn, McpServer, MemorySettings, Params, ResponseFormat,
    RetrySettings, SubAgents, Transport,
};
pub use artifacts::{ARTIFACT_DIR_VARIABLE, ArtifactDir, ArtifactPlan};
pub use check::{Finding, check_agents};
pub use directories::Directories;
pub(crate) use directories::make as make_directory;
pub use endpoint::{known_secrets, provider_settings};
pub use environment::{Environment, Unset};
pub use error::Error;
pub use global::{Global, ProviderSettings};
pub use lookup::{Loaded, Lookup, check_name, parse};
pub use model::ModelName;
pub use resolve::{Overrides, Place, Resolved};
pub use scaffold::{agent_template, init_agent, init_config};
pub use skill::Skill;
