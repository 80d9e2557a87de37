//! Keys that no setting has. They are ignored as ever, but not in silence: a mistyped security key opens an agent.

use toml::de::{DeTable, DeValue};

use self::Shape::{Any, Table, Tables};

/// What may stand below a key.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Any value; what is in it is not looked at.
    Any,
    /// A table of these keys.
    Table(&'static [(&'static str, Shape)]),
    /// An array of such tables.
    Tables(&'static [(&'static str, Shape)]),
    /// A table whose keys are free and whose values are such tables.
    Named(&'static [(&'static str, Shape)]),
}

/// The keys of an agent file.
pub(super) const AGENT: &[(&str, Shape)] = &[
    ("name", Any),
    ("model", Any),
    ("description", Any),
    ("system_prompt", Any),
    ("skill", Any),
    ("files", Any),
    ("workdir", Any),
    ("timeout", Any),
    ("stream", Any),
    ("tools", Any),
    ("allowed_hosts", Any),
    ("sub_agents", Any),
    ("sub_agents_config", Table(&[("max_depth", Any), ("parallel", Any), ("timeout", Any)])),
    ("memory", Table(&[("enabled", Any), ("path", Any), ("last_n", Any), ("max_entries", Any)])),
    (
        "params",
        Table(&[
            ("temperature", Any),
            ("max_tokens", Any),
            ("response_format", Table(&[("type", Any), ("schema", Any)])),
        ]),
    ),
    (
        "retry",
        Table(&[("max_retries", Any), ("backoff", Any), ("initial_delay_ms", Any), ("max_delay_ms", Any)]),
    ),
    ("budget", Table(&[("max_tokens", Any)])),
    ("artifacts", Table(&[("enabled", Any), ("dir", Any), ("default_write", Any)])),
    (
        "mcp_servers",
        Tables(&[
            ("name", Any),
            ("transport", Any),
            ("url", Any),
            ("headers", Any),
            ("command", Any),
            ("args", Any),
            ("env", Any),
        ]),
    ),
];

/// The keys of `config.toml`.
pub(super) const GLOBAL: &[(&str, Shape)] = &[(
    "providers",
    Shape::Named(&[
        ("api_key", Any),
        ("base_url", Any),
        ("region", Any),
        // OpenRouter's attribution, which existing files may hold; nothing is sent of it.
        ("referer", Any),
        ("title", Any),
        ("categories", Any),
    ]),
)];

/// How alike two keys must be for the one to be offered for the other.
const LIKE: f64 = 0.8;

/// An unknown key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// The line it stands on, from 1.
    pub(super) line: usize,
    /// With the names of its tables, dotted.
    key: String,
    /// What was probably meant.
    advice: Option<String>,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unknown key {:?} is ignored", self.key)?;
        match &self.advice {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

/// The unknown keys of a file that parses, in the order of its lines.
pub(super) fn unknown_keys(text: &str, known: &'static [(&'static str, Shape)]) -> Vec<Unknown> {
    let Ok(document) = DeTable::parse(text) else { return Vec::new() };
    let mut search = Search { text, root: known, found: Vec::new() };
    search.table(document.get_ref(), known, "");
    search.found.sort_by_key(|unknown| unknown.line);
    search.found
}

/// The line of a byte, from 1.
pub(super) fn line_of(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|byte| *byte == b'\n').count()
}

struct Search<'a> {
    text: &'a str,
    root: &'static [(&'static str, Shape)],
    found: Vec<Unknown>,
}

impl Search<'_> {
    fn table(&mut self, table: &DeTable<'_>, known: &[(&str, Shape)], prefix: &str) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            match known.iter().find(|(candidate, _)| *candidate == name) {
                Some((_, shape)) => self.value(value.get_ref(), *shape, &format!("{prefix}{name}.")),
                None => self.found.push(Unknown {
                    line: line_of(self.text, key.span().start),
                    key: format!("{prefix}{name}"),
                    advice: self.advice(name, known, prefix),
                }),
            }
        }
    }

    fn value(&mut self, value: &DeValue<'_>, shape: Shape, prefix: &str) {
        match (shape, value) {
            (Table(known), DeValue::Table(table)) => self.table(table, known, prefix),
            (Tables(known), DeValue::Array(items)) => {
                for item in items {
                    self.value(item.get_ref(), Table(known), prefix);
                }
            }
            (Shape::Named(known), DeValue::Table(table)) => {
                for (name, item) in table {
                    self.value(item.get_ref(), Table(known), &format!("{prefix}{}.", name.get_ref()));
                }
            }
            // A value of the wrong type is another check's concern.
            (Any | Table(_) | Tables(_) | Shape::Named(_), _) => {}
        }
    }

    fn advice(&self, name: &str, known: &[(&str, Shape)], prefix: &str) -> Option<String> {
        if !prefix.is_empty() && self.root.iter().any(|(candidate, _)| *candidate == name) {
            return Some(format!("{name:?} belongs at the top of the file, before the first [table]"));
        }
        let closest = known
            .iter()
            .map(|(candidate, _)| (strsim::jaro_winkler(name, candidate), *candidate))
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .filter(|(likeness, _)| *likeness >= LIKE);
        if let Some((_, candidate)) = closest {
            return Some(format!("did you mean {:?}?", format!("{prefix}{candidate}")));
        }
        let elsewhere = self.root.iter().find_map(|(table, shape)| match shape {
            Table(keys) if keys.iter().any(|(key, _)| *key == name) => Some(table),
            _ => None,
        });
        elsewhere.map(|table| format!("did you mean {:?}?", format!("{table}.{name}")))
    }
}
