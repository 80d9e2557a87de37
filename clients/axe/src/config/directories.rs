//! Where axe keeps its files. Looking a directory up creates nothing.

use std::path::{Path, PathBuf};

use super::{Environment, Error};

/// The three directories of axe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// Agents, skills and `config.toml`.
    pub config: PathBuf,
    /// Memories.
    pub data: PathBuf,
    /// Artifacts of runs that name no directory for them.
    pub cache: PathBuf,
}

impl Directories {
    /// The XDG variables decide; without them the usual places in the home directory.
    ///
    /// # Errors
    /// A variable is unset and there is no home directory.
    pub fn of(environment: &Environment) -> Result<Self, Error> {
        let usual_config = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
        Ok(Self {
            config: directory(environment, "XDG_CONFIG_HOME", usual_config)?,
            data: directory(environment, "XDG_DATA_HOME", ".local/share")?,
            cache: directory(environment, "XDG_CACHE_HOME", ".cache")?,
        })
    }

    /// The agents that every workdir sees.
    pub fn agents(&self) -> PathBuf {
        self.config.join("agents")
    }

    /// The global settings.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

fn directory(environment: &Environment, variable: &'static str, usual: &str) -> Result<PathBuf, Error> {
    if let Some(base) = environment.get(variable) {
        return Ok(environment.current_dir().join(base).join("axe"));
    }
    let home = environment.home().ok_or(Error::NoHome { variable })?;
    Ok(home.join(usual).join("axe"))
}

/// `path` from `base` if it is relative, without `.` components.
pub(crate) fn absolute(base: &Path, path: impl AsRef<Path>) -> PathBuf {
    base.join(path).components().collect()
}

/// Makes a directory and its parents, open to be read by all.
pub(crate) fn make(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.create(path)
}
