//! Where the command line meets the rooms that reach out: the agent's loop, the providers and the runtime.

use std::path::{Path, PathBuf};

use super::run::Run;
use crate::config::Endpoint;
use crate::output::{Exit, Failure};
use crate::prepare::Workdirs;
use crate::prompt::Files;
use crate::provider::{Boxed, Provider};

/// Runs an agent to its end.
pub(super) async fn run(_run: Run) -> Result<Exit, Failure> {
    Err(Failure::runtime("this build has no agent loop: only --dry-run works"))
}

/// A provider that can be asked.
pub(super) async fn connect(_endpoint: &Endpoint) -> Result<Box<dyn Provider>, Failure> {
    Err(Failure::runtime("this build has no providers"))
}

/// Workdirs through the runtime.
pub(super) fn workdirs(_socket: Option<PathBuf>) -> Box<dyn Workdirs> {
    Box::new(NoRuntime)
}

struct NoRuntime;

impl Workdirs for NoRuntime {
    fn open<'a>(&'a self, _workdir: &'a Path) -> Boxed<'a, Result<Box<dyn Files>, String>> {
        Box::pin(async { Err("this build has no runtime to read context files with".to_owned()) })
    }
}
