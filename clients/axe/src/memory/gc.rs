//! `axe gc`: a model reads the whole memory and tells what it shows; then old entries go, by count alone.

use std::io::{self, Write};

use super::store::{Memory, MemoryError, Trimmed};
use crate::config::MemorySettings;
use crate::limits;
use crate::provider::{self, Category, Message, Provider, Request};

const TEMPERATURE: f64 = 0.3;

const ANALYST: &str = "\
You read the memory of an automated agent: a log of its runs, each with the time, the task and the start of the \
result. Tell its operator what the log shows. Be brief and concrete, and cite the times of the entries you rely on.

Answer in Markdown with exactly these three sections, in this order:

## Patterns Found
What recurs in tasks or results, and what changes over time. If nothing does, write: No patterns found.

## Repeated Work
Tasks that were done more than once, with the times. If there are none, write: No repeated work found.

## Recommendations
What the operator could change in the agent, its instructions or its schedule. If nothing, write: No recommendations.";

/// The memory of one agent that is to be looked through.
#[derive(Debug, Clone, Copy)]
pub struct Collection<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// The model without its provider.
    pub model: &'a str,
    /// What the agent's file says of its memory.
    pub settings: &'a MemorySettings,
    /// Its file.
    pub memory: &'a Memory,
    /// Whether nothing is to be trimmed.
    pub is_dry_run: bool,
}

/// How a collection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There is nothing in the memory; no model was asked.
    Empty,
    /// A dry run, or the settings name no number to trim to.
    Analysed,
    /// The memory has no more than the wanted number of entries, or has them now.
    Trimmed(Trimmed),
}

/// Why a collection did not end well. Nothing was trimmed.
#[derive(Debug, thiserror::Error)]
pub enum GcError {
    /// The memory can't be read or written.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The model gave no answer.
    #[error("{0}")]
    Provider(#[from] provider::Error),
    /// The report can't be written.
    #[error("can't write the report: {0}")]
    Output(#[from] io::Error),
}

impl Collection<'_> {
    /// Whether there is anything to ask a model about. When not, the line that says so has been written.
    ///
    /// # Errors
    /// The memory can't be read, or the line not be written.
    pub fn has_entries(&self, out: &mut impl Write) -> Result<bool, GcError> {
        let entries = self.memory.load()?;
        if entries.is_some_and(|entries| !entries.text().trim().is_empty()) {
            return Ok(true);
        }
        writeln!(out, "No memory entries for agent \"{}\". Nothing to do.", self.agent)?;
        Ok(false)
    }

    /// Asks the model once, writes the report, and trims.
    ///
    /// # Errors
    /// See [`GcError`].
    pub async fn run(&self, provider: &dyn Provider, out: &mut impl Write) -> Result<Outcome, GcError> {
        if !self.has_entries(out)? {
            return Ok(Outcome::Empty);
        }
        let entries = self.memory.load()?.unwrap_or_default();
        writeln!(out, "Agent: {}\nEntries: {}", self.agent, entries.count())?;
        let analysis = self.ask(provider, entries.text()).await?;
        writeln!(out, "\n--- Analysis ---\n{}\n", analysis.trim_end())?;
        if self.is_dry_run {
            writeln!(out, "Dry run: no entries trimmed.")?;
            return Ok(Outcome::Analysed);
        }
        let Some(target) = self.settings.last_n.or(self.settings.max_entries) else {
            writeln!(out, "No trim target: neither memory.last_n nor memory.max_entries is set.")?;
            return Ok(Outcome::Analysed);
        };
        let trimmed = self.memory.trim(target)?;
        let Trimmed { removed, kept } = trimmed;
        if removed == 0 {
            writeln!(out, "No trimming needed: {kept} entries, {target} are kept.")?;
        } else {
            writeln!(out, "Trimmed: {removed} entries removed, {kept} entries kept.")?;
        }
        Ok(Outcome::Trimmed(trimmed))
    }

    async fn ask(&self, provider: &dyn Provider, entries: &str) -> Result<String, GcError> {
        let request = Request {
            model: self.model.to_owned(),
            system: ANALYST.to_owned(),
            messages: vec![Message::User(entries.to_owned())],
            tools: Vec::new(),
            temperature: Some(TEMPERATURE),
            max_tokens: Some(limits::GC_MAX_TOKENS),
            response_format: None,
        };
        match tokio::time::timeout(limits::GC_TIMEOUT, provider.complete(&request)).await {
            Ok(reply) => Ok(reply?.text),
            Err(_) => Err(GcError::Provider(provider::Error {
                category: Category::Timeout,
                message: format!("no answer within {} s", limits::GC_TIMEOUT.as_secs()),
                status: None,
                retry_after: None,
            })),
        }
    }
}
