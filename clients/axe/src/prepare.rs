//! From a resolved agent to the first request: context, memory and prompts put together. The agent at the top and
//! every sub-agent go this way.

use std::path::Path;

use crate::config::{Place, Resolved};
use crate::memory::{Entries, Memory};
use crate::output::verbose;
use crate::prompt::{self, ContextFile, Files, GatherError, Gathered, Pattern, SystemPrompt, UserMessage};
use crate::provider::Boxed;

/// Opens workdirs for reading: the runtime, seen from here.
pub trait Workdirs: Send + Sync {
    /// The files of a directory that is there.
    ///
    /// # Errors
    /// Why it can't be read at all, on one line.
    fn open<'a>(&'a self, workdir: &'a Path) -> Boxed<'a, Result<Box<dyn Files>, String>>;
}

/// An agent that only has to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// What was decided about it.
    pub resolved: Resolved,
    /// Its context.
    pub files: Vec<ContextFile>,
    /// Its memory, when it has one.
    pub memory: Option<Remembered>,
    /// All that is in the system prompt, put together.
    pub system_prompt: String,
    /// What it is asked.
    pub user: UserMessage,
    /// Lines for stderr, the agent's file's among them.
    pub warnings: Vec<String>,
}

/// A memory and what was loaded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Where the run's entry goes.
    pub memory: Memory,
    /// The entries in the prompt.
    pub text: String,
    /// How many those are; None when there is no file.
    pub count: Option<usize>,
}

impl Prepared {
    /// Reads the context and the memory. The workdir is opened only for an agent with patterns.
    ///
    /// # Errors
    /// A pattern means nothing, or the workdir can't be read at all.
    pub async fn new(
        resolved: Resolved,
        user: UserMessage,
        place: &Place,
        workdirs: &dyn Workdirs,
    ) -> Result<Self, GatherError> {
        let mut warnings = resolved.warnings.clone();
        let gathered = context(&resolved, workdirs).await?;
        warnings.extend(gathered.warnings);
        let memory = remember(&resolved, place, &mut warnings);
        let system_prompt = SystemPrompt {
            system_prompt: &resolved.agent.system_prompt,
            skill: resolved.skill.as_ref().map(|skill| skill.text.as_str()),
            files: &gathered.files,
            memory: memory.as_ref().map_or("", |remembered| &remembered.text),
        }
        .assemble();
        Ok(Self { resolved, files: gathered.files, memory, system_prompt, user, warnings })
    }

    /// The entries in the prompt; empty without a memory.
    pub fn memory_text(&self) -> &str {
        self.memory.as_ref().map_or("", |remembered| &remembered.text)
    }

    /// What `--verbose` says before a run.
    pub fn explanation(&self) -> Vec<String> {
        let mut lines = verbose::before(&self.resolved, self.files.len(), &self.user);
        lines.extend(
            self.memory
                .as_ref()
                .map(|remembered| verbose::memory(remembered.count, remembered.memory.path())),
        );
        lines
    }
}

async fn context(resolved: &Resolved, workdirs: &dyn Workdirs) -> Result<Gathered, GatherError> {
    let patterns = &resolved.agent.files;
    for pattern in patterns {
        Pattern::parse(pattern)?;
    }
    if patterns.is_empty() {
        return Ok(Gathered::default());
    }
    let files = workdirs.open(&resolved.workdir).await.map_err(GatherError::Unavailable)?;
    prompt::gather(patterns, &*files).await
}

/// What can't be loaded is not remembered; the run goes on.
fn remember(resolved: &Resolved, place: &Place, warnings: &mut Vec<String>) -> Option<Remembered> {
    let settings = &resolved.agent.memory;
    if !settings.is_enabled {
        return None;
    }
    let name = &resolved.name;
    let memory = Memory::of(name, settings, &place.environment, &place.directories);
    let loaded = memory.load().unwrap_or_else(|error| {
        warnings.push(error.to_string());
        None
    });
    let total = loaded.as_ref().map_or(0, Entries::count);
    if let Some(max) = settings.max_entries.filter(|max| total >= *max) {
        warnings.push(format!(
            "memory of agent {name:?} has {total} entries (max {max}); run 'axe gc {name}' to trim it"
        ));
    }
    let wanted = settings.last_n.unwrap_or(usize::MAX);
    let text = loaded.as_ref().map_or("", |entries| entries.newest(wanted)).to_owned();
    let count = loaded.map(|_| total.min(wanted));
    Some(Remembered { memory, text, count })
}
