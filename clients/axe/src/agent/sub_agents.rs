//! `call_agent`.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

use super::member::{Member, Position};
use super::{Answer, Context, End, Error, Step, Who};
use crate::config::{Lookup, Overrides, Resolved};
use crate::prepare::Prepared;
use crate::prompt::{Asked, UserMessage, sub_agent_task};
use crate::provider::{Boxed, ToolSpec};
use crate::tools::{Input, Outcome, call_agent_spec};

/// Whether an agent may call others.
pub(super) enum Delegation {
    /// Its file names none.
    None,
    /// It is as deep as the run may go, so it is not told of the tool.
    TooDeep {
        /// How deep that is.
        max_depth: u32,
    },
    /// It may.
    To(Box<SubAgents>),
}

/// The agents that one agent may call.
pub(super) struct SubAgents {
    context: Arc<Context>,
    allowed: Vec<String>,
    lookup: Lookup,
    /// Whose they are.
    caller: Position,
}

impl Delegation {
    pub(super) fn of(resolved: &Resolved, caller: &Position, context: &Arc<Context>) -> Self {
        let allowed = &resolved.agent.sub_agents;
        let max_depth = context.max_depth;
        if allowed.is_empty() {
            Self::None
        } else if caller.who.depth >= max_depth {
            Self::TooDeep { max_depth }
        } else {
            Self::To(Box::new(SubAgents {
                context: context.clone(),
                allowed: allowed.clone(),
                lookup: resolved.sub_agents.clone(),
                caller: caller.clone(),
            }))
        }
    }

    pub(super) fn spec(&self) -> Option<ToolSpec> {
        match self {
            Self::To(sub_agents) => Some(call_agent_spec(&sub_agents.allowed)),
            Self::None | Self::TooDeep { .. } => None,
        }
    }

    /// None for an agent that knows no others.
    pub(super) async fn call(&self, arguments: &Map<String, Value>) -> Option<Outcome> {
        match self {
            Self::None => None,
            Self::TooDeep { max_depth } => {
                Some(refuse(&format!("maximum sub-agent depth ({max_depth}) reached")))
            }
            Self::To(sub_agents) => Some(sub_agents.call(arguments).await),
        }
    }
}

impl SubAgents {
    /// Runs an agent to its end. Whatever goes wrong is for the caller's model to deal with.
    async fn call(&self, arguments: &Map<String, Value>) -> Outcome {
        let input = Input(arguments);
        let wanted = |name: &str| input.text(name).filter(|text| !text.trim().is_empty());
        let Some(agent) = wanted("agent") else { return refuse("\"agent\" argument is required") };
        let Some(task) = wanted("task") else { return refuse("\"task\" argument is required") };
        if !self.allowed.contains(&agent) {
            return refuse(&format!("agent {agent:?} is not one of sub_agents: {}", self.allowed.join(", ")));
        }
        if self.caller.chain.contains(&agent) {
            let circle = [self.caller.chain.join(" -> "), agent].join(" -> ");
            return refuse(&format!("agents would call each other in a circle: {circle}"));
        }
        let depth = self.caller.who.depth + 1;
        self.tell(&Step::Delegating { agent: &agent, depth, task: &task });
        let start = Instant::now();
        let message = sub_agent_task(&task, &input.text("context").unwrap_or_default());
        let answer = self.run(&agent, message).await;
        let reason = answer.as_ref().err().map(ToString::to_string);
        let result = match (&answer, &reason) {
            (Err(_), Some(reason)) => Err(reason.as_str()),
            (answer, _) => Ok(answer.as_ref().map_or(0, |text| text.chars().count())),
        };
        self.tell(&Step::Delegated { agent: &agent, result, duration: start.elapsed() });
        match answer {
            Ok(text) => Outcome::success(text, format!("agent {agent:?}")),
            Err(error) => Outcome::error(
                format!(
                    "Error: sub-agent {agent:?} failed - {error}. You may try again, or go on without its result."
                ),
                format!("agent {agent:?}"),
            ),
        }
    }

    async fn run(&self, agent: &str, message: String) -> Result<String, Error> {
        match self.context.sub_agent_timeout {
            None => self.start(agent, message).await,
            Some(timeout) => tokio::time::timeout(timeout, self.start(agent, message))
                .await
                .unwrap_or(Err(Error::Deadline(timeout))),
        }
    }

    /// On the heap: agents call agents.
    fn start<'a>(&'a self, agent: &'a str, message: String) -> Boxed<'a, Result<String, Error>> {
        Box::pin(async move {
            let place = self.caller.place(&self.context);
            let mut resolved = Resolved::load(agent, &self.lookup, &Overrides::default(), &place)?;
            // Its own streaming is for when it is run by itself, as is its budget.
            resolved.stream = false;
            let user = UserMessage { text: message, asked: Asked::Flag };
            let prepared = Prepared::new(resolved, user, &place, &*self.context.workdirs).await?;
            let position = self.caller.below(&prepared.resolved);
            for warning in &prepared.warnings {
                // What is wrong with the file of a sub-agent is for diagnostics.
                self.context.observer.tell(&position.who, &Step::Note { line: warning });
            }
            let max_turns = prepared.resolved.max_turns;
            let who = position.who.clone();
            let member = Member::start(prepared, position, self.context.clone()).await?;
            let answer = match member.converse().await {
                Ok(answer) if answer.end == End::Turns => {
                    Err(Error::Turns { is_sub_agent: true, max: max_turns })
                }
                Ok(answer) => {
                    self.remember(&member, &who, &answer);
                    Ok(answer.text)
                }
                Err(error) => Err(error),
            };
            member.end().await;
            answer
        })
    }

    /// As after a run of its own; what goes wrong is for diagnostics.
    fn remember(&self, member: &Member, who: &Who, answer: &Answer) {
        if self.context.budget.is_exceeded() {
            return;
        }
        if let Err(error) = member.remember(&answer.text) {
            self.context.observer.tell(who, &Step::Note { line: &error.to_string() });
        }
    }

    fn tell(&self, step: &Step<'_>) {
        self.context.observer.tell(&self.caller.who, step);
    }
}

fn refuse(reason: &str) -> Outcome {
    Outcome::error(format!("call_agent error: {reason}"), "refused")
}
