//! Arguments of a tool that its schema wants in headers too, so that the net between can see them.
//!
//! Source: MCP 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters".

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Which arguments go into which headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::plugins) struct ParamHeaders(Vec<(Vec<String>, HeaderName)>);

impl ParamHeaders {
    /// Reads the annotations of an input schema.
    ///
    /// # Errors
    /// An annotation that can't be, with the reason: such a tool must not be used over HTTP.
    pub(in crate::plugins) fn of(schema: &Value) -> Result<Self, String> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut path = Vec::new();
        look(schema, Some(&mut path), &mut found)?;
        for (path, header) in &found {
            if !seen.insert(header.clone()) {
                return Err(format!("{ANNOTATION} of {} is there twice", path.join(".")));
            }
        }
        Ok(Self(found))
    }

    /// The headers of a call.
    pub(in crate::plugins) fn headers(&self, tool: &str, arguments: &Map<String, Value>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.extend(encoded(tool).map(|value| (NAME, value)));
        for (path, header) in &self.0 {
            let value = path.split_first().and_then(|(first, rest)| {
                rest.iter().try_fold(arguments.get(first)?, |value, name| value.get(name))
            });
            let text = match value {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Bool(truth)) => truth.to_string(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            headers.extend(encoded(&text).map(|value| (header.clone(), value)));
        }
        headers
    }
}

/// Looks at a schema and below it. `path` leads here through `properties` alone; elsewhere nothing may be annotated.
fn look(
    schema: &Value,
    mut path: Option<&mut Vec<String>>,
    found: &mut Vec<(Vec<String>, HeaderName)>,
) -> Result<(), String> {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().try_for_each(|item| look(item, None, found)),
        _ => return Ok(()),
    };
    for (name, value) in members {
        match (name.as_str(), value) {
            (ANNOTATION, annotation) => {
                let path = path.as_deref().filter(|path| !path.is_empty());
                let path = path.ok_or_else(|| format!("{ANNOTATION} must stand at a property"))?;
                found.push((path.clone(), annotated(schema, annotation, path)?));
            }
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    match path.as_deref_mut() {
                        Some(path) => {
                            path.push(name.clone());
                            look(schema, Some(path), found)?;
                            path.pop();
                        }
                        None => look(schema, None, found)?,
                    }
                }
            }
            // Names of properties here, not keywords.
            ("$defs" | "definitions" | "dependentSchemas" | "patternProperties", Value::Object(schemas)) => {
                schemas.values().try_for_each(|schema| look(schema, None, found))?;
            }
            // Values, not schemas.
            ("default" | "const" | "enum" | "examples" | "dependentRequired", _) => {}
            (_, other) => look(other, None, found)?,
        }
    }
    Ok(())
}

fn annotated(schema: &Value, annotation: &Value, path: &[String]) -> Result<HeaderName, String> {
    let place = path.join(".");
    let name = annotation.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| format!("{ANNOTATION} of {place} is no name"))?;
    let header = HeaderName::try_from(format!("mcp-param-{name}"));
    let header = header.map_err(|_| format!("{ANNOTATION} of {place}, {name:?}, is no name of a header"))?;
    match schema["type"].as_str() {
        Some("string" | "integer" | "boolean") => Ok(header),
        _ => Err(format!("{ANNOTATION} of {place} needs the type string, integer or boolean")),
    }
}

/// A text as a header can carry it.
fn encoded(text: &str) -> Option<HeaderValue> {
    let is_plain = text.chars().all(|c| matches!(c, ' '..='~'))
        && text.trim_matches(' ') == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let text = if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(text)) };
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests;
