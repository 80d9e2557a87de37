//! What is wrong with axe's files.

use std::io;
use std::path::PathBuf;

use super::environment::Unset;

/// A fault of a file or a setting. Each message is one line and holds no key.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No directory can be derived.
    #[error("no home directory: set HOME or {variable}")]
    NoHome {
        /// The variable that would name the directory.
        variable: &'static str,
    },
    /// No file of that name in any of the agents directories.
    #[error("agent config not found: {name}")]
    AgentNotFound {
        /// The agent's name.
        name: String,
    },
    /// A name that is no file's stem.
    #[error("invalid agent name {name:?}: {rule}")]
    AgentName {
        /// The name.
        name: String,
        /// What it breaks.
        rule: &'static str,
    },
    /// The file is no TOML or has a value of the wrong type.
    #[error("failed to parse agent config {name:?}: {detail}")]
    AgentSyntax {
        /// The agent's name.
        name: String,
        /// Where and what.
        detail: String,
    },
    /// A value breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// A model string that is not `provider/model-name`.
    #[error("invalid model {value:?}: {rule}")]
    Model {
        /// The string.
        value: String,
        /// What it breaks.
        rule: &'static str,
    },
    /// `config.toml` is no TOML or has a value of the wrong type.
    #[error("failed to parse config file {}: {detail}", path.display())]
    ConfigSyntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        detail: String,
    },
    /// A model's provider is not among those that are known or configured.
    #[error(
        "unsupported provider {name:?}: supported are {supported}; \
         any other name needs [providers.{name}] with a base_url in config.toml"
    )]
    UnsupportedProvider {
        /// The provider's name.
        name: String,
        /// The built-in ones.
        supported: String,
    },
    /// A provider that wants a key has none.
    #[error(
        "no API key for provider {provider:?}: set {variable}, or api_key in [providers.{provider}] of config.toml"
    )]
    NoKey {
        /// The provider's name.
        provider: String,
        /// The environment variable to set.
        variable: String,
    },
    /// Bedrock has no region.
    #[error(
        "no region for provider {provider:?}: set AWS_REGION, or region in [providers.{provider}] of config.toml"
    )]
    NoRegion {
        /// The provider's name.
        provider: String,
    },
    /// A skill's file is missing.
    #[error("skill not found: {}", path.display())]
    SkillNotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The workdir is missing or no directory.
    #[error("workdir {}: {detail}", path.display())]
    Workdir {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
    /// The artifact directory can't be made: no fault of a file's.
    #[error("can't make artifact directory {}: {source}", path.display())]
    ArtifactDirectory {
        /// The directory.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A text needs a variable that has no value.
    #[error(transparent)]
    Unset(#[from] Unset),
    /// The operating system refuses.
    #[error("{} {}: {source}", doing, path.display())]
    Io {
        /// What was being done to the path: "can't read", for example.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}
