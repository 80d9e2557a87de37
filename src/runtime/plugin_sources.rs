//! Where the plugins of the command line come from: manifests, their environments, their headers.

use std::path::{Path, PathBuf};

use super::environment::{self, EnvironmentError};
use super::{ByPlugin, PluginSetup, SetupError};

/// The flags about plugins. Of two that name the same variable the later one wins, and `variables` win over `files`.
#[derive(Debug, Default)]
pub struct Sources {
    /// Absolute paths.
    pub manifests: Vec<PathBuf>,
    /// `ID:FILE`, each a file of `KEY=VALUE` lines.
    pub files: Vec<String>,
    /// `ID:KEY=VALUE`.
    pub variables: Vec<String>,
    /// `ID:NAME=@FILE` or `ID:NAME=$VARIABLE`. A secret never stands on a command line, where everybody can read it.
    pub headers: Vec<String>,
}

/// A flag about plugins that can't be.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Not of the form that the flag has. What stands there is not shown: it may hold a secret.
    #[error("{flag}: must be {form}")]
    Form {
        /// The flag.
        flag: &'static str,
        /// What it takes.
        form: &'static str,
    },
    /// A variable that can't be.
    #[error("plugin {id}")]
    Environment {
        /// For which plugin.
        id: String,
        /// What is wrong.
        source: EnvironmentError,
    },
    /// The file with a header's value can't be read.
    #[error("--plugin-header {name}=@{path}")]
    HeaderFile {
        /// The plugin and the header.
        name: String,
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The variable with a header's value is not set.
    #[error("--plugin-header {name}=${variable}: the variable is not set, or not text")]
    HeaderVariable {
        /// The plugin and the header.
        name: String,
        /// The variable.
        variable: String,
    },
    /// They are well-formed, and do not go together.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// What the flags say, every file but the manifests read.
#[derive(Default)]
pub struct Collected {
    /// Paths of manifests.
    pub manifests: Vec<PathBuf>,
    /// Environments.
    pub env: ByPlugin,
    /// Headers.
    pub headers: ByPlugin,
}

impl Sources {
    /// Reads everything but the manifests.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn collect(self) -> Result<Collected, SourceError> {
        let mut by_plugin: std::collections::BTreeMap<String, environment::Sources> = Default::default();
        for file in self.files {
            let (id, file) = split(&file, "--plugin-env-file", "ID:FILE")?;
            by_plugin.entry(id).or_default().files.push(PathBuf::from(file));
        }
        for variable in self.variables {
            let (id, variable) = split(&variable, "--plugin-env", "ID:KEY=VALUE")?;
            by_plugin.entry(id).or_default().variables.push(variable);
        }
        let mut env = ByPlugin::new();
        for (id, sources) in by_plugin {
            let sources = environment::Sources { prefix: "plugin-", ..sources };
            let variables =
                sources.collect().map_err(|source| SourceError::Environment { id: id.clone(), source })?;
            env.insert(id, variables);
        }
        let mut headers = ByPlugin::new();
        for header in self.headers {
            let (id, name, value) = self::header(&header)?;
            headers.entry(id).or_default().insert(name, value);
        }
        Ok(Collected { manifests: self.manifests, env, headers })
    }

    /// Reads everything, and checks that it goes together.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn read(self) -> Result<PluginSetup, SourceError> {
        let Collected { manifests, env, headers } = self.collect()?;
        Ok(PluginSetup::read(&manifests, env, headers)?)
    }
}

fn split(text: &str, flag: &'static str, form: &'static str) -> Result<(String, String), SourceError> {
    match text.split_once(':') {
        Some((id, rest)) if !id.is_empty() && !rest.is_empty() => Ok((id.to_owned(), rest.to_owned())),
        _ => Err(SourceError::Form { flag, form }),
    }
}

fn header(text: &str) -> Result<(String, String, String), SourceError> {
    let (flag, form) = ("--plugin-header", "ID:NAME=@FILE or ID:NAME=$VARIABLE");
    let (id, rest) = split(text, flag, form)?;
    let (name, source) = rest.split_once('=').ok_or(SourceError::Form { flag, form })?;
    let shown = format!("{id}:{name}");
    let value = match (source.strip_prefix('@'), source.strip_prefix('$')) {
        (Some(path), _) if !path.is_empty() => {
            let fault =
                |source| SourceError::HeaderFile { name: shown.clone(), path: path.to_owned(), source };
            header_file(Path::new(path)).map_err(fault)?
        }
        (_, Some(variable)) if !variable.is_empty() => std::env::var(variable)
            .map_err(|_| SourceError::HeaderVariable { name: shown, variable: variable.to_owned() })?,
        _ => return Err(SourceError::Form { flag, form }),
    };
    Ok((id, name.to_owned(), value))
}

/// Editors end a file with a line end, which is no part of a header.
fn header_file(path: &Path) -> std::io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests;
