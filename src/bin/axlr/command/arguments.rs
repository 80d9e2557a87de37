//! From words on the command line to the arguments of a tool.
//!
//! The tool's own schema says which keys there are and which type each takes, so that a tool that gains an argument has
//! it here at once.

use std::io::Read as _;

use anyhow::{Context as _, bail};
use axlr_protocol::decode::{self, Door, Malformed};
use axlr_protocol::{Call, Encoding, Tool, schema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::tools::{Kind, Member, members};

#[cfg(test)]
mod tests;

/// The call that the words mean. The inner error is that of a malformed request, which is the daemon's own words about
/// arguments that have the right form for the command line.
pub(super) fn call(
    tool: Tool,
    words: &[String],
    program: &[String],
) -> anyhow::Result<Result<Call, Malformed>> {
    let text = text(tool, words, program)?;
    if let Err(error) = serde_json::from_str::<&RawValue>(&text) {
        let message = format!("the arguments are not one JSON object: {error}");
        return Ok(Err(Malformed { request_id: String::new(), tool: Some(tool), message }));
    }
    // The strict reader is the one that the daemon has. A call that no stream carries gets its id from the client.
    let document = format!(
        r#"{{"protocol_version":1,"request_id":"call","tool":"{}","stream":true,"arguments":{text}}}"#,
        tool.as_str()
    );
    let request = decode::request(Encoding::Json, document.as_bytes(), Door::Socket);
    Ok(request.map(|request| request.call))
}

/// The arguments as a JSON text.
fn text(tool: Tool, words: &[String], program: &[String]) -> anyhow::Result<String> {
    if !program.is_empty() && tool != Tool::Exec {
        bail!("a program after -- is for exec; {} takes key=value", tool.as_str());
    }
    match words {
        [json] if json.trim_start().starts_with('{') => {
            if !program.is_empty() {
                bail!("give the program either in the JSON or after --");
            }
            Ok(json.clone())
        }
        [file] if file.starts_with('@') => text_of(file, &read_file(&file[1..])?),
        words => Ok(Value::Object(pairs(tool, words, program)?).to_string()),
    }
}

fn pairs(tool: Tool, words: &[String], program: &[String]) -> anyhow::Result<Map<String, Value>> {
    let members = members_of(tool);
    let mut arguments = Map::new();
    if let [program, rest @ ..] = program {
        arguments.insert("program".to_owned(), Value::from(program.as_str()));
        if !rest.is_empty() {
            arguments.insert("args".to_owned(), Value::from(rest));
        }
    }
    let is_base64 = tool == Tool::Write && words.iter().any(|word| word == "encoding=base64");
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            bail!("expected key=value, or one JSON object, got {word:?}");
        };
        let Some(member) = members.iter().find(|member| member.name == key) else {
            bail!(unknown(tool, key, &members));
        };
        let value = match value.strip_prefix('@') {
            Some(plain) if plain.starts_with('@') => plain.to_owned(),
            // A file's own bytes: whoever wants to write them as they are has not encoded them.
            Some(file) if is_base64 && key == "content" => BASE64.encode(read_file(file)?),
            Some(file) => text_of(word, &read_file(file)?)?,
            None => value.to_owned(),
        };
        put(&mut arguments, member, &value)?;
    }
    Ok(arguments)
}

fn members_of(tool: Tool) -> Vec<Member> {
    let info = schema::tools().iter().find(|info| info.name == tool.as_str());
    info.map(|info| members(&info.arguments_schema)).unwrap_or_default()
}

/// Adds one value; lists and objects grow, everything else is given once.
fn put(arguments: &mut Map<String, Value>, member: &Member, value: &str) -> anyhow::Result<()> {
    let key = member.name.as_str();
    let value = typed(member, value)?;
    match (arguments.get_mut(key), value) {
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (Some(Value::Object(items)), Value::Object(more)) => {
            for (name, value) in more {
                if items.insert(name.clone(), value).is_some() {
                    bail!("{key}: {name:?} is given twice");
                }
            }
        }
        (Some(_), _) => bail!("{key} is given twice"),
        (None, value) => {
            arguments.insert(key.to_owned(), value);
        }
    }
    Ok(())
}

fn typed(member: &Member, value: &str) -> anyhow::Result<Value> {
    let key = member.name.as_str();
    match &member.kind {
        Kind::Text => Ok(Value::from(value)),
        Kind::Choice(choices) => {
            if !choices.iter().any(|choice| choice == value) {
                bail!("{key} takes {}, got {value:?}", choices.join(", "));
            }
            Ok(Value::from(value))
        }
        Kind::Integer => match value.trim().parse::<i64>() {
            Ok(number) => Ok(Value::from(number)),
            Err(_) => bail!("{key} takes a whole number, got {value:?}"),
        },
        Kind::Boolean => match value.trim() {
            "true" => Ok(Value::from(true)),
            "false" => Ok(Value::from(false)),
            _ => bail!("{key} takes true or false, got {value:?}"),
        },
        // An item may begin with a bracket, so only what is an array of strings is taken for one.
        Kind::Texts => match serde_json::from_str::<Vec<String>>(value) {
            Ok(items) => Ok(Value::from(items)),
            Err(_) => Ok(Value::from(vec![value])),
        },
        Kind::TextMap if !value.trim_start().starts_with('{') => match value.split_once('=') {
            Some((name, value)) => Ok(Value::Object(Map::from_iter([(name.to_owned(), value.into())]))),
            None => bail!("{key} takes NAME=VALUE or a JSON object, got {value:?}"),
        },
        Kind::TextMap | Kind::Object => match serde_json::from_str(value) {
            Ok(Value::Object(object)) => Ok(Value::Object(object)),
            Ok(_) => bail!("{key} takes a JSON object, got {value:?}"),
            Err(error) => bail!("{key} takes a JSON object: {error}"),
        },
    }
}

fn unknown(tool: Tool, key: &str, members: &[Member]) -> String {
    let tool = tool.as_str();
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    match closest(key, &names) {
        Some(name) => {
            format!("{tool} has no argument {key:?}; did you mean {name:?}? It takes {}", names.join(", "))
        }
        None => format!("{tool} takes no arguments, got {key:?}"),
    }
}

/// The name that is most like the one that was given.
pub(super) fn closest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    let likeness = |name: &&&str| (strsim::jaro_winkler(given, name) * 1e6) as u64;
    names.iter().max_by_key(likeness).copied()
}

/// What a file, or stdin, holds.
fn read_file(name: &str) -> anyhow::Result<Vec<u8>> {
    if name == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("stdin can't be read")?;
        return Ok(bytes);
    }
    std::fs::read(name).with_context(|| format!("@{name}"))
}

fn text_of(word: &str, bytes: &[u8]) -> anyhow::Result<String> {
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => bail!("{word}: the file is not UTF-8 text (write takes any bytes with encoding=base64)"),
    }
}
