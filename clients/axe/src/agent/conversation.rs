//! The turns of one agent.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;

use super::tools::Tools;
use super::{Budget, Error, Observer, Step, Totals, Who};
use crate::provider::{self, Drain, Message, Provider, Reply, Request, StreamEvent, Usage};

/// One agent's talk with its model.
pub(super) struct Conversation<'a> {
    pub(super) who: &'a Who,
    pub(super) provider: &'a dyn Provider,
    pub(super) tools: &'a Tools,
    pub(super) observer: &'a dyn Observer,
    pub(super) budget: &'a Budget,
    pub(super) totals: &'a Totals,
    pub(super) is_streamed: bool,
    /// Whether the calls of a turn run at once.
    pub(super) is_parallel: bool,
    pub(super) max_turns: u32,
}

/// What an agent came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The text of the last reply.
    pub text: String,
    /// As the provider names it, when it does.
    pub model: Option<String>,
    /// The provider's own word of the last turn.
    pub stop_reason: String,
    /// Whether the provider itself marks the last reply as a refusal.
    pub is_refusal: bool,
    /// Sums over this agent's turns.
    pub usage: Usage,
    /// Requests of this agent that were sent again.
    pub retry_attempts: u64,
    /// This agent's calls, in order.
    pub calls: Vec<CallRecord>,
    /// Why it stopped.
    pub end: End,
}

/// Why an agent stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// It had no more calls.
    #[default]
    Done,
    /// The budget was used up, here or in another agent of the run.
    Budget,
    /// It used all its turns and asked for more.
    Turns,
}

/// One call and what it brought.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// From 0.
    pub turn: u32,
    /// The tool.
    pub name: String,
    /// As the model sent it.
    pub input: Value,
    /// As the model got it.
    pub output: String,
    /// Whether that is an error.
    pub is_error: bool,
    /// How long it took.
    pub duration: Duration,
}

impl Conversation<'_> {
    /// Asks until there are no more calls.
    pub(super) async fn hold(&self, mut request: Request) -> Result<Answer, Error> {
        let mut answer = Answer::default();
        let mut pending_calls = 0;
        for turn in 0..self.max_turns {
            if self.budget.is_exceeded() {
                if turn == 0 {
                    return Err(Error::BudgetSpent);
                }
                answer.end = End::Budget;
                return Ok(answer);
            }
            let messages = request.messages.len();
            let is_streamed = self.is_streamed;
            self.tell(&Step::Asking { turn, messages, pending_calls, is_streamed });
            let reply = if is_streamed {
                self.stream(turn, &request).await?
            } else {
                self.ask(turn, &request).await?
            };
            self.tell(&Step::Answered { turn, reply: &reply, is_streamed });
            self.budget.add(&reply.usage);
            self.totals.add(&reply.usage);
            let calls = answer.take(reply);
            if calls.is_empty() {
                return Ok(answer);
            }
            if self.budget.is_exceeded() {
                answer.end = End::Budget;
                return Ok(answer);
            }
            let (results, records) = super::calls::run(self, turn, &calls).await?;
            answer.calls.extend(records);
            pending_calls = results.len();
            request.messages.push(Message::Assistant { text: answer.text.clone(), calls });
            request.messages.push(Message::ToolResults(results));
        }
        answer.end = End::Turns;
        Ok(answer)
    }

    async fn ask(&self, turn: u32, request: &Request) -> Result<Reply, provider::Error> {
        let reply = self.provider.complete(request).await?;
        if !reply.text.is_empty() {
            self.tell(&Step::Text { turn, text: &reply.text });
        }
        Ok(reply)
    }

    async fn stream(&self, turn: u32, request: &Request) -> Result<Reply, provider::Error> {
        let mut events = self.provider.stream(request).await?;
        let mut drain = Drain::default();
        while let Some(event) = events.next().await {
            let event = event?;
            if let StreamEvent::Text(text) = &event
                && !text.is_empty()
            {
                self.tell(&Step::Text { turn, text });
            }
            drain.push(event);
        }
        drain.finish()
    }

    pub(super) async fn call(
        &self,
        name: &str,
        arguments: &serde_json::Map<String, Value>,
    ) -> Result<crate::tools::Outcome, Error> {
        self.tools.call(self.who, self.observer, name, arguments).await
    }

    pub(super) fn tell(&self, step: &Step<'_>) {
        self.observer.tell(self.who, step);
    }
}

impl Answer {
    /// Takes the next reply in, and gives its calls out.
    fn take(&mut self, reply: Reply) -> Vec<provider::ToolCall> {
        let sum = &mut self.usage;
        sum.input_tokens = sum.input_tokens.saturating_add(reply.usage.input_tokens);
        sum.output_tokens = sum.output_tokens.saturating_add(reply.usage.output_tokens);
        sum.cache_read_tokens = sum.cache_read_tokens.saturating_add(reply.usage.cache_read_tokens);
        sum.cache_write_tokens = sum.cache_write_tokens.saturating_add(reply.usage.cache_write_tokens);
        if let Some(cost) = reply.usage.cost {
            sum.cost = Some(sum.cost.unwrap_or(0.0) + cost);
        }
        self.text = reply.text;
        self.model = reply.model.or(self.model.take());
        self.stop_reason = reply.stop_reason;
        self.is_refusal = reply.is_refusal;
        reply.calls
    }
}
