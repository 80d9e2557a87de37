//! One agent made ready to talk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::context::{OnRetry, Wanted};
use super::conversation::{Answer, Conversation};
use super::sub_agents::Delegation;
use super::tools::{CALL_AGENT, Tools};
use super::{Context, Error, Step, Who};
use crate::config::{ARTIFACT_DIR_VARIABLE, ArtifactDir, Place, Resolved};
use crate::mcp::Servers;
use crate::prepare::Prepared;
use crate::provider::{Message, Provider, Request};
use crate::tools::{Artifact, Artifacts, Surroundings, Toolbox};

/// What the agent at the top came to.
#[derive(Debug)]
pub struct Outcome {
    /// Its answer, or why there is none.
    pub answer: Result<Answer, Error>,
    /// What it wrote to its artifact directory.
    pub artifacts: Vec<Artifact>,
}

/// Runs the agent at the top to its end, to the deadline or until `interrupted` says why it must stop. Whatever it is, all that the run started
/// has ended when this returns, but for the runtime, which the caller closes.
pub async fn run(
    prepared: Prepared,
    context: Arc<Context>,
    interrupted: impl Future<Output = Error>,
) -> Outcome {
    tokio::pin!(interrupted);
    let position = Position::top(&prepared.resolved);
    let start = Member::start(prepared, position, context.clone());
    let member = tokio::select! {
        biased;
        reason = &mut interrupted => Err(reason),
        member = before_deadline(&context, start) => member,
    };
    let member = match member {
        Ok(member) => member,
        Err(error) => return Outcome { answer: Err(error), artifacts: Vec::new() },
    };
    let answer = tokio::select! {
        biased;
        reason = &mut interrupted => Err(reason),
        answer = before_deadline(&context, member.converse()) => answer,
    };
    let artifacts = member.artifacts.as_ref().map(|directory| directory.files.written()).unwrap_or_default();
    member.end().await;
    Outcome { answer, artifacts }
}

async fn before_deadline<T>(
    context: &Context,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout_at(context.deadline, work).await.unwrap_or(Err(Error::Deadline(context.timeout)))
}

/// Where an agent stands among the agents of a run.
#[derive(Debug, Clone)]
pub(super) struct Position {
    pub(super) who: Who,
    /// The names from the top down to its own.
    pub(super) chain: Vec<String>,
    /// The hosts it may reach: its own list, or its caller's.
    pub(super) allowed_hosts: Vec<String>,
    /// The artifact directory that is in its environment: its own, or its caller's.
    artifact_directory: Option<PathBuf>,
}

impl Position {
    fn top(resolved: &Resolved) -> Self {
        Self {
            who: Who { name: resolved.name.clone(), depth: 0 },
            chain: vec![resolved.name.clone()],
            allowed_hosts: resolved.agent.allowed_hosts.clone(),
            artifact_directory: None,
        }
    }

    /// That of an agent that this one calls.
    pub(super) fn below(&self, resolved: &Resolved) -> Self {
        let own = &resolved.agent.allowed_hosts;
        Self {
            who: Who { name: resolved.name.clone(), depth: self.who.depth + 1 },
            chain: self.chain.iter().chain([&resolved.name]).cloned().collect(),
            // Replaced as a whole, never merged.
            allowed_hosts: if own.is_empty() { self.allowed_hosts.clone() } else { own.clone() },
            artifact_directory: self.artifact_directory.clone(),
        }
    }

    /// What an agent that this one calls sees of its surroundings.
    pub(super) fn place(&self, context: &Context) -> Place {
        let mut place = context.place.clone();
        if let Some(directory) = self.artifact_directory.as_deref().and_then(Path::to_str) {
            place.environment = place.environment.with(ARTIFACT_DIR_VARIABLE, directory);
        }
        place
    }
}

/// An agent with its provider, tools and artifacts. Dropped, it leaves nothing running and no directory that was to go.
pub(super) struct Member {
    prepared: Prepared,
    position: Position,
    context: Arc<Context>,
    provider: Box<dyn Provider>,
    retry_attempts: Arc<AtomicU64>,
    tools: Tools,
    artifacts: Option<Directory>,
}

