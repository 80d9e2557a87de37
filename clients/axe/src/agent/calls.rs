//! The calls of one turn.

use std::collections::HashMap;
use std::time::Instant;

use futures_util::future::try_join_all;
use serde_json::{Map, Value};

use super::conversation::{CallRecord, Conversation};
use super::{Error, Step};
use crate::provider::{Arguments, ToolCall, ToolResult};
use crate::text::cut;
use crate::tools::Outcome;

/// Bytes of malformed arguments that are quoted back.
const QUOTED_MAX_BYTES: usize = 2000;

/// Runs the calls, and returns results and records in their order. Calls run at once, but for those of one lane (on the
/// same file), which keep their order.
pub(super) async fn run(
    conversation: &Conversation<'_>,
    turn: u32,
    calls: &[ToolCall],
) -> Result<(Vec<ToolResult>, Vec<CallRecord>), Error> {
    let lanes = lanes(conversation, calls).into_iter().map(|lane| async move {
        let mut done = Vec::with_capacity(lane.len());
        for position in lane {
            done.push((position, one(conversation, turn, &calls[position]).await?));
        }
        Ok::<_, Error>(done)
    });
    let mut done: Vec<_> = try_join_all(lanes).await?.into_iter().flatten().collect();
    done.sort_by_key(|(position, _)| *position);
    Ok(done.into_iter().map(|(_, pair)| pair).unzip())
}

/// Positions of calls; those in one lane run one after the other.
fn lanes(conversation: &Conversation<'_>, calls: &[ToolCall]) -> Vec<Vec<usize>> {
    if !conversation.is_parallel {
        return vec![(0..calls.len()).collect()];
    }
    let mut lanes: Vec<Vec<usize>> = Vec::new();
    let mut by_file = HashMap::new();
    for (position, call) in calls.iter().enumerate() {
        let lane = match &call.arguments {
            Arguments::Object(arguments) => conversation.tools.lane(&call.name, arguments),
            Arguments::Malformed(_) => None,
        };
        let next = lanes.len();
        match lane.map_or(next, |lane| *by_file.entry(lane).or_insert(next)) {
            known if known < next => lanes[known].push(position),
            _ => lanes.push(vec![position]),
        }
    }
    lanes
}

async fn one(
    conversation: &Conversation<'_>,
    turn: u32,
    call: &ToolCall,
) -> Result<(ToolResult, CallRecord), Error> {
    conversation.tell(&Step::Calling { turn, call });
    let start = Instant::now();
    let (outcome, input) = match &call.arguments {
        Arguments::Object(arguments) => (conversation.call(&call.name, arguments).await?, arguments.clone()),
        Arguments::Malformed(text) => (malformed(&call.name, text), Map::new()),
    };
    let duration = start.elapsed();
    conversation.tell(&Step::Called { turn, call, outcome: &outcome, duration });
    let Outcome { content, is_error, .. } = outcome;
    let record = CallRecord {
        turn,
        name: call.name.clone(),
        input: Value::Object(input),
        output: content.clone(),
        is_error,
        duration,
    };
    Ok((ToolResult { call_id: call.id.clone(), name: call.name.clone(), content, is_error }, record))
}

/// A call that was cut off or garbled is never run on what is left of it.
fn malformed(name: &str, text: &str) -> Outcome {
    let shown = cut(text, QUOTED_MAX_BYTES);
    let message =
        format!("the arguments of {name} are not a JSON object, so it was not run; they were: {shown}");
    Outcome::error(message, "malformed arguments")
}
