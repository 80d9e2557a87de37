//! The tools of the workspace's plugins, under names that every host takes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use axlr_protocol::tool::PluginTool;
use rmcp::model::{JsonObject, Tool as Described};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// Longest name of a tool that hosts are known to take.
const NAME_MAX: usize = 64;
/// Hexadecimal digits of a digest that keep changed names apart.
const DIGEST_DIGITS: usize = 8;

/// Which plugin's tool a name means. Filled by each listing.
#[derive(Debug, Default)]
pub(super) struct Plugins(Mutex<BTreeMap<String, Named>>);

/// A tool of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) plugin: String,
    pub(super) tool: String,
}

impl Plugins {
    /// Takes what the plugins offer now, and describes it. A name that is taken already is left out, with a line in the
    /// log.
    pub(super) fn renew(&self, tools: Vec<PluginTool>) -> Vec<Described> {
        let mut names = BTreeMap::new();
        let mut described = Vec::new();
        for tool in tools {
            let name = name_of(&tool.plugin_id, &tool.tool_name);
            let named = Named { plugin: tool.plugin_id.clone(), tool: tool.tool_name.clone() };
            if names.contains_key(&name) {
                tracing::warn!(name, "two tools of plugins come to the same name; the second is left out");
                continue;
            }
            described.push(describe(name.clone(), tool));
            names.insert(name, named);
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
        described
    }

    pub(super) fn find(&self, name: &str) -> Option<Named> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

/// `plugin__tool`, with a dot as an underscore and at most [`NAME_MAX`] bytes. A name that had to be changed ends in a
/// digest of what it was, so that it stays the same from start to start and differs from its neighbours.
fn name_of(plugin: &str, tool: &str) -> String {
    let full = format!("{plugin}__{tool}");
    if full.len() <= NAME_MAX && !full.contains('.') {
        return full;
    }
    let mut name = full.replace('.', "_");
    // Both parts are ASCII.
    name.truncate(NAME_MAX - DIGEST_DIGITS - 1);
    name.push('_');
    for byte in &Sha256::digest(full.as_bytes())[..DIGEST_DIGITS / 2] {
        // A string takes everything.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

fn describe(name: String, tool: PluginTool) -> Described {
    let input = match tool.input_schema {
        Value::Object(schema) => schema,
        // Not a schema of arguments: any object then.
        _ => JsonObject::from_iter([("type".to_owned(), Value::from("object"))]),
    };
    let described = Described::new_with_raw(name, tool.description.map(Into::into), Arc::new(input));
    match tool.output_schema {
        Some(Value::Object(schema)) => described.with_raw_output_schema(Arc::new(schema)),
        _ => described,
    }
}
