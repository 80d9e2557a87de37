//! The tools that a server advertises: all pages of its list, and for how long they hold.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axlr_protocol::limits;
use axlr_protocol::tool::{Plain, PluginTool};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::log::Log;
use super::manifest;
use super::rpc::{self, Trouble};
use crate::tools::quoted;

/// A tool as its server describes it.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    description: Option<String>,
    input_schema: Value,
    output_schema: Option<Value>,
}

/// What a server advertised, and until when that may be believed.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) tools: Arc<[Tool]>,
    /// How often the tools had changed when the listing began.
    changes: u64,
    began: Instant,
    /// Until when; None is until they change.
    until: Option<Instant>,
}

/// A list on its way: page after page.
pub(super) struct Listing {
    tools: Vec<Tool>,
    names: HashSet<String>,
    cursors: HashSet<String>,
    pages: usize,
    changes: u64,
    began: Instant,
    until: Option<Instant>,
}

/// One page. What else a server puts there is not looked at.
#[derive(Deserialize)]
struct Page {
    tools: Vec<Plain>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
    /// How long it holds, in milliseconds; of the revision 2026-07-28.
    #[serde(rename = "ttlMs")]
    ttl_ms: Option<f64>,
}

/// A list that holds for a year holds for good.
const LONGEST_TTL_SECONDS: f64 = 365.0 * 24.0 * 3_600.0;

impl Listing {
    pub(super) fn begin(changes: u64) -> Self {
        Self {
            tools: Vec::new(),
            names: HashSet::new(),
            cursors: HashSet::new(),
            pages: 0,
            changes,
            began: Instant::now(),
            until: None,
        }
    }

    /// Takes a page. `Some` is the cursor of the next one. `known` names the tools that the SDK found fit to be used, if
    /// it understood the page: over HTTP a tool whose annotations for headers are wrong must not be called.
    ///
    /// # Errors
    /// The page is none, its cursor was there before, or there are too many.
    pub(super) fn page(
        &mut self,
        text: &RawValue,
        known: Option<&HashSet<String>>,
        log: &Log,
    ) -> Result<Option<String>, Trouble> {
        let page: Page = rpc::object(text)
            .map_err(|error| Trouble::Protocol(format!("its list of tools is not understood: {error}")))?;
        self.pages += 1;
        if let Some(milliseconds) = page.ttl_ms {
            let until = Instant::now()
                + Duration::from_secs_f64((milliseconds / 1e3).clamp(0.0, LONGEST_TTL_SECONDS));
            self.until = Some(self.until.map_or(until, |earlier| earlier.min(until)));
        }
        for Plain(tool) in page.tools {
            self.take(tool, known, log);
        }
        let Some(cursor) = page.next_cursor else { return Ok(None) };
        if !self.cursors.insert(cursor.clone()) {
            let cursor = quoted(&cursor);
            return Err(Trouble::Protocol(format!("its list of tools repeats the cursor {cursor}")));
        }
        if self.pages >= limits::PLUGIN_PAGES_MAX {
            let most = limits::PLUGIN_PAGES_MAX;
            return Err(Trouble::Protocol(format!("its list of tools has more than {most} pages")));
        }
        Ok(Some(cursor))
    }

    pub(super) fn end(self) -> Listed {
        Listed { tools: self.tools.into(), changes: self.changes, began: self.began, until: self.until }
    }

    fn take(&mut self, tool: Value, known: Option<&HashSet<String>>, log: &Log) {
        let Value::Object(mut members) = tool else {
            log.note(format_args!("one of its tools is no object; it was left out"));
            return;
        };
        let name = match members.remove("name") {
            Some(Value::String(name)) if manifest::is_tool_name(&name) => name,
            other => {
                let name = quoted(other.as_ref().and_then(Value::as_str).unwrap_or_default());
                let rule = manifest::tool_name_rule();
                log.note(format_args!("its tool {name} was left out: a name {rule}"));
                return;
            }
        };
        if known.is_some_and(|known| !known.contains(&name)) {
            log.note(format_args!("its tool {name} was left out: its annotations for headers are wrong"));
            return;
        }
        if !self.names.insert(name.clone()) {
            log.note(format_args!("its tool {name} is there twice; the first one counts"));
            return;
        }
        let Some(input_schema @ Value::Object(_)) = members.remove("inputSchema") else {
            log.note(format_args!("its tool {name} was left out: it has no input schema"));
            return;
        };
        let description = match members.remove("description") {
            Some(Value::String(description)) => Some(description),
            _ => None,
        };
        let output_schema = members.remove("outputSchema").filter(|schema| !schema.is_null());
        self.tools.push(Tool { name, description, input_schema, output_schema });
    }
}

impl Listed {
    /// Whether it still holds, after so many changes.
    pub(super) fn is_fresh(&self, changes: u64) -> bool {
        self.changes == changes && self.until.is_none_or(|until| Instant::now() < until)
    }

    /// Whether it was asked for no earlier than that: who waited meanwhile need not ask again.
    pub(super) fn began_after(&self, moment: Instant) -> bool {
        self.began >= moment
    }

    /// Whether there is a tool of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
}

impl Tool {
    /// The tool as `plugins.list` shows it.
    pub(super) fn shown(&self, plugin_id: &str) -> PluginTool {
        PluginTool {
            plugin_id: plugin_id.to_owned(),
            tool_name: self.name.clone(),
            description: self.description.clone(),
            input_schema: self.input_schema.clone(),
            output_schema: self.output_schema.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
