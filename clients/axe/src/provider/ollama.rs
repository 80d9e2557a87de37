//! Ollama's chat, on this machine or another.

use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value, json};
use url::Url;

use super::connect::{ConnectError, Settings, below};
use super::failure;
use super::http::Endpoint;
use super::openai::tool;
use super::wire::{
    self, Assemble, Decode, LineFrames, Queue, Wire, count, parse_message, text, with_present,
};
use super::{Arguments, Error, Message, Reply, Request, ResponseFormat, StreamEvent, ToolCall, Usage};

/// Where Ollama lives when nobody moved it.
pub(crate) const DEFAULT_BASE_URL: &str = "http://localhost:11434";

/// Said where nobody listens.
pub(crate) const HINT: &str = " (is Ollama running? `ollama serve` starts it)";

pub(crate) fn connect(settings: &Settings, base: &Url) -> Result<Endpoint, ConnectError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = settings.key() {
        headers.insert(AUTHORIZATION, settings.header(&format!("Bearer {}", key.expose()))?);
    }
    let exchange = settings.exchange(base)?;
    Ok(Endpoint { exchange, url: below(base, "/api/chat"), headers, wire: Box::new(Chat) })
}

/// The wire format.
#[derive(Debug, Clone, Copy)]
struct Chat;

impl Wire for Chat {
    fn body(&self, request: &Request, is_streamed: bool) -> Value {
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        request.messages.iter().for_each(|message| add_message(message, &mut messages));
        let options = with_present(
            json!({}),
            [
                ("temperature", wire::temperature(request)),
                ("num_predict", wire::max_tokens(request).map(Value::from)),
            ],
        );
        let format = request.response_format.as_ref().map(|format| match format {
            ResponseFormat::JsonObject => Value::from("json"),
            ResponseFormat::JsonSchema { schema, .. } => schema.clone(),
        });
        with_present(
            json!({"model": request.model, "messages": messages, "stream": is_streamed}),
            [
                ("options", (options != json!({})).then_some(options)),
                ("tools", wire::unless_empty(request.tools.iter().map(tool).collect())),
                ("format", format),
            ],
        )
    }

    fn reply(&self, _request: &Request, body: &Value) -> Result<Reply, Error> {
        if let Some(error) = error_of(body) {
            return Err(error);
        }
        let Some(message) = body.get("message") else {
            return Err(Error::server("response contains no message"));
        };
        Ok(Reply {
            text: text(message, "content").unwrap_or_default().to_owned(),
            calls: calls(message),
            stop_reason: text(body, "done_reason").unwrap_or("stop").to_owned(),
            model: text(body, "model").map(str::to_owned),
            usage: usage(body),
            is_refusal: false,
        })
    }

    fn decoder(&self) -> Box<dyn Decode> {
        LineFrames::boxed(ChatStream)
    }

    fn takes_json_for_whole(&self) -> bool {
        // Its lines are JSON, and a whole reply is a stream of one line.
        false
    }
}

fn add_message(message: &Message, messages: &mut Vec<Value>) {
    match message {
        Message::User(text) => messages.push(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls } => {
            let calls = calls
                .iter()
                .map(|call| json!({"function": {"name": call.name, "arguments": call.arguments.to_value()}}));
            messages.push(with_present(
                json!({"role": "assistant", "content": text}),
                [("tool_calls", wire::unless_empty(calls.collect()))],
            ));
        }
        Message::ToolResults(results) => messages.extend(
            results
                .iter()
                .map(|result| json!({"role": "tool", "tool_name": result.name, "content": result.content})),
        ),
    }
}

fn calls(message: &Value) -> Vec<ToolCall> {
    let entries = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let function = entry.get("function")?;
            Some(ToolCall {
                // Ollama's own ids, where it has any, are not kept apart from one reply to the next.
                id: wire::make_id("ollama"),
                name: text(function, "name")?.to_owned(),
                arguments: Arguments::from_value(
                    function.get("arguments").cloned().unwrap_or(Value::Object(Map::new())),
                ),
            })
        })
        .collect()
}

fn usage(body: &Value) -> Usage {
    Usage {
        input_tokens: count(body, "prompt_eval_count"),
        output_tokens: count(body, "eval_count"),
        ..Usage::default()
    }
}

fn error_of(body: &Value) -> Option<Error> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    Some(Error::server(failure::words(error).unwrap_or_else(|| "the server reports an error".to_owned())))
}

/// Every line is a piece of the reply; only the last one tells what it cost.
struct ChatStream;

impl Assemble for ChatStream {
    fn message(&mut self, _name: &str, data: &str, events: &mut Queue) -> Result<(), Error> {
        let line = parse_message(data)?;
        if let Some(error) = error_of(&line) {
            return Err(error);
        }
        let message = line.get("message").unwrap_or(&Value::Null);
        if let Some(content) = text(message, "content") {
            events.push_back(StreamEvent::Text(content.to_owned()));
        }
        for ToolCall { id, name, arguments } in calls(message) {
            events.push_back(StreamEvent::ToolStart { id: id.clone(), name, input: arguments.to_text() });
            events.push_back(StreamEvent::ToolEnd { id });
        }
        if line.get("done") == Some(&Value::Bool(true)) {
            let stop_reason = text(&line, "done_reason").unwrap_or("stop").to_owned();
            events.push_back(StreamEvent::Done { stop_reason, usage: usage(&line), is_refusal: false });
        }
        Ok(())
    }

    fn end(&mut self, _events: &mut Queue) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
