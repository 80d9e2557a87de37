//! The wire format: what Converse is told and what it says.

use serde_json::{Map, Value, json};

use super::super::wire::{self, Decode, Wire, count, text, with_present};
use super::super::{Arguments, Error, Message, Reply, Request, ToolCall, ToolSpec, Usage};
use super::stream::FrameDecoder;

/// The wire format. It has no response format: [`Request::response_format`] is left to the prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Converse;

/// Stands for a result without text: Converse refuses empty ones.
const NO_OUTPUT: &str = "(no output)";

impl Wire for Converse {
    fn body(&self, request: &Request, _is_streamed: bool) -> Value {
        let mut messages: Vec<Value> = Vec::new();
        for message in &request.messages {
            let (role, blocks) = blocks(message);
            match messages.last_mut() {
                _ if blocks.is_empty() => {}
                // Roles have to alternate.
                Some(last) if last["role"] == role => {
                    if let Some(content) = last["content"].as_array_mut() {
                        content.extend(blocks);
                    }
                }
                _ => messages.push(json!({"role": role, "content": blocks})),
            }
        }
        let inference = with_present(
            json!({}),
            [
                ("temperature", wire::temperature(request)),
                ("maxTokens", wire::max_tokens(request).map(Value::from)),
            ],
        );
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        with_present(
            json!({"messages": messages}),
            [
                ("system", (!request.system.trim().is_empty()).then(|| json!([{"text": request.system}]))),
                ("inferenceConfig", (inference != json!({})).then_some(inference)),
                ("toolConfig", wire::unless_empty(tools).map(|tools| json!({"tools": tools}))),
            ],
        )
    }

    fn reply(&self, _request: &Request, body: &Value) -> Result<Reply, Error> {
        let content = body.pointer("/output/message/content").and_then(Value::as_array);
        let blocks = content.map(Vec::as_slice).unwrap_or_default();
        let stop_reason = text(body, "stopReason").unwrap_or_default();
        Ok(Reply {
            text: blocks.iter().filter_map(|block| text(block, "text")).collect(),
            calls: blocks.iter().filter_map(|block| block.get("toolUse")).map(call).collect(),
            stop_reason: stop_reason.to_owned(),
            model: None,
            usage: usage(body),
            is_refusal: is_refusal(stop_reason),
        })
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(FrameDecoder::default())
    }
}

/// The role of a message and its blocks, without the empty ones.
fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    let spoken = |text: &str| (!text.trim().is_empty()).then(|| json!({"text": text}));
    match message {
        Message::User(text) => ("user", spoken(text).into_iter().collect()),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(|call| {
                json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments.to_value()}})
            });
            ("assistant", spoken(text).into_iter().chain(calls).collect())
        }
        Message::ToolResults(results) => {
            let results = results.iter().map(|result| {
                let content = spoken(&result.content).unwrap_or_else(|| json!({"text": NO_OUTPUT}));
                let status = if result.is_error { "error" } else { "success" };
                json!({"toolResult": {"toolUseId": result.call_id, "content": [content], "status": status}})
            });
            ("user", results.collect())
        }
    }
}

fn tool(tool: &ToolSpec) -> Value {
    let description = (!tool.description.is_empty()).then(|| Value::from(tool.description.as_str()));
    let spec = json!({"name": tool.name, "inputSchema": {"json": tool.input_schema}});
    json!({"toolSpec": with_present(spec, [("description", description)])})
}

fn call(block: &Value) -> ToolCall {
    ToolCall {
        id: text(block, "toolUseId").map_or_else(|| wire::make_id("tooluse"), str::to_owned),
        name: text(block, "name").unwrap_or_default().to_owned(),
        arguments: Arguments::from_value(block.get("input").cloned().unwrap_or(Value::Object(Map::new()))),
    }
}

/// The counters in a reply or in a stream's last message.
pub(super) fn usage(body: &Value) -> Usage {
    let usage = body.get("usage").unwrap_or(&Value::Null);
    Usage {
        input_tokens: count(usage, "inputTokens"),
        output_tokens: count(usage, "outputTokens"),
        cache_read_tokens: count(usage, "cacheReadInputTokens"),
        cache_write_tokens: count(usage, "cacheWriteInputTokens"),
        cost: None,
    }
}

pub(super) fn is_refusal(stop_reason: &str) -> bool {
    matches!(stop_reason, "content_filtered" | "guardrail_intervened" | "refusal")
}
