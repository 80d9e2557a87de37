//! From an agent's name to all that its run needs. The agent at the top and every sub-agent go this way.

use std::path::PathBuf;
use std::time::Duration;

use super::{
    Agent, ArtifactPlan, Directories, Environment, Error, Global, Lookup, ModelName, Skill, directories,
};
use crate::limits;

/// Where axe runs: what is the same for every agent of a run.
#[derive(Debug, Clone)]
pub struct Place {
    /// Variables and the current directory.
    pub environment: Environment,
    /// axe's directories.
    pub directories: Directories,
    /// `config.toml`.
    pub global: Global,
}

impl Place {
    /// Reads `config.toml` of these surroundings.
    ///
    /// # Errors
    /// There is no config directory, or the file is at fault.
    pub fn new(environment: Environment) -> Result<Self, Error> {
        let directories = Directories::of(&environment)?;
        let global = Global::load(&directories.config_file())?;
        Ok(Self { environment, directories, global })
    }
}

/// What flags say over an agent's file. A sub-agent has none: the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// `provider/model-name`.
    pub model: Option<String>,
    /// A skill's name or path.
    pub skill: Option<String>,
    /// Where to work.
    pub workdir: Option<String>,
    /// Time of the whole run.
    pub timeout: Option<Duration>,
    /// Tokens of the whole run.
    pub max_tokens: Option<u64>,
    /// Turns of the agent.
    pub max_turns: Option<u32>,
    /// Whether replies are streamed.
    pub stream: Option<bool>,
    /// Where artifacts go.
    pub artifact_dir: Option<String>,
}

/// An agent with everything about it decided, but for the files that the runtime reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The name it was called by: its file's, and its memory's.
    pub name: String,
    /// What its file says.
    pub agent: Agent,
    /// Which model is asked.
    pub model: ModelName,
    /// Where it works; absolute, and a directory that is there.
    pub workdir: PathBuf,
    /// Its skill.
    pub skill: Option<Skill>,
    /// Where its artifacts go.
    pub artifacts: ArtifactPlan,
    /// Time of the whole run.
    pub timeout: Duration,
    /// Tokens of the whole run; None for no limit.
    pub budget_max_tokens: Option<u64>,
    /// Turns of this agent.
    pub max_turns: u32,
    /// Whether replies are streamed.
    pub stream: bool,
    /// Where its sub-agents are looked for.
    pub sub_agents: Lookup,
    /// Lines for stderr.
    pub warnings: Vec<String>,
}

impl Resolved {
    /// Loads an agent and decides what flags, file and surroundings say together.
    ///
    /// # Errors
    /// The agent's file, model, workdir or skill is at fault.
    pub fn load(name: &str, lookup: &Lookup, overrides: &Overrides, place: &Place) -> Result<Self, Error> {
        let loaded = lookup.load(name)?;
        let agent = loaded.agent;
        let model = given(&overrides.model).unwrap_or(&agent.model).parse()?;
        let workdir = workdir(&agent, overrides, &place.environment)?;
        let skill = given(&overrides.skill).unwrap_or(&agent.skill);
        let skill = Skill::load(skill, &place.environment, &place.directories)?;
        let artifacts = ArtifactPlan::of(
            &agent,
            overrides.artifact_dir.as_deref(),
            &workdir,
            &place.environment,
            &place.directories,
        );
        let at_least = |seconds: Option<Duration>| seconds.filter(|timeout| !timeout.is_zero());
        Ok(Self {
            name: name.to_owned(),
            model,
            skill,
            artifacts,
            timeout: at_least(overrides.timeout).or(agent.timeout).unwrap_or(limits::DEFAULT_TIMEOUT),
            budget_max_tokens: overrides.max_tokens.filter(|max| *max > 0).or(agent.budget_max_tokens),
            max_turns: overrides.max_turns.unwrap_or(limits::DEFAULT_MAX_TURNS),
            stream: overrides.stream.unwrap_or(agent.stream),
            sub_agents: lookup.from_workdir(&workdir),
            workdir,
            agent,
            warnings: loaded.warnings,
        })
    }
}

/// The flag, then the file, then the current directory.
fn workdir(agent: &Agent, overrides: &Overrides, environment: &Environment) -> Result<PathBuf, Error> {
    let text = given(&overrides.workdir).unwrap_or(&agent.workdir);
    let path = directories::absolute(environment.current_dir(), environment.expand(text));
    let detail = match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => return Ok(path),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Error::Workdir { path, detail })
}

/// An empty flag counts as not given.
fn given(flag: &Option<String>) -> Option<&String> {
    flag.as_ref().filter(|value| !value.is_empty())
}
