//! OpenAI's Chat Completions, which half the world speaks.

mod stream;

use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};
use url::Url;

use super::connect::{ConnectError, Settings};
use super::failure::{self, Dialect};
use super::http::Endpoint;
use super::wire::{self, Decode, EventFrames, Wire, count, text, with_present};
use super::{Arguments, Category, Error, Message, Reply, Request, ResponseFormat, ToolCall, ToolSpec, Usage};

/// Where OpenAI lives.
pub(crate) const DEFAULT_BASE_URL: &str = "https://api.openai.com";

/// OpenAI itself, or a server that speaks like it; without a key no Authorization is sent.
pub(crate) fn connect(settings: &Settings, base: Url) -> Result<Endpoint, ConnectError> {
    // A base without a path is the server alone, one with a path the API itself.
    let path =
        if base.path().trim_matches('/').is_empty() { "/v1/chat/completions" } else { "/chat/completions" };
    let cap =
        if base.host_str() == Some("api.openai.com") { Cap::MaxCompletionTokens } else { Cap::MaxTokens };
    let mut headers = HeaderMap::new();
    if let Some(key) = settings.key() {
        headers.insert(AUTHORIZATION, settings.header(&format!("Bearer {}", key.expose()))?);
    }
    let exchange = settings.exchange(&base)?;
    Ok(Endpoint { exchange, url: super::connect::below(&base, path), headers, wire: Box::new(Chat { cap }) })
}

/// The member that caps a reply: OpenAI has given up the old name, its imitators know no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cap {
    MaxTokens,
    MaxCompletionTokens,
}

/// The wire format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chat {
    pub(crate) cap: Cap,
}

impl Wire for Chat {
    fn body(&self, request: &Request, is_streamed: bool) -> Value {
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        request.messages.iter().for_each(|message| add_message(message, &mut messages));
        let cap = match self.cap {
            Cap::MaxTokens => "max_tokens",
            Cap::MaxCompletionTokens => "max_completion_tokens",
        };
        with_present(
            json!({"model": request.model, "messages": messages}),
            [
                ("temperature", wire::temperature(request)),
                (cap, wire::max_tokens(request).map(Value::from)),
                ("tools", wire::unless_empty(request.tools.iter().map(tool).collect())),
                ("response_format", request.response_format.as_ref().map(response_format)),
                ("stream", is_streamed.then_some(Value::Bool(true))),
                ("stream_options", is_streamed.then(|| json!({"include_usage": true}))),
            ],
        )
    }

    fn reply(&self, _request: &Request, body: &Value) -> Result<Reply, Error> {
        if let Some(error) = error_of(body) {
            return Err(error);
        }
        let Some(choice) = body.get("choices").and_then(|choices| choices.get(0)) else {
            return Err(Error::server("response contains no choices"));
        };
        let message = choice.get("message").unwrap_or(&Value::Null);
        let refusal = text(message, "refusal");
        let stop_reason = text(choice, "finish_reason").unwrap_or_default();
        let content = content(message.get("content").unwrap_or(&Value::Null));
        Ok(Reply {
            text: if content.is_empty() { refusal.unwrap_or_default().to_owned() } else { content },
            calls: calls(message),
            stop_reason: stop_reason.to_owned(),
            model: text(body, "model").map(str::to_owned),
            usage: usage(body.get("usage").unwrap_or(&Value::Null)),
            is_refusal: refusal.is_some() || stop_reason == CONTENT_FILTER,
        })
    }

    fn decoder(&self) -> Box<dyn Decode> {
        EventFrames::boxed(stream::ChatStream::default())
    }
}

/// The stop reason of a reply that was taken away.
const CONTENT_FILTER: &str = "content_filter";

