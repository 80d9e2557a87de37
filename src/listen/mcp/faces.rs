//! The tools as a model sees them: names, descriptions, schemas and hints.

use std::sync::Arc;

use axlr_protocol::{Tool, limits, schema};
use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// One of our tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct Face {
    pub(super) tool: Tool,
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    hints: Hints,
}

/// What a host may tell its user before a call.
#[derive(Debug, Clone, Copy)]
enum Hints {
    /// Changes nothing.
    Reads,
    /// Changes files of the workspace; `true` when a second call with the same arguments changes nothing more.
    Writes { is_idempotent: bool },
    /// May do anything, outside of the workspace too.
    Runs,
}

/// In the order in which they are listed.
pub(super) const FACES: [Face; 6] = [
    Face {
        tool: Tool::Read,
        name: "read_file",
        title: "Read a file",
        description: "Reads a text file of the workspace, or one page of it. Large files come in pages: when \
            `truncated` is true, call again with `offset_bytes` set to `next_offset_bytes`. `content_sha256` comes \
            with a whole file; write_file and edit_file take it as `expected_sha256`, so that nobody's change in \
            between is lost. For a file that is not text ask for `encoding` \"base64\".",
        hints: Hints::Reads,
    },
    Face {
        tool: Tool::Write,
        name: "write_file",
        title: "Create or replace a file",
        description: "Writes a whole file. `mode` \"create\" makes a new file and never overwrites; \"replace\" needs \
            the current `expected_sha256`, or `overwrite` true to replace whatever is there. The new content appears \
            all at once, or not at all. `parents` true makes missing folders. To change a part of a file use \
            edit_file.",
        hints: Hints::Writes { is_idempotent: true },
    },
    Face {
        tool: Tool::Edit,
        name: "edit_file",
        title: "Edit a file",
        description: "Replaces one literal text in a file with another. `old_text` must stand there exactly once, \
            white space and line ends included: copy it from read_file and take enough lines to make it unique, or \
            set `replace_all`. When it is not found, the answer names the closest place.",
        hints: Hints::Writes { is_idempotent: false },
    },
    Face {
        tool: Tool::Exec,
        name: "run_program",
        title: "Run a program",
        description: "Runs a program and waits for its end; everything that it started is killed at `timeout_ms`. \
            There is no shell: `program` is one executable and `args` its arguments, literally. For pipes, globs or \
            variables run `sh` with `args` [\"-c\", \"…\"]. A nonzero `exit_code` is an ordinary result. Nothing can \
            be typed into it later: give its input as `stdin`.",
        hints: Hints::Runs,
    },
    Face {
        tool: Tool::Search,
        name: "search_text",
        title: "Search in files",
        description: "Searches the lines of all text files below a folder, or of one file, for a regular expression \
            in Go's RE2 syntax (no look-around, no back-references); `literal` true searches plain text. `glob` \
            filters by name (`*.rs`) or path (`src/*.rs`, `**/tests/*.py`). Set `ignore_files` to leave out what \
            .gitignore names. When `next_offset` comes back, more matches follow: call again with it as `offset`.",
        hints: Hints::Reads,
    },
    Face {
        tool: Tool::List,
        name: "list_files",
        title: "List files",
        description: "Lists a folder, with the sizes of its files; `recursive` true lists what is below it too, to \
            `max_depth`. `glob` filters as in search_text, and `ignore_files` leaves out what .gitignore names. When \
            `next_offset` comes back, more entries follow: call again with it as `offset`.",
        hints: Hints::Reads,
    },
];

impl Face {
    pub(super) fn only_reads(&self) -> bool {
        matches!(self.hints, Hints::Reads)
    }

    /// A message of the reader of requests, which knows the tool by its name there.
    pub(super) fn in_its_words(&self, message: String) -> String {
        let there = format!("arguments of {}:", self.tool.as_str());
        match message.strip_prefix(&there) {
            Some(mistake) => format!("arguments of {}:{mistake}", self.name),
            None => message,
        }
    }

    /// The tool for `tools/list`. With several roots it takes the member `root` as well.
    pub(super) fn describe(&self, roots: &[String]) -> Described {
        let Some(info) = schema::tools().iter().find(|info| info.name == self.tool.as_str()) else {
            unreachable!("every tool has schemas");
        };
        let mut input = object(&info.arguments_schema);
        if self.tool == Tool::Exec {
            fit_exec(&mut input);
        }
        if roots.len() > 1 {
            offer_roots(&mut input, roots);
        }
        Described::new(self.name, self.description, Arc::new(input))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(object(&info.output_schema)))
            .with_annotations(self.annotations())
    }

    fn annotations(&self) -> ToolAnnotations {
        let annotations = ToolAnnotations::with_title(self.title);
        match self.hints {
            Hints::Reads => annotations.read_only(true).destructive(false).idempotent(true).open_world(false),
            Hints::Writes { is_idempotent } => {
                annotations.read_only(false).destructive(true).idempotent(is_idempotent).open_world(false)
            }
            Hints::Runs => annotations.read_only(false).destructive(true).idempotent(false).open_world(true),
        }
    }
}

/// What the protocol's exec has and this door has not: a stdin that stays open, and the day that a stream may take.
fn fit_exec(input: &mut JsonObject) {
    let Some(Value::Object(properties)) = input.get_mut("properties") else { return };
    properties.remove("stdin_open");
    if let Some(timeout) = properties.get_mut("timeout_ms") {
        let (default, maximum) = (limits::EXEC_TIMEOUT_DEFAULT_MS, limits::EXEC_TIMEOUT_MAX_MS);
        timeout["maximum"] = json!(maximum);
        timeout["description"] = json!(format!(
            "Deadline in milliseconds: default {default}, at most {maximum}; 0 means default."
        ));
    }
}

fn offer_roots(input: &mut JsonObject, roots: &[String]) {
    let Some(Value::Object(properties)) = input.get_mut("properties") else { return };
    let description = format!("The directory to work in, to which paths are relative. Default {}.", roots[0]);
    properties.insert("root".to_owned(), json!({ "enum": roots, "description": description }));
}

/// A schema without what is not for a model: the name of a Rust type in the description, and formats such as `uint64`
/// that validators know nothing of.
fn object(schema: &Value) -> JsonObject {
    let mut schema = schema.clone();
    strip(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            schema.remove("description");
            schema
        }
        _ => JsonObject::new(),
    }
}

fn strip(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| !kind.is_object()) {
                members.remove("format");
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
