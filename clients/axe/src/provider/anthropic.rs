//! Anthropic's Messages.

mod stream;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use url::Url;

use super::connect::{ConnectError, Settings, below};
use super::http::Endpoint;
use super::wire::{self, Decode, EventFrames, Wire, count, text, with_present};
use super::{Arguments, Category, Error, Message, Reply, Request, ToolCall, Usage, failure, limits};

/// Where Anthropic lives.
pub(crate) const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";

/// The stop reason of a reply that the model refused to give.
const REFUSAL: &str = "refusal";

pub(crate) fn connect(settings: &Settings, base: &Url) -> Result<Endpoint, ConnectError> {
    let mut headers = HeaderMap::from_iter([version()]);
    if let Some(key) = settings.key() {
        headers.insert(HeaderName::from_static("x-api-key"), settings.header(key.expose())?);
    }
    let exchange = settings.exchange(base)?;
    Ok(Endpoint { exchange, url: below(base, "/v1/messages"), headers, wire: Box::new(Messages) })
}

/// The header that names the API's version.
pub(crate) fn version() -> (HeaderName, HeaderValue) {
    (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"))
}

/// The wire format. It has no response format: [`Request::response_format`] is left to the prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages;

impl Wire for Messages {
    fn body(&self, request: &Request, is_streamed: bool) -> Value {
        let messages: Vec<Value> = request.messages.iter().filter_map(message).collect();
        let max_tokens = wire::max_tokens(request).unwrap_or(limits::ANTHROPIC_MAX_TOKENS);
        let tools = request.tools.iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}),
        );
        // The mark also covers the tools, which stand before the system prompt.
        let system = (!request.system.is_empty()).then(
            || json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]),
        );
        with_present(
            json!({"model": request.model, "max_tokens": max_tokens, "messages": messages}),
            [
                ("system", system),
                ("temperature", wire::temperature(request)),
                ("tools", wire::unless_empty(tools.collect())),
                ("stream", is_streamed.then_some(Value::Bool(true))),
            ],
        )
    }

    fn reply(&self, request: &Request, body: &Value) -> Result<Reply, Error> {
        if text(body, "type") == Some("error") {
            return Err(error_of(body));
        }
        let blocks = body.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // After tool results the model may have nothing to add.
        let may_be_empty = matches!(request.messages.last(), Some(Message::ToolResults(_)));
        if blocks.is_empty() && !may_be_empty {
            return Err(Error::server("response contains no content"));
        }
        let of_type =
            |kind: &'static str| blocks.iter().filter(move |block| text(block, "type") == Some(kind));
        let stop_reason = text(body, "stop_reason").unwrap_or_default();
        Ok(Reply {
            text: of_type("text").filter_map(|block| text(block, "text")).collect(),
            calls: of_type("tool_use").map(call).collect(),
            stop_reason: stop_reason.to_owned(),
            model: text(body, "model").map(str::to_owned),
            usage: usage(Usage::default(), body.get("usage").unwrap_or(&Value::Null)),
            is_refusal: stop_reason == REFUSAL,
        })
    }

    fn decoder(&self) -> Box<dyn Decode> {
        EventFrames::boxed(stream::MessageStream::default())
    }
}

/// None for what the API refuses: a message without content.
fn message(message: &Message) -> Option<Value> {
    match message {
        Message::User(text) => Some(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls } => {
            let text = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = calls.iter().map(|call| {
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments.to_value()})
            });
            let content: Vec<Value> = text.into_iter().chain(calls).collect();
            (!content.is_empty()).then(|| json!({"role": "assistant", "content": content}))
        }
        Message::ToolResults(results) => {
            let results = results.iter().map(|result| {
                json!({
                    "type": "tool_result",
                    "tool_use_id": result.call_id,
                    "content": result.content,
                    "is_error": result.is_error,
                })
            });
            Some(json!({"role": "user", "content": results.collect::<Vec<_>>()}))
        }
    }
}

fn call(block: &Value) -> ToolCall {
    ToolCall {
        id: text(block, "id").map_or_else(|| wire::make_id("toolu"), str::to_owned),
        name: text(block, "name").unwrap_or_default().to_owned(),
        arguments: Arguments::from_value(block.get("input").cloned().unwrap_or(Value::Object(Map::new()))),
    }
}

/// The counters that `counted` has, the others as they were: a stream tells them in two places.
fn usage(before: Usage, counted: &Value) -> Usage {
    let newer = |name: &str, before: u64| {
        if counted.get(name).is_some_and(Value::is_number) { count(counted, name) } else { before }
    };
    Usage {
        input_tokens: newer("input_tokens", before.input_tokens),
        output_tokens: newer("output_tokens", before.output_tokens),
        cache_read_tokens: newer("cache_read_input_tokens", before.cache_read_tokens),
        cache_write_tokens: newer("cache_creation_input_tokens", before.cache_write_tokens),
        cost: before.cost,
    }
}

/// The error of an object whose type is `error`.
fn error_of(body: &Value) -> Error {
    let error = body.get("error").unwrap_or(body);
    let category = match text(error, "type").unwrap_or_default() {
        "authentication_error" | "permission_error" => Category::Auth,
        "invalid_request_error" | "not_found_error" | "request_too_large" | "billing_error" => {
            Category::BadRequest
        }
        "rate_limit_error" => Category::RateLimit,
        "overloaded_error" => Category::Overloaded,
        _ => Category::Server,
    };
    Error::new(category, failure::words(error).unwrap_or_else(|| "the server reports an error".to_owned()))
}

#[cfg(test)]
mod tests;
