//! JSON Schemas of every tool and of the three messages, made from the types.
//!
//! `protocol/schema/` holds them as files, which a test compares. They say less than SPEC.md: a schema can't tell that
//! `replace` needs a digest.
//!
//! Source: SPEC §7.

use std::sync::LazyLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::code::{Code, Status};
use crate::limits;
use crate::request::Tool;
use crate::tool::*;

#[cfg(test)]
mod tests;

/// Every tool with its schemas, in the order of [`Tool::ALL`]; what `server.info` shows.
pub fn tools() -> &'static [ToolInfo] {
    static TOOLS: LazyLock<Vec<ToolInfo>> = LazyLock::new(|| Tool::ALL.iter().copied().map(tool).collect());
    &TOOLS
}

fn tool(tool: Tool) -> ToolInfo {
    match tool {
        Tool::Read => describe::<ReadArguments, ReadOutput>(
            tool,
            "Reads a page of a regular file as text or base64, with the digest of the file when the page is all of it.",
        ),
        Tool::Write => describe::<WriteArguments, WriteOutput>(
            tool,
            "Creates a file that does not exist, or replaces one whose digest is known, all at once.",
        ),
        Tool::Edit => describe::<EditArguments, EditOutput>(
            tool,
            "Replaces the only occurrence of a literal text in a file, or every one when asked.",
        ),
        Tool::Exec => describe::<ExecArguments, ExecOutput>(
            tool,
            "Runs a program with literal arguments, without a shell, and captures its output.",
        ),
        Tool::Search => describe::<SearchArguments, SearchOutput>(
            tool,
            "Searches the lines of files for a pattern in Go's RE2 syntax, in walk order, page by page.",
        ),
        Tool::List => describe::<ListArguments, ListOutput>(
            tool,
            "Lists a directory, recursively when asked, in walk order, page by page.",
        ),
        Tool::PluginsList => describe::<Empty, PluginsListOutput>(
            tool,
            "Lists the tools that the workspace's plugins advertise and their manifests allow.",
        ),
        Tool::PluginsCall => {
            describe::<PluginsCallArguments, PluginsCallOutput>(tool, "Calls a tool of a plugin.")
        }
        Tool::ServerPing => {
            describe::<Empty, Empty>(tool, "Answers at once, also while everything else is busy.")
        }
        Tool::ServerInfo => describe::<Empty, ServerInfoOutput>(
            tool,
            "Describes the daemon: its tools, limits and capabilities.",
        ),
        Tool::ServerStats => {
            describe::<Empty, ServerStatsOutput>(tool, "Counts what the daemon did and what it is doing.")
        }
        Tool::ServerStop => describe::<ServerStopArguments, Empty>(
            tool,
            "Stops the daemon once running requests have finished or the drain time has passed.",
        ),
        Tool::WorkspaceOpen => describe::<WorkspaceOpenArguments, WorkspaceOpenOutput>(
            tool,
            "Opens a directory as a workspace for this connection.",
        ),
        Tool::WorkspaceList => describe::<Empty, WorkspaceListOutput>(tool, "Lists the open workspaces."),
        Tool::WorkspaceClose => describe::<WorkspaceCloseArguments, Empty>(
            tool,
            "Gives back one open of a workspace; the last one ends what runs in it.",
        ),
        Tool::RequestCancel => describe::<RequestCancelArguments, RequestCancelOutput>(
            tool,
            "Cancels a request of this connection that runs or waits.",
        ),
        Tool::ExecWrite => describe::<ExecWriteArguments, Empty>(
            tool,
            "Writes to the stdin of a running exec that was started with stdin_open, or closes it.",
        ),
        Tool::ExecSignal => describe::<ExecSignalArguments, Empty>(
            tool,
            "Sends a signal to the process group of a running exec.",
        ),
    }
}

fn describe<Arguments: JsonSchema, Output: JsonSchema>(tool: Tool, description: &str) -> ToolInfo {
    ToolInfo {
        name: tool.as_str().to_owned(),
        description: description.to_owned(),
        arguments_schema: arguments_schema::<Arguments>(),
        output_schema: output_schema::<Output>(),
    }
}

