//! Why a run has no answer.

use std::time::Duration;

use crate::config;
use crate::mcp;
use crate::output::{Exit, Failure};
use crate::prompt::GatherError;
use crate::provider;
use crate::runtime;

/// A run that failed. In a sub-agent it is a result for its caller, and ends nothing else.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model cannot be asked, or did not answer.
    #[error(transparent)]
    Provider(#[from] provider::Error),
    /// A file, a setting or a key is at fault.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The provider cannot be spoken to as it is configured.
    #[error(transparent)]
    Connect(#[from] provider::ConnectError),
    /// The context files cannot be had.
    #[error(transparent)]
    Context(#[from] GatherError),
    /// An MCP server cannot be used.
    #[error(transparent)]
    Mcp(#[from] mcp::Error),
    /// A tool needs the runtime, and there is none.
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    /// A recording cannot be written or does not hold what is asked for.
    #[error(transparent)]
    Tape(#[from] crate::record::Error),
    /// The time of the run, or of one sub-agent, is up.
    #[error("timeout: no answer within {} s; give it more with --timeout or timeout in the agent's file", .0.as_secs())]
    Deadline(Duration),
    /// All turns were used, and the last reply asks for more.
    #[error("{}agent exceeded maximum conversation turns ({max})", if *.is_sub_agent { "sub-" } else { "" })]
    Turns {
        /// Whether it was called by another.
        is_sub_agent: bool,
        /// How many those were.
        max: u32,
    },
    /// Nothing was left for a sub-agent.
    #[error("budget exceeded before first LLM call")]
    BudgetSpent,
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// SIGTERM.
    #[error("terminated")]
    Terminated,
}

impl Error {
    /// How the process ends.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Provider(error) => error.category.into(),
            Self::Config(
                config::Error::UnsupportedProvider { .. } | config::Error::ArtifactDirectory { .. },
            )
            | Self::Connect(provider::ConnectError::Unsupported { .. })
            | Self::Context(GatherError::Unavailable(_))
            | Self::Runtime(_)
            | Self::Tape(_)
            | Self::Turns { .. } => Exit::Runtime,
            Self::Config(_) | Self::Connect(_) | Self::Context(GatherError::Pattern(_)) => Exit::Config,
            Self::Mcp(error) if error.is_config() => Exit::Config,
            Self::Mcp(_) | Self::Deadline(_) => Exit::Provider,
            Self::BudgetSpent => Exit::Budget,
            Self::Interrupted => Exit::Interrupted,
            Self::Terminated => Exit::Terminated,
        }
    }

    /// The one line for stderr.
    pub fn failure(&self) -> Failure {
        Failure::new(self.exit(), self)
    }
}
