//! What all agents of a run share.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Budget, Error, Observer, Totals};
use crate::config::{ModelName, Place, RetrySettings};
use crate::prepare::Workdirs;
use crate::provider::{Boxed, Provider};
use crate::retry::Attempt;
use crate::runtime::Runtime;

/// One run: the agent that was started and all that it calls.
pub struct Context {
    /// Variables, directories, `config.toml`.
    pub place: Place,
    /// The way to files and commands.
    pub runtime: Arc<Runtime>,
    /// The same, for context files.
    pub workdirs: Box<dyn Workdirs>,
    /// Who can be asked.
    pub models: Box<dyn Models>,
    /// Who hears of it.
    pub observer: Arc<dyn Observer>,
    /// Tokens that may be used.
    pub budget: Budget,
    /// What was used by all.
    pub totals: Totals,
    /// How long it may take.
    pub timeout: Duration,
    /// When that is over.
    pub deadline: Instant,
    /// How deep agents may call agents.
    pub max_depth: u32,
    /// Time of one call of an agent.
    pub sub_agent_timeout: Option<Duration>,
    /// Whether artifact directories that were made for a run stay.
    pub keeps_artifacts: bool,
}

/// Connects agents with the models they name.
pub trait Models: Send + Sync {
    /// A provider that sends requests again as `retry` says, and tells `on_retry` before each. `agent` and `user` name the
    /// conversation, for recordings.
    ///
    /// # Errors
    /// The provider cannot be had as it is configured. No request was made.
    fn connect<'a>(
        &'a self,
        wanted: Wanted<'a>,
        on_retry: OnRetry,
    ) -> Boxed<'a, Result<Box<dyn Provider>, Error>>;
}

/// Which model an agent wants, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The agent.
    pub agent: &'a str,
    /// What it is asked.
    pub user: &'a str,
    /// The model.
    pub model: &'a ModelName,
    /// How failed requests are repeated.
    pub retry: &'a RetrySettings,
    /// When the run ends: no wait goes beyond it.
    pub deadline: Instant,
}

/// Hears of requests that are sent again.
pub type OnRetry = Arc<dyn Fn(Attempt) + Send + Sync>;