impl Member {
    /// Connects to the provider and the MCP servers, then makes the artifact directory.
    pub(super) async fn start(
        prepared: Prepared,
        mut position: Position,
        context: Arc<Context>,
    ) -> Result<Self, Error> {
        let resolved = &prepared.resolved;
        let model = resolved.model.to_string();
        context.observer.tell(&position.who, &Step::Started { model: &model });
        let retry_attempts = Arc::new(AtomicU64::new(0));
        let wanted = Wanted {
            agent: &resolved.name,
            user: &prepared.user.text,
            model: &resolved.model,
            retry: &resolved.agent.retry,
            deadline: context.deadline,
        };
        let provider =
            context.models.connect(wanted, on_retry(&context, &position.who, &retry_attempts)).await?;
        let servers = connect_servers(resolved, &position.who, &context).await?;
        let artifacts = Directory::create(resolved, &position.who, &context)?;
        if let Some(directory) = &artifacts {
            position.artifact_directory = Some(directory.files.directory().to_owned());
        }
        let toolbox = Toolbox::new(
            &resolved.agent.tools,
            Surroundings {
                runtime: context.runtime.clone(),
                workdir: resolved.workdir.clone(),
                artifacts: artifacts.as_ref().map(|directory| directory.files.clone()),
                skill_directory: skill_directory(resolved),
                environment: context.place.environment.clone(),
                allowed_hosts: position.allowed_hosts.clone(),
                deadline: context.deadline,
            },
        );
        let sub_agents = Delegation::of(resolved, &position, &context);
        let tools = Tools { toolbox, sub_agents, servers };
        Ok(Self { prepared, position, context, provider, retry_attempts, tools, artifacts })
    }

    /// Talks with the model to the end.
    pub(super) async fn converse(&self) -> Result<Answer, Error> {
        let Resolved { agent, model, stream, max_turns, .. } = &self.prepared.resolved;
        let who = &self.position.who;
        let request = Request {
            model: model.model.clone(),
            system: self.prepared.system_prompt.clone(),
            messages: vec![Message::User(self.prepared.user.text.clone())],
            tools: self.tools.specs(who),
            temperature: agent.params.temperature,
            max_tokens: agent.params.max_tokens,
            response_format: agent.params.response_format.as_ref().and_then(|format| format.for_provider()),
        };
        let conversation = Conversation {
            who,
            provider: &*self.provider,
            tools: &self.tools,
            observer: &*self.context.observer,
            budget: &self.context.budget,
            totals: &self.context.totals,
            is_streamed: *stream,
            // Inside a sub-agent the calls of a turn run one after the other.
            is_parallel: who.depth == 0 && agent.sub_agents_config.runs_in_parallel(),
            max_turns: *max_turns,
        };
        let mut answer = conversation.hold(request).await?;
        answer.retry_attempts = self.retry_attempts.load(Ordering::Relaxed);
        Ok(answer)
    }

    /// Remembers what was asked and answered. That it can't be is no reason to fail.
    pub(super) fn remember(&self, answer: &str) -> Result<(), crate::memory::MemoryError> {
        match &self.prepared.memory {
            Some(remembered) => remembered.memory.append(&self.prepared.user.text, answer),
            None => Ok(()),
        }
    }

    /// Ends what it started, MCP servers within a bounded time.
    pub(super) async fn end(mut self) {
        self.tools.servers.close().await;
    }
}

fn on_retry(context: &Arc<Context>, who: &Who, attempts: &Arc<AtomicU64>) -> OnRetry {
    let (context, who, attempts) = (context.clone(), who.clone(), attempts.clone());
    Arc::new(move |attempt| {
        attempts.fetch_add(1, Ordering::Relaxed);
        context.totals.add_retry();
        context.observer.tell(&who, &Step::Retrying { attempt });
    })
}

async fn connect_servers(resolved: &Resolved, who: &Who, context: &Context) -> Result<Servers, Error> {
    let agent = &resolved.agent;
    let is_taken = |name: &str| {
        let is_built_in = agent.tools.iter().any(|tool| tool.as_str() == name);
        is_built_in || (name == CALL_AGENT && !agent.sub_agents.is_empty())
    };
    let note = |line: String| context.observer.tell(who, &Step::Note { line: &line });
    Ok(Servers::connect(&agent.mcp_servers, &context.place.environment, is_taken, note).await?)
}

fn skill_directory(resolved: &Resolved) -> Option<PathBuf> {
    resolved.skill.as_ref().and_then(|skill| skill.path.parent()).map(Path::to_owned)
}

/// An artifact directory in use. Dropped, one that was made for this run is removed, unless it is to stay.
struct Directory {
    files: Arc<Artifacts>,
    created: Option<ArtifactDir>,
    who: Who,
    observer: Arc<dyn super::Observer>,
    is_kept: bool,
}

impl Directory {
    fn create(resolved: &Resolved, who: &Who, context: &Context) -> Result<Option<Self>, Error> {
        let Some(created) = resolved.artifacts.create()? else { return Ok(None) };
        let files = Artifacts::new(
            created.path().to_owned(),
            resolved.name.clone(),
            resolved.agent.artifacts.is_default_write,
        );
        Ok(Some(Self {
            files: Arc::new(files),
            created: Some(created),
            who: who.clone(),
            observer: context.observer.clone(),
            is_kept: context.keeps_artifacts,
        }))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Some(message) = self.created.take().and_then(|created| created.close(self.is_kept)) {
            self.observer.tell(&self.who, &Step::Told { line: &message });
        }
    }
}
