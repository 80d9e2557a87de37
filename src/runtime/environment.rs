//! Where the environment of exec children comes from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The flags that name variables, in this order of weight: later ones win.
#[derive(Debug, Default)]
pub struct Sources {
    /// Names to copy from this process.
    pub pass: Vec<String>,
    /// Files of `KEY=VALUE` lines. Empty lines and lines that begin with `#` are passed over.
    pub files: Vec<PathBuf>,
    /// `KEY=VALUE`.
    pub variables: Vec<String>,
    /// What stands before `env` in the names of these flags.
    pub prefix: &'static str,
}

/// A variable that can't be.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// Without `=`, with an empty key, or with a NUL. The value is not shown: it may be a secret.
    #[error("{origin}: {reason}")]
    Variable {
        /// Where it stands.
        origin: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file can't be read.
    #[error("--{prefix}env-file {path}")]
    File {
        /// What stands before `env` in the flag's name.
        prefix: &'static str,
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// What a program needs to find others, its home and its language, and no secret.
const ORDINARY: &[&str] = &["PATH", "HOME", "USER", "SHELL", "LANG", "TMPDIR", "TERM"];

/// The ordinary variables of this process's own environment: `PATH`, `HOME`, `USER`, `SHELL`, `LANG`, `LC_*`, `TMPDIR`
/// and `TERM`. What is not UTF-8 is left out.
pub fn ordinary() -> BTreeMap<String, String> {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let is_ordinary = |name: &str| ORDINARY.contains(&name) || name.starts_with("LC_");
    std::env::vars_os().filter_map(text).filter(|(name, _)| is_ordinary(name)).collect()
}

impl Sources {
    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.pass.is_empty() && self.files.is_empty() && self.variables.is_empty()
    }

    /// The environment that they make.
    ///
    /// # Errors
    /// See [`EnvironmentError`]. A variable to copy that is not set is left out.
    pub fn collect(self) -> Result<BTreeMap<String, String>, EnvironmentError> {
        let mut environment = BTreeMap::new();
        let prefix = self.prefix;
        for name in self.pass {
            if name.is_empty() || name.contains(['=', '\0']) {
                let reason = "a name must not be empty and not contain = or NUL";
                return Err(EnvironmentError::Variable { origin: format!("--env-pass {name:?}"), reason });
            }
            if let Ok(value) = std::env::var(&name) {
                environment.insert(name, value);
            }
        }
        for path in self.files {
            let shown = path.display().to_string();
            let text = std::fs::read_to_string(&path).map_err(|source| EnvironmentError::File {
                prefix,
                path: shown.clone(),
                source,
            })?;
            for (index, line) in
                text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            {
                let (name, value) =
                    split(line, || format!("--{prefix}env-file {shown}, line {}", index + 1))?;
                environment.insert(name, value);
            }
        }
        for variable in self.variables {
            let (name, value) = split(&variable, || format!("--{prefix}env"))?;
            environment.insert(name, value);
        }
        Ok(environment)
    }
}

fn split(variable: &str, origin: impl Fn() -> String) -> Result<(String, String), EnvironmentError> {
    let wrong = |reason| EnvironmentError::Variable { origin: origin(), reason };
    let (name, value) = variable.split_once('=').ok_or_else(|| wrong("a variable must be KEY=VALUE"))?;
    if name.is_empty() {
        return Err(wrong("the key must not be empty"));
    }
    if variable.contains('\0') {
        return Err(wrong("a variable must not contain NUL"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests;