fn add_message(message: &Message, messages: &mut Vec<Value>) {
    match message {
        Message::User(text) => messages.push(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls } if calls.is_empty() => {
            messages.push(json!({"role": "assistant", "content": text}));
        }
        Message::Assistant { text, calls } => {
            let content = if text.is_empty() { Value::Null } else { Value::from(text.as_str()) };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            messages.push(json!({"role": "assistant", "content": content, "tool_calls": calls}));
        }
        Message::ToolResults(results) => messages.extend(results.iter().map(
            |result| json!({"role": "tool", "tool_call_id": result.call_id, "content": result.content}),
        )),
    }
}

fn call(call: &ToolCall) -> Value {
    let arguments = call.arguments.to_value().to_string();
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// A tool as Chat Completions and Ollama take it.
pub(crate) fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    })
}

fn response_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
        ResponseFormat::JsonSchema { name, schema } => {
            json!({"type": "json_schema", "json_schema": {"name": name, "strict": true, "schema": schema}})
        }
    }
}

/// Text, or the texts of a list of parts.
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| text(part, "text")).collect(),
        _ => String::new(),
    }
}

fn calls(message: &Value) -> Vec<ToolCall> {
    let entries = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let function = entry.get("function")?;
            Some(ToolCall {
                id: text(entry, "id").map_or_else(|| wire::make_id("call"), str::to_owned),
                name: text(function, "name")?.to_owned(),
                arguments: match function.get("arguments") {
                    Some(Value::String(text)) => Arguments::from_text(text),
                    Some(value) => Arguments::from_value(value.clone()),
                    None => Arguments::from_text(""),
                },
            })
        })
        .collect()
}

fn usage(usage: &Value) -> Usage {
    let details = usage.get("prompt_tokens_details").unwrap_or(&Value::Null);
    Usage {
        input_tokens: count(usage, "prompt_tokens"),
        output_tokens: count(usage, "completion_tokens"),
        cache_read_tokens: count(details, "cached_tokens").max(count(usage, "prompt_cache_hit_tokens")),
        cache_write_tokens: count(details, "cache_write_tokens"),
        cost: usage.get("cost").and_then(Value::as_f64),
    }
}

/// The error that stands in a body or a chunk whose status is good.
fn error_of(body: &Value) -> Option<Error> {
    let error = match body.get("error") {
        Some(Value::Null) | None if text(body, "object") == Some("error") => body,
        Some(Value::Null) | None => return None,
        Some(error) => error,
    };
    Some(error_in(error))
}

/// An error object as an error.
pub(crate) fn error_in(error: &Value) -> Error {
    Error::new(
        category(error),
        failure::words(error).unwrap_or_else(|| "the server reports an error".to_owned()),
    )
}

/// A status where the error holds one, else the word that it gives itself.
fn category(error: &Value) -> Category {
    let members = ["status", "code", "type"].map(|name| error.get(name).unwrap_or(&Value::Null));
    let status = members.iter().find_map(|member| {
        let status = member.as_u64().or_else(|| member.as_str()?.parse().ok())?;
        u16::try_from(status).ok().filter(|status| (300..600).contains(status))
    });
    if let Some(status) = status {
        // Gateways pass on what Anthropic said.
        return failure::category(status, Dialect::Anthropic);
    }
    members.iter().filter_map(|member| category_of_word(member.as_str()?)).next().unwrap_or(Category::Server)
}

fn category_of_word(word: &str) -> Option<Category> {
    match word {
        "authentication_error"
        | "invalid_api_key"
        | "permission_error"
        | "permission_denied"
        | "unauthorized"
        | "access_denied" => Some(Category::Auth),
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "insufficient_quota"
        | "too_many_requests"
        | "tokens"
        | "requests" => Some(Category::RateLimit),
        "overloaded_error" | "overloaded" => Some(Category::Overloaded),
        "invalid_request_error"
        | "invalid_prompt"
        | "context_length_exceeded"
        | "model_not_found"
        | "not_found_error"
        | "content_policy_violation"
        | "BadRequestError" => Some(Category::BadRequest),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
