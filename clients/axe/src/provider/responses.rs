//! OpenAI's Responses, which OpenCode speaks for GPT models.

mod stream;

use serde_json::{Value, json};

use super::openai::error_in;
use super::wire::{self, Decode, EventFrames, Wire, count, text, with_present};
use super::{Arguments, Error, Message, Reply, Request, ResponseFormat, ToolCall, Usage};

/// The wire format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Responses;

impl Wire for Responses {
    fn body(&self, request: &Request, is_streamed: bool) -> Value {
        let mut input = Vec::new();
        if !request.system.is_empty() {
            input.push(json!({"role": "system", "content": request.system}));
        }
        request.messages.iter().for_each(|message| add_items(message, &mut input));
        // Schemas of tools come as they are, and strict ones have to be written for it.
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": false,
            })
        });
        let format = request.response_format.as_ref().map(|format| match format {
            ResponseFormat::JsonObject => json!({"format": {"type": "json_object"}}),
            ResponseFormat::JsonSchema { name, schema } => {
                json!({"format": {"type": "json_schema", "name": name, "strict": true, "schema": schema}})
            }
        });
        with_present(
            json!({"model": request.model, "input": input}),
            [
                ("temperature", wire::temperature(request)),
                ("max_output_tokens", wire::max_tokens(request).map(Value::from)),
                ("tools", wire::unless_empty(tools.collect())),
                ("text", format),
                ("stream", is_streamed.then_some(Value::Bool(true))),
            ],
        )
    }

    fn reply(&self, _request: &Request, body: &Value) -> Result<Reply, Error> {
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(error_in(error));
        }
        let output = body.get("output").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if output.is_empty() {
            return Err(Error::server("response contains no output"));
        }
        let mut reply = Reply {
            stop_reason: text(body, "status").unwrap_or_default().to_owned(),
            model: text(body, "model").map(str::to_owned),
            usage: usage(body),
            ..Reply::default()
        };
        for item in output {
            match text(item, "type") {
                Some("message") => add_parts(item, &mut reply),
                Some("function_call") => reply.calls.push(call(item)?),
                _ => {}
            }
        }
        Ok(reply)
    }

    fn decoder(&self) -> Box<dyn Decode> {
        EventFrames::boxed(stream::ResponseStream::default())
    }
}

fn add_items(message: &Message, input: &mut Vec<Value>) {
    match message {
        Message::User(text) => input.push(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls } => {
            if !text.is_empty() {
                input.push(json!({"role": "assistant", "content": text}));
            }
            input.extend(calls.iter().map(|call| {
                let arguments = call.arguments.to_value().to_string();
                json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
            }));
        }
        Message::ToolResults(results) => input.extend(results.iter().map(
            |result| json!({"type": "function_call_output", "call_id": result.call_id, "output": result.content}),
        )),
    }
}

fn add_parts(item: &Value, reply: &mut Reply) {
    for part in item.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default() {
        match text(part, "type") {
            Some("output_text") => reply.text.push_str(text(part, "text").unwrap_or_default()),
            Some("refusal") => {
                reply.is_refusal = true;
                reply.text.push_str(text(part, "refusal").unwrap_or_default());
            }
            _ => {}
        }
    }
}

fn call(item: &Value) -> Result<ToolCall, Error> {
    let name = text(item, "name").unwrap_or_default().to_owned();
    match Arguments::from_text(text(item, "arguments").unwrap_or_default()) {
        // A finished item with broken arguments is the gateway's fault, and another try may mend it.
        Arguments::Malformed(_) => {
            Err(Error::server(format!("the arguments of the call of {name} are no JSON object")))
        }
        arguments => Ok(ToolCall { id: call_id(item), name, arguments }),
    }
}

/// The id that the call's output has to name.
fn call_id(item: &Value) -> String {
    text(item, "call_id").or_else(|| text(item, "id")).map_or_else(|| wire::make_id("call"), str::to_owned)
}

fn usage(response: &Value) -> Usage {
    let usage = response.get("usage").unwrap_or(&Value::Null);
    let details = usage.get("input_tokens_details").unwrap_or(&Value::Null);
    Usage {
        input_tokens: count(usage, "input_tokens"),
        output_tokens: count(usage, "output_tokens"),
        cache_read_tokens: count(details, "cached_tokens"),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests;
