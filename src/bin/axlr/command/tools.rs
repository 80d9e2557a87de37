//! `axlr tools`: the tools with their arguments, as their schemas tell them.

use std::io::Write as _;

use anyhow::bail;
use axlr_client::tool::ToolInfo;
use serde_json::Value;

use super::arguments::closest;
use super::human::{Side, table};
use super::screen::{Palette, Screen};
use crate::EXIT_COMPLETED;
use crate::flags::ToolsFlags;

/// One argument of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_required: bool,
    pub(super) description: String,
}

/// What an argument takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// One of these texts.
    Choice(Vec<String>),
    Integer,
    Boolean,
    /// A list of texts.
    Texts,
    /// An object of texts.
    TextMap,
    /// Any other object.
    Object,
}

impl Kind {
    fn shown(&self) -> String {
        match self {
            Kind::Text => "text".to_owned(),
            Kind::Choice(choices) => choices.join("|"),
            Kind::Integer => "integer".to_owned(),
            Kind::Boolean => "true|false".to_owned(),
            Kind::Texts => "list".to_owned(),
            Kind::TextMap => "name=value".to_owned(),
            Kind::Object => "object".to_owned(),
        }
    }
}

/// The members of an arguments schema, the required ones first.
pub(super) fn members(schema: &Value) -> Vec<Member> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut members: Vec<Member> = properties
        .map(|(name, schema)| Member {
            name: name.clone(),
            kind: kind(schema),
            is_required: required.contains(&name.as_str()),
            description: schema["description"].as_str().unwrap_or_default().to_owned(),
        })
        .collect();
    let place = |member: &Member| required.iter().position(|name| *name == member.name).unwrap_or(usize::MAX);
    members.sort_by_key(place);
    members
}

fn kind(schema: &Value) -> Kind {
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        Value::String(name) => vec![name.as_str()],
        _ => Vec::new(),
    };
    let mut choices = Vec::new();
    collect_choices(schema, &mut choices);
    match types.iter().find(|name| **name != "null") {
        _ if !choices.is_empty() => Kind::Choice(choices),
        Some(&"integer") => Kind::Integer,
        Some(&"boolean") => Kind::Boolean,
        Some(&"array") => Kind::Texts,
        Some(&"object") if schema["additionalProperties"]["type"] == "string" => Kind::TextMap,
        Some(&"object") => Kind::Object,
        _ => Kind::Text,
    }
}

/// The constants of `enum`, `const` and of the alternatives.
fn collect_choices(schema: &Value, choices: &mut Vec<String>) {
    choices.extend(schema["const"].as_str().map(str::to_owned));
    for listed in schema["enum"].as_array().into_iter().flatten() {
        choices.extend(listed.as_str().map(str::to_owned));
    }
    for alternatives in [&schema["anyOf"], &schema["oneOf"]] {
        for alternative in alternatives.as_array().into_iter().flatten() {
            collect_choices(alternative, choices);
        }
    }
}

/// Runs `axlr tools`.
pub(super) async fn run(flags: &ToolsFlags) -> anyhow::Result<u8> {
    let info = super::connect(&flags.connection).await?.info().await?;
    let names: Vec<&str> = info.tools.iter().map(|tool| tool.name.as_str()).collect();
    for wanted in &flags.tools {
        if !names.contains(&wanted.as_str()) {
            let closest = closest(wanted, &names).unwrap_or_default();
            bail!("axlrd has no tool {wanted:?}; did you mean {closest:?}? It has {}", names.join(", "));
        }
    }
    let is_wanted = |tool: &&ToolInfo| flags.tools.is_empty() || flags.tools.contains(&tool.name);
    let tools: Vec<&ToolInfo> = info.tools.iter().filter(is_wanted).collect();
    let mut screen = Screen::open();
    if flags.connection.json {
        writeln!(screen.out, "{}", serde_json::to_string(&tools)?)?;
    } else {
        let shown: Vec<String> = tools.into_iter().map(|tool| describe(tool, screen.look.palette)).collect();
        write!(screen.out, "{}", shown.join("\n"))?;
    }
    screen.flush()?;
    Ok(EXIT_COMPLETED)
}

fn describe(tool: &ToolInfo, palette: Palette) -> String {
    let Palette { strong, .. } = palette;
    let mut text = format!("{strong}{}{strong:#}  {}\n", tool.name, tool.description);
    let rows: Vec<Vec<String>> = members(&tool.arguments_schema)
        .into_iter()
        .map(|member| {
            let need = if member.is_required { "required" } else { "" };
            vec![member.name, member.kind.shown(), need.to_owned(), member.description]
        })
        .collect();
    for line in table(&[Side::Left; 4], &rows) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}
