//! What a model is told and what it says, in no provider's words.

use serde_json::{Map, Value};

/// All that a model is told in one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The model's name without the provider's.
    pub model: String,
    /// The system prompt; empty for none.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What the model may call; empty for none.
    pub tools: Vec<ToolSpec>,
    /// None leaves it to the provider.
    pub temperature: Option<f64>,
    /// Cap of this one reply, in tokens; None leaves it to the provider.
    pub max_tokens: Option<u64>,
    /// None is plain text.
    pub response_format: Option<ResponseFormat>,
}

/// What form a reply is to have.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    /// Any JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema {
        /// The schema's name.
        name: String,
        /// The schema.
        schema: Value,
    },
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The user's words.
    User(String),
    /// The model's words and calls.
    Assistant {
        /// May be empty.
        text: String,
        /// In the model's order.
        calls: Vec<ToolCall>,
    },
    /// What the calls of the message before brought, in their order.
    ToolResults(Vec<ToolResult>),
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Unique within the run.
    pub id: String,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// JSON values as the model sent them.
    pub arguments: Arguments,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// An object.
    Object(Map<String, Value>),
    /// No JSON object: the text as it came. The call is answered with an error, never run.
    Malformed(String),
}

/// What a call brought.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// Text for the model.
    pub content: String,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, passed through untouched.
    pub input_schema: Value,
}

/// What a model says in one turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The text; may be empty.
    pub text: String,
    /// Calls in the model's order.
    pub calls: Vec<ToolCall>,
    /// The provider's own word.
    pub stop_reason: String,
    /// As the provider names it, when it does.
    pub model: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// Whether the provider itself marks the reply as a refusal.
    pub is_refusal: bool,
}

/// Tokens of one reply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Tokens of the prompt, as the provider counts them.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
    /// Prompt tokens that came from a cache.
    pub cache_read_tokens: u64,
    /// Prompt tokens that went into one.
    pub cache_write_tokens: u64,
    /// US dollars, where the provider says so.
    pub cost: Option<f64>,
}

impl Arguments {
    /// Reads a call's arguments as a provider sent them: as text that should hold a JSON object. No text and `null` are a
    /// call without arguments.
    pub fn from_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(value) => Self::from_value(value),
            Err(_) => Self::Malformed(text.to_owned()),
        }
    }

    /// The same for providers that send JSON itself. An object inside a string is taken for the object.
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(members) => Self::Object(members),
            Value::Null => Self::Object(Map::new()),
            Value::String(text) if text.trim_start().starts_with('{') || text.trim().is_empty() => {
                Self::from_text(&text)
            }
            value => Self::Malformed(value.to_string()),
        }
    }

    /// The object that goes back to the provider as part of the conversation. Malformed arguments go back as an empty one:
    /// servers that read them would refuse the whole conversation, and the call's result tells what was wrong.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Object(members) => Value::Object(members.clone()),
            Self::Malformed(_) => Value::Object(Map::new()),
        }
    }

    /// The text as a provider would send it.
    pub fn to_text(&self) -> String {
        match self {
            Self::Object(members) => Value::Object(members.clone()).to_string(),
            Self::Malformed(text) => text.clone(),
        }
    }
}
