//! `config.toml`: keys and addresses of providers.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use super::unknown::{self, unknown_keys};
use super::{Error, lookup};
use crate::secret::Secret;

/// What `config.toml` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Global {
    /// By the provider's name.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Lines for stderr: unknown keys.
    pub warnings: Vec<String>,
}

/// One of `[providers.<name>]`; an empty value counts as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The key.
    pub api_key: Option<Secret>,
    /// Where it is.
    pub base_url: Option<String>,
    /// The region of Bedrock.
    pub region: Option<String>,
}

impl Global {
    /// Reads the file; a missing one says nothing.
    ///
    /// # Errors
    /// It can't be read, is no TOML, or has a value of the wrong type.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(Error::Io { doing: "can't read", path: path.to_owned(), source }),
        };
        let providers =
            parse(&text).map_err(|Fault(detail)| Error::ConfigSyntax { path: path.to_owned(), detail })?;
        let warnings = unknown_keys(&text, unknown::GLOBAL)
            .into_iter()
            .map(|unknown| format!("{}:{}: {unknown}", path.display(), unknown.line))
            .collect();
        Ok(Self { providers, warnings })
    }
}

/// What is wrong. The texts of serde would quote the value, which may be a key: this one names keys and types only.
#[derive(Debug)]
struct Fault(String);

fn parse(text: &str) -> Result<BTreeMap<String, ProviderSettings>, Fault> {
    let mut document: toml::Table =
        toml::from_str(text).map_err(|error| Fault(lookup::detail(text, &error)))?;
    let Some(providers) = document.remove("providers") else { return Ok(BTreeMap::new()) };
    let providers = table("providers", providers)?;
    let provider = |(name, value): (String, toml::Value)| {
        let key = format!("providers.{name}");
        let mut members = table(&key, value)?;
        let mut text = |member: &str| match members.remove(member) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(other) => Err(wrong_type(format_args!("{key}.{member}"), "a string", &other)),
        };
        let settings = ProviderSettings {
            api_key: text("api_key")?.map(Secret::new),
            base_url: text("base_url")?,
            region: text("region")?,
        };
        Ok((name, settings))
    };
    providers.into_iter().map(provider).collect()
}

fn table(key: &str, value: toml::Value) -> Result<toml::Table, Fault> {
    match value {
        toml::Value::Table(table) => Ok(table),
        other => Err(wrong_type(format_args!("{key}"), "a table", &other)),
    }
}

fn wrong_type(key: fmt::Arguments<'_>, wanted: &str, value: &toml::Value) -> Fault {
    Fault(format!("{key} must be {wanted}, not {}", value.type_str()))
}
