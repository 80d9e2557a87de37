//! The environment variables and the current directory of this process, as a value that tests can make.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What axe knows of its surroundings. Its `Debug` shows names only: values may be keys.
#[derive(Clone)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
    current_dir: PathBuf,
}

impl Environment {
    /// Those of this process. Variables that are not UTF-8 are left out.
    ///
    /// # Errors
    /// The current directory is gone.
    pub fn of_this_process() -> io::Result<Self> {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Ok(Self { variables, home: std::env::home_dir(), current_dir: std::env::current_dir()? })
    }

    /// An environment of just these variables; `HOME` is the home directory.
    pub fn new<'a>(
        current_dir: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let variables: BTreeMap<_, _> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let home = variables.get("HOME").map(PathBuf::from);
        Self { variables, home, current_dir: current_dir.into() }
    }

    /// The same with one variable more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A variable's value. An empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The user's home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The directory that relative paths start from.
    pub fn current_dir(&self) -> &Path {
        &self.current_dir
    }

    /// Expands a leading `~` and every `$NAME` and `${NAME}`. An unset variable is empty; a `$` that no name follows
    /// stays, as does the `~` of another user.
    pub fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        if let (Some(after), Some(home)) = (text.strip_prefix('~'), self.home())
            && (after.is_empty() || after.starts_with('/'))
        {
            expanded.push_str(&home.to_string_lossy());
            rest = after;
        }
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            rest = match Reference::at_start_of(after) {
                Some(Reference { name, rest }) => {
                    expanded.push_str(self.get(name).unwrap_or_default());
                    rest
                }
                None => {
                    expanded.push('$');
                    after
                }
            };
        }
        expanded.push_str(rest);
        expanded
    }

    /// Expands every `${NAME}` and nothing else; a `$` by itself is literal.
    ///
    /// # Errors
    /// The name of a variable that is unset or empty.
    pub fn expand_braced(&self, text: &str) -> Result<String, Unset> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            rest = match after.split_once('}') {
                Some((name, rest)) if is_name(name) => {
                    expanded.push_str(self.get(name).ok_or_else(|| Unset(name.to_owned()))?);
                    rest
                }
                _ => {
                    expanded.push_str("${");
                    after
                }
            };
        }
        expanded.push_str(rest);
        Ok(expanded)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("names", &self.variables.keys())
            .field("current_dir", &self.current_dir)
            .finish_non_exhaustive()
    }
}

/// A variable that a text needs and that has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment variable \"{0}\" is not set or empty")]
pub struct Unset(pub String);

/// A variable's name after a `$`, and what follows it.
struct Reference<'a> {
    name: &'a str,
    rest: &'a str,
}

impl<'a> Reference<'a> {
    fn at_start_of(text: &'a str) -> Option<Self> {
        if let Some(braced) = text.strip_prefix('{') {
            let (name, rest) = braced.split_once('}')?;
            return is_name(name).then_some(Self { name, rest });
        }
        let end = text.find(|c: char| !is_name_char(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        is_name(name).then_some(Self { name, rest })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
