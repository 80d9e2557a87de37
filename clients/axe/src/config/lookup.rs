//! Finding agents and loading them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::document::Document;
use super::unknown::{self, line_of, unknown_keys};
use super::{Agent, Directories, Environment, Error, directories};

/// Where agents are looked for, first to last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    named: Option<PathBuf>,
    local: PathBuf,
    global: PathBuf,
}

/// A file that was found and is in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub agent: Agent,
    /// Lines for stderr: unknown keys, a name that is not the file's.
    pub warnings: Vec<String>,
}

impl Lookup {
    /// The directory of `--agents-dir`, if any, that of the current directory, and the global one.
    pub fn new(agents_dir: Option<&str>, environment: &Environment, directories: &Directories) -> Self {
        let named = agents_dir
            .filter(|dir| !dir.is_empty())
            .map(|dir| directories::absolute(environment.current_dir(), dir));
        Self { named, local: local_agents(environment.current_dir()), global: directories.agents() }
    }

    /// Where the sub-agents of an agent are looked for: the local directory is that of its workdir.
    #[must_use]
    pub fn from_workdir(&self, workdir: &Path) -> Self {
        Self { local: local_agents(workdir), ..self.clone() }
    }

    /// The directories in their order.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.named.iter().chain([&self.local, &self.global]).map(PathBuf::as_path)
    }

    /// Where a new agent's file goes: the named directory, else the local one if it is there, else the global one.
    pub fn directory_for_new(&self) -> &Path {
        match &self.named {
            Some(named) => named,
            None if self.local.is_dir() => &self.local,
            None => &self.global,
        }
    }

    /// The file of an agent, in order or not.
    ///
    /// # Errors
    /// The name is no file's stem, or no directory has the file.
    pub fn find(&self, name: &str) -> Result<PathBuf, Error> {
        check_name(name)?;
        let file = format!("{name}.toml");
        self.directories()
            .map(|directory| directory.join(&file))
            .find(|path| path.exists())
            .ok_or_else(|| Error::AgentNotFound { name: name.to_owned() })
    }

    /// Loads an agent. The first directory that has its file decides, also when that file is broken.
    ///
    /// # Errors
    /// As [`Lookup::find`]; the file can't be read, is no TOML or breaks a rule.
    pub fn load(&self, name: &str) -> Result<Loaded, Error> {
        let path = self.find(name)?;
        let text = std::fs::read_to_string(&path).map_err(|source| match source.kind() {
            ErrorKind::InvalidData => {
                Error::AgentSyntax { name: name.to_owned(), detail: "it is not UTF-8".to_owned() }
            }
            _ => Error::Io { doing: "can't read", path: path.clone(), source },
        })?;
        let agent = parse(name, &text)?;
        let mut warnings: Vec<_> = unknown_keys(&text, unknown::AGENT)
            .into_iter()
            .map(|unknown| format!("{}:{}: {unknown}", path.display(), unknown.line))
            .collect();
        if agent.name != name {
            warnings.push(format!(
                "{}: its name is {:?} but it is found as {name:?}, after its file",
                path.display(),
                agent.name
            ));
        }
        Ok(Loaded { path, agent, warnings })
    }

    /// Every agent by the name it is found under. A broken file hides those of later directories, as it does when the
    /// agent is run.
    pub fn list(&self) -> BTreeMap<String, Result<Loaded, Error>> {
        let mut agents = BTreeMap::new();
        let files = self.directories().filter_map(|directory| std::fs::read_dir(directory).ok()).flatten();
        for file in files.flatten() {
            let path = file.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if let (Some(name), Some("toml")) = (stem, path.extension().and_then(|ext| ext.to_str()))
                && !path.is_dir()
                && !agents.contains_key(name)
            {
                agents.insert(name.to_owned(), self.load(name));
            }
        }
        agents
    }
}

/// Refuses what is not a file's stem.
///
/// # Errors
/// The name is blank, or would lead out of its directory.
pub fn check_name(name: &str) -> Result<(), Error> {
    let refuse = |rule| Err(Error::AgentName { name: name.to_owned(), rule });
    if name.trim().is_empty() {
        return refuse("it is blank");
    }
    if name.contains(['/', '\\']) || name.contains("..") {
        return refuse("it must not contain \"/\", \"\\\" or \"..\"");
    }
    if name.contains(char::is_control) {
        return refuse("it must not contain control characters");
    }
    Ok(())
}

/// Parses and validates the text of an agent file.
///
/// # Errors
/// It is no TOML, a value has the wrong type, or a rule is broken.
pub fn parse(name: &str, text: &str) -> Result<Agent, Error> {
    let document: Document = toml::from_str(text)
        .map_err(|error| Error::AgentSyntax { name: name.to_owned(), detail: detail(text, &error) })?;
    document.validate()
}

/// One line: where, and what.
pub(super) fn detail(text: &str, error: &toml::de::Error) -> String {
    let message = crate::text::one_line(error.message());
    match error.span() {
        Some(span) => format!("line {}: {message}", line_of(text, span.start)),
        None => message,
    }
}

fn local_agents(directory: &Path) -> PathBuf {
    directory.join("axe").join("agents")
}