fn arguments_schema<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn output_schema<T: JsonSchema>() -> Value {
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// Without references, so that each schema can be handed to a model by itself, and without the name of the Rust type.
fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of a request, as the socket takes it.
pub fn request() -> Value {
    let names: Vec<&str> = Tool::ALL.iter().copied().map(Tool::as_str).collect();
    let arguments_of_tools: Vec<Value> = tools()
        .iter()
        .map(|tool| {
            json!({
                "if": { "properties": { "tool": { "const": tool.name } } },
                "then": { "properties": { "arguments": tool.arguments_schema } },
            })
        })
        .collect();
    json!({
        "$schema": DIALECT,
        "description": "A request. The one-request process knows neither workspace nor stream.",
        "type": "object",
        "properties": {
            "protocol_version": { "const": limits::PROTOCOL_VERSION },
            "request_id": request_id(1),
            "tool": { "enum": names },
            "arguments": { "type": "object", "description": "The tool's own members." },
            "workspace": {
                "type": ["string", "null"],
                "description": "An id from workspace.open. Default the connection's default workspace.",
            },
            "stream": {
                "type": ["boolean", "null"],
                "description": "Whether events precede the response. Default false.",
            },
        },
        "required": ["protocol_version", "request_id", "tool", "arguments"],
        "additionalProperties": false,
        "allOf": arguments_of_tools,
    })
}

/// The schema of a response, without what each tool puts out.
pub fn response() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().copied().map(Code::as_str).collect();
    let time = json!({ "type": "string", "format": "date-time", "description": "RFC 3339, UTC." });
    json!({
        "$schema": DIALECT,
        "description": "A response. Exactly one of output and error is not null.",
        "type": "object",
        "properties": {
            "protocol_version": { "const": limits::PROTOCOL_VERSION },
            "request_id": request_id(0),
            "tool": { "type": "string", "description": "The request's tool; empty when it could not be read." },
            "status": output_schema::<Status>(),
            "started_at": time,
            "finished_at": time,
            "duration_ms": {
                "type": "integer",
                "minimum": 0,
                "description": "Milliseconds between them on a monotonic clock.",
            },
            "output": { "type": ["object", "null"], "description": "What came of it, when completed." },
            "error": {
                "type": ["object", "null"],
                "description": "What went wrong otherwise.",
                "properties": {
                    "code": { "type": "string", "examples": codes, "description": "The stable code." },
                    "message": { "type": "string", "description": "For the person or model that must act on it." },
                },
                "required": ["code", "message"],
            },
        },
        "required": [
            "protocol_version", "request_id", "tool", "status", "started_at", "finished_at", "duration_ms", "output",
            "error",
        ],
    })
}

/// The schema of an event in JSON. Kinds that are not listed may come; a client passes over them.
pub fn event() -> Value {
    let count = |description: &str| json!({ "type": "integer", "minimum": 0, "description": description });
    let data = || {
        json!({
            "type": "string",
            "contentEncoding": "base64",
            "description": "Bytes as the pipe gave them; bin in MessagePack.",
        })
    };
    json!({
        "$schema": DIALECT,
        "description": "An event of a streaming request. Every event of a request precedes its response.",
        "type": "object",
        "properties": {
            "protocol_version": { "const": limits::PROTOCOL_VERSION },
            "request_id": request_id(1),
            "event": { "type": "string" },
            "seq": count("Counts from 0 within the request."),
        },
        "required": ["protocol_version", "request_id", "event", "seq"],
        "anyOf": [
            kind("started", json!({ "pid": count("Process id of the child.") })),
            kind("stdout", json!({ "data": data() })),
            kind("stderr", json!({ "data": data() })),
            kind("matches", json!({ "matches": output_schema::<Vec<Match>>() })),
            kind("entries", json!({ "entries": output_schema::<Vec<Entry>>() })),
            kind(
                "progress",
                json!({
                    "files_scanned": count("search: files scanned so far."),
                    "files_skipped": count("search: files skipped so far."),
                }),
            ),
            kind("progress", json!({ "entries_seen": count("list: entries visited so far.") })),
            {
                "properties": {
                    "event": { "const": "progress" },
                    "progress": { "type": "number", "description": "plugins.call: as the plugin reported it." },
                    "total": { "type": "number" },
                    "message": { "type": "string" },
                },
                "required": ["progress"],
            },
        ],
    })
}

/// One kind of event, all of whose own members are required.
fn kind(name: &str, members: Value) -> Value {
    let required: Vec<&String> = members.as_object().into_iter().flat_map(|members| members.keys()).collect();
    let required = json!(required);
    let mut properties = members;
    properties["event"] = json!({ "const": name });
    json!({ "properties": properties, "required": required })
}

fn request_id(min_length: usize) -> Value {
    json!({
        "type": "string",
        "minLength": min_length,
        "maxLength": limits::REQUEST_ID_MAX_BYTES,
        "pattern": r"^[^\u0000-\u001f\u007f]*$",
        "description": "Correlates. At most 128 bytes of UTF-8.",
    })
}
