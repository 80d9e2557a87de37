//! The lines of a recording.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::provider::{Arguments, Category, Error, Message, Reply, Request, ResponseFormat, ToolCall, Usage};

/// The form of the lines; a later form has a higher number.
pub(super) const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) agent: String,
    pub(super) model: String,
    pub(super) user: String,
}

/// Every other line: what was asked, for people, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) request: Value,
    pub(super) result: Recorded,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Recorded {
    Reply(RecordedReply),
    Error(RecordedError),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedReply {
    text: String,
    calls: Vec<RecordedCall>,
    stop_reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(default)]
    is_refusal: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedCall {
    id: String,
    name: String,
    /// An object; a string holds arguments that were none.
    arguments: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedError {
    category: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

const CATEGORIES: [Category; 6] = [
    Category::Auth,
    Category::BadRequest,
    Category::RateLimit,
    Category::Overloaded,
    Category::Timeout,
    Category::Server,
];

impl Recorded {
    pub(super) fn of(result: &Result<Reply, Error>) -> Self {
        match result {
            Ok(reply) => Self::Reply(RecordedReply {
                text: reply.text.clone(),
                calls: reply.calls.iter().map(RecordedCall::of).collect(),
                stop_reason: reply.stop_reason.clone(),
                model: reply.model.clone(),
                input_tokens: reply.usage.input_tokens,
                output_tokens: reply.usage.output_tokens,
                cache_read_tokens: reply.usage.cache_read_tokens,
                cache_write_tokens: reply.usage.cache_write_tokens,
                cost: reply.usage.cost,
                is_refusal: reply.is_refusal,
            }),
            Err(error) => Self::Error(RecordedError {
                category: error.category.as_str().to_owned(),
                message: error.message.clone(),
                status: error.status,
            }),
        }
    }

    pub(super) fn result(self) -> Result<Reply, Error> {
        match self {
            Self::Reply(reply) => Ok(Reply {
                text: reply.text,
                calls: reply.calls.into_iter().map(RecordedCall::call).collect(),
                stop_reason: reply.stop_reason,
                model: reply.model,
                usage: Usage {
                    input_tokens: reply.input_tokens,
                    output_tokens: reply.output_tokens,
                    cache_read_tokens: reply.cache_read_tokens,
                    cache_write_tokens: reply.cache_write_tokens,
                    cost: reply.cost,
                },
                is_refusal: reply.is_refusal,
            }),
            Self::Error(RecordedError { category, message, status }) => {
                let category = CATEGORIES.into_iter().find(|known| known.as_str() == category);
                Err(Error {
                    category: category.unwrap_or(Category::Server),
                    message,
                    status,
                    retry_after: None,
                })
            }
        }
    }
}

impl RecordedCall {
    fn of(call: &ToolCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), arguments: arguments(&call.arguments) }
    }

    fn call(self) -> ToolCall {
        let arguments = match self.arguments {
            Value::Object(members) => Arguments::Object(members),
            Value::String(text) => Arguments::Malformed(text),
            other => Arguments::Malformed(other.to_string()),
        };
        ToolCall { id: self.id, name: self.name, arguments }
    }
}

fn arguments(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Object(members) => Value::Object(members.clone()),
        Arguments::Malformed(text) => Value::String(text.clone()),
    }
}

/// A request as people read it in a recording; nothing reads it back.
pub(super) fn request(request: &Request) -> Value {
    json!({
        "model": request.model,
        "system": request.system,
        "messages": request.messages.iter().map(message).collect::<Vec<_>>(),
        "tools": request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "response_format": request.response_format.as_ref().map(|format| match format {
            ResponseFormat::JsonObject => json!("json_object"),
            ResponseFormat::JsonSchema { name, schema } => json!({ "name": name, "schema": schema }),
        }),
    })
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "user": text }),
        Message::Assistant { text, calls } => {
            let calls: Vec<_> = calls
                .iter()
                .map(|call| json!({ "id": call.id, "name": call.name, "arguments": arguments(&call.arguments) }))
                .collect();
            json!({ "assistant": text, "calls": calls })
        }
        Message::ToolResults(results) => {
            let results: Vec<_> = results
                .iter()
                .map(|result| {
                    json!({ "id": result.call_id, "name": result.name, "content": result.content, "is_error": result.is_error })
                })
                .collect();
            json!({ "results": results })
        }
    }
}
