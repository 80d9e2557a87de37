//! The result of a tool call, as both doors write it.

use axlr_protocol::tool::PluginsCallOutput;
use axlr_protocol::{ErrorBody, Output};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::render::{Subject, render};

/// What a call of a tool gave.
#[derive(Debug)]
pub(super) struct Reply {
    content: Vec<Block>,
    structured: Option<Structured>,
    is_error: bool,
}

#[derive(Debug)]
enum Block {
    Text(String),
    /// As a plugin sent it, of whatever kind.
    Foreign(Value),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Structured {
    Ours(Output),
    Foreign(Value),
}

impl Reply {
    /// A failure, for the model to read. It carries no structured content: the output's schema speaks of success.
    pub(super) fn failure(error: &ErrorBody) -> Self {
        let text = format!("{}: {}", error.code.as_str(), error.message);
        Self { content: vec![Block::Text(text)], structured: None, is_error: true }
    }

    pub(super) fn success(subject: &Subject, output: Output) -> Self {
        if let Output::PluginsCall(output) = output {
            return Self::of_plugin(output);
        }
        let content = render(subject, &output).into_iter().map(Block::Text).collect();
        Self { content, structured: Some(Structured::Ours(output)), is_error: false }
    }

    fn of_plugin(output: PluginsCallOutput) -> Self {
        let PluginsCallOutput { content, structured_content, is_error } = output;
        Self {
            content: content.into_iter().map(Block::Foreign).collect(),
            structured: structured_content.map(Structured::Foreign),
            is_error,
        }
    }

    /// The result in the SDK's types. A block of a kind that they do not know becomes its JSON as text.
    pub(super) fn into_result(self) -> CallToolResult {
        let content = self.content.into_iter().map(Block::into_content).collect();
        let mut result =
            if self.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        result.structured_content = self.structured.map(|structured| match structured {
            // An output is an object of strings, numbers and lists.
            Structured::Ours(output) => serde_json::to_value(output).unwrap_or_default(),
            Structured::Foreign(value) => value,
        });
        result
    }

    /// The result for the wire. Revisions since 2026-07-28 say that it is complete; those before take structured content
    /// only as an object.
    pub(super) fn on_wire(&self, is_modern: bool) -> impl Serialize + '_ {
        OnWire { reply: self, is_modern }
    }
}

impl Block {
    fn into_content(self) -> ContentBlock {
        match self {
            Self::Text(text) => ContentBlock::text(text),
            Self::Foreign(value) => {
                let text = value.to_string();
                serde_json::from_value(value).unwrap_or_else(|_| ContentBlock::text(text))
            }
        }
    }
}

struct OnWire<'r> {
    reply: &'r Reply,
    is_modern: bool,
}

impl Serialize for OnWire<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Reply { content, structured, is_error } = self.reply;
        let mut map = serializer.serialize_map(None)?;
        if self.is_modern {
            map.serialize_entry("resultType", "complete")?;
        }
        map.serialize_entry("content", content)?;
        match structured {
            Some(Structured::Foreign(value)) if !self.is_modern && !value.is_object() => {}
            Some(structured) => map.serialize_entry("structuredContent", structured)?,
            None => {}
        }
        map.serialize_entry("isError", is_error)?;
        map.end()
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => {
                let mut block = serializer.serialize_struct("Text", 2)?;
                block.serialize_field("type", "text")?;
                block.serialize_field("text", text)?;
                block.end()
            }
            Self::Foreign(value) => value.serialize(serializer),
        }
    }
}
