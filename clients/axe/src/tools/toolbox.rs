//! The tools that one run of one agent has.

use std::path::PathBuf;
use std::sync::Arc;

use axlr_client::{CallError, Workspace};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::path::{Area, clean};
use super::web::Web;
use super::{
    Artifacts, Input, Outcome, edit_file, list_directory, read_file, run_command, schema, web, write_file,
};
use crate::config::{BuiltIn, Environment};
use crate::provider::ToolSpec;
use crate::runtime::{self, Runtime};

/// Where tools work.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The way to files and commands.
    pub runtime: Arc<Runtime>,
    /// The working directory, absolute.
    pub workdir: PathBuf,
    /// The artifact directory, when there is one.
    pub artifacts: Option<Arc<Artifacts>>,
    /// The directory of the agent's skill, whose scripts commands may run.
    pub skill_directory: Option<PathBuf>,
    /// What commands get a few variables of.
    pub environment: Environment,
    /// The hosts that `url_fetch` may reach; empty for every public one.
    pub allowed_hosts: Vec<String>,
    /// When the run ends, and every command with it.
    pub deadline: Instant,
}

/// The built-in tools of an agent.
#[derive(Debug)]
pub struct Toolbox {
    enabled: Vec<BuiltIn>,
    pub(super) surroundings: Surroundings,
    pub(super) web: Web,
}

/// What orders calls of one turn among each other: those of one lane run one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lane(Area, String);

/// The file or directory of a call.
pub(super) struct Target {
    pub(super) workspace: Workspace,
    /// For the runtime.
    pub(super) path: String,
    /// As the model wrote it.
    pub(super) written: String,
    /// The artifact directory, when the path is there.
    pub(super) artifacts: Option<Arc<Artifacts>>,
}

impl Target {
    pub(super) fn summary(&self) -> String {
        format!("path {:?}", self.path)
    }
}

impl Toolbox {
    /// The tools of an agent's file, in its order.
    pub fn new(enabled: &[BuiltIn], surroundings: Surroundings) -> Self {
        let web = Web::new(&surroundings);
        Self { enabled: enabled.to_vec(), surroundings, web }
    }

    /// Where they work.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// What the model is told of them.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.enabled.iter().map(|tool| schema::spec(*tool)).collect()
    }

    /// Whether a tool of that name is here.
    pub fn has(&self, name: &str) -> bool {
        self.enabled.iter().any(|tool| tool.as_str() == name)
    }

    /// The lane of a call: calls that read or change the same file keep their order.
    pub fn lane(&self, name: &str, arguments: &Map<String, Value>) -> Option<Lane> {
        let tool = self.tool(name)?;
        let is_write = tool == BuiltIn::WriteFile;
        if !is_write && !matches!(tool, BuiltIn::ReadFile | BuiltIn::EditFile) {
            return None;
        }
        let input = Input(arguments);
        let area = if tool == BuiltIn::EditFile { Area::Workdir } else { self.area(input, is_write) };
        Some(Lane(area, clean(&input.text("path")?, area).ok()?))
    }

    /// Runs a tool.
    ///
    /// # Errors
    /// The runtime cannot be asked at all. Everything else is an [`Outcome`] for the model.
    pub async fn call(&self, name: &str, arguments: &Map<String, Value>) -> Result<Outcome, runtime::Error> {
        let input = Input(arguments);
        let Some(tool) = self.tool(name) else {
            return Ok(Outcome::error(format!("unknown tool {name:?}"), "unknown tool"));
        };
        match tool {
            BuiltIn::ListDirectory => list_directory::run(self, input).await,
            BuiltIn::ReadFile => read_file::run(self, input).await,
            BuiltIn::WriteFile => write_file::run(self, input).await,
            BuiltIn::EditFile => edit_file::run(self, input).await,
            BuiltIn::RunCommand => run_command::run(self, input).await,
            BuiltIn::UrlFetch => Ok(web::fetch(&self.web, input).await),
            BuiltIn::WebSearch => Ok(web::search(&self.web, input).await),
        }
    }

    fn tool(&self, name: &str) -> Option<BuiltIn> {
        self.enabled.iter().copied().find(|tool| tool.as_str() == name)
    }

    /// The file or directory of a call, in the working directory or among the artifacts.
    pub(super) async fn target(
        &self,
        input: Input<'_>,
        is_write: bool,
    ) -> Result<Result<Target, Outcome>, runtime::Error> {
        self.target_in(self.area(input, is_write), input).await
    }

    /// The file of a call that knows no artifacts.
    pub(super) async fn target_in_workdir(
        &self,
        input: Input<'_>,
    ) -> Result<Result<Target, Outcome>, runtime::Error> {
        self.target_in(Area::Workdir, input).await
    }

    async fn target_in(
        &self,
        area: Area,
        input: Input<'_>,
    ) -> Result<Result<Target, Outcome>, runtime::Error> {
        let written = input.text("path").unwrap_or_default();
        let refuse = |message: String| Ok(Err(Outcome::error(message, format!("path {written:?}"))));
        let artifacts = match (area, &self.surroundings.artifacts) {
            (Area::Workdir, _) => None,
            (Area::Artifacts, Some(artifacts)) => Some(artifacts.clone()),
            (Area::Artifacts, None) => {
                return refuse("artifact directory not configured for this agent".to_owned());
            }
        };
        let path = match clean(&written, area) {
            Ok(path) => path,
            Err(message) => return refuse(message),
        };
        let root = artifacts.as_deref().map_or(self.surroundings.workdir.as_path(), Artifacts::directory);
        let workspace = self.surroundings.runtime.workspace(root).await?;
        Ok(Ok(Target { workspace, path, written, artifacts }))
    }

    fn area(&self, input: Input<'_>, is_write: bool) -> Area {
        let choice = input.text("artifact").unwrap_or_default();
        let is_default =
            is_write && self.surroundings.artifacts.as_ref().is_some_and(|all| all.is_default_write());
        match choice.trim() {
            choice if choice.eq_ignore_ascii_case("true") => Area::Artifacts,
            "" if is_default => Area::Artifacts,
            _ => Area::Workdir,
        }
    }
}

/// What the runtime says to a request, for the model.
pub(super) fn refusal(error: &CallError, summary: String) -> Outcome {
    match error {
        CallError::Refused { message, .. } => Outcome::error(message.clone(), summary),
        other => Outcome::error(other.to_string(), summary),
    }
}
