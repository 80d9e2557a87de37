//! What models are told of the tools. Every parameter is a string, as axe's users know it.

use serde_json::{Map, Value, json};

use crate::config::BuiltIn;
use crate::provider::ToolSpec;

/// The parameter that three tools share when the agent has an artifact directory.
const ARTIFACT: (&str, &str) =
    ("artifact", "\"true\" selects the artifact directory instead of the working directory");

/// What a model is told of a tool.
pub(super) fn spec(tool: BuiltIn) -> ToolSpec {
    let name = tool.as_str();
    match tool {
        BuiltIn::ListDirectory => tool_spec(
            name,
            "Lists the names in a directory, sorted. Names of directories end in /.",
            &[("path", "Directory, relative to the working directory; \".\" for that itself")],
            &[ARTIFACT],
        ),
        BuiltIn::ReadFile => tool_spec(
            name,
            "Reads lines of a text file. Each line is shown as \"N: text\" with its line number.",
            &[("path", "File, relative to the working directory")],
            &[
                ("offset", "First line, counted from 1; default 1"),
                ("limit", "Most lines to return; default 2000"),
                ARTIFACT,
            ],
        ),
        BuiltIn::WriteFile => tool_spec(
            name,
            "Writes a whole file, replacing what was there. Missing directories are made.",
            &[("path", "File, relative to the working directory")],
            &[("content", "The file's new content; empty when left out"), ARTIFACT],
        ),
        BuiltIn::EditFile => tool_spec(
            name,
            "Replaces text in a file. The text must occur exactly once unless replace_all is \"true\".",
            &[
                ("path", "File, relative to the working directory"),
                ("old_string", "The text to replace, exactly as it stands in the file"),
                ("new_string", "What stands there afterwards; empty to delete"),
            ],
            &[("replace_all", "\"true\" replaces every occurrence")],
        ),
        BuiltIn::RunCommand => tool_spec(
            name,
            "Runs a shell command (sh -c) in the working directory and returns its output, stdout and stderr together.",
            &[("command", "The command")],
            &[(
                "timeout",
                "Seconds after which the command and all it started are killed; default: the run's own limit",
            )],
        ),
        BuiltIn::UrlFetch => tool_spec(
            name,
            "Gets a page over http or https and returns its text.",
            &[("url", "The address")],
            &[],
        ),
        BuiltIn::WebSearch => tool_spec(
            name,
            "Searches the web. Returns titles, addresses and snippets.",
            &[("query", "What to search for")],
            &[],
        ),
    }
}

/// The tool that calls other agents, by the names of those that may be called.
pub fn call_agent_spec(sub_agents: &[String]) -> ToolSpec {
    let names = sub_agents.join(", ");
    tool_spec(
        "call_agent",
        &format!("Gives a task to another agent and returns its answer. Agents: {names}"),
        &[
            ("agent", &format!("Which agent; one of: {names}")),
            ("task", "What it shall do. It knows nothing of this conversation"),
        ],
        &[("context", "What it needs to know for it")],
    )
}

fn tool_spec(
    name: &str,
    description: &str,
    required: &[(&str, &str)],
    optional: &[(&str, &str)],
) -> ToolSpec {
    let properties: Map<String, Value> = required
        .iter()
        .chain(optional)
        .map(|(name, description)| {
            ((*name).to_owned(), json!({ "type": "string", "description": description }))
        })
        .collect();
    let required: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({ "type": "object", "properties": properties, "required": required }),
    }
}
