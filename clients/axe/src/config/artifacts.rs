//! The artifact directory of a run.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Agent, Directories, Environment, Error, directories};

/// The variable that tells commands and sub-agents where artifacts go.
pub const ARTIFACT_DIR_VARIABLE: &str = "AXE_ARTIFACT_DIR";

/// Where artifacts go. Nothing is made until [`ArtifactPlan::create`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactPlan {
    /// There are none.
    Off,
    /// A directory that somebody chose: made if need be, never removed.
    Chosen(PathBuf),
    /// A new directory below this one, for this run.
    Fresh {
        /// The parent.
        below: PathBuf,
    },
}

impl ArtifactPlan {
    /// The flag comes first, then the agent's own directory, then a new one if the agent wants artifacts at all.
    /// Relative paths start at the workdir.
    pub fn of(
        agent: &Agent,
        flag: Option<&str>,
        workdir: &Path,
        environment: &Environment,
        directories: &Directories,
    ) -> Self {
        let chosen = |text: &str| {
            let path = environment.expand(text);
            (!path.trim().is_empty()).then(|| directories::absolute(workdir, path))
        };
        let own = || agent.artifacts.is_enabled.then(|| chosen(&agent.artifacts.dir)).flatten();
        match flag.and_then(chosen).or_else(own) {
            Some(path) => Self::Chosen(path),
            None if agent.artifacts.is_enabled => Self::Fresh { below: directories.cache.join("artifacts") },
            None => Self::Off,
        }
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn create(&self) -> Result<Option<ArtifactDir>, Error> {
        match self {
            Self::Off => Ok(None),
            Self::Chosen(path) => {
                make_all(path)?;
                Ok(Some(ArtifactDir { path: path.clone(), is_fresh: false }))
            }
            Self::Fresh { below } => {
                make_all(below)?;
                let path = make_fresh(below)?;
                Ok(Some(ArtifactDir { path, is_fresh: true }))
            }
        }
    }
}

/// A directory that is there.
#[derive(Debug, PartialEq, Eq)]
pub struct ArtifactDir {
    path: PathBuf,
    is_fresh: bool,
}

impl ArtifactDir {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the run's use of it: a fresh one is removed unless it is to be kept. Returns the line for stderr, if any.
    pub fn close(self, is_kept: bool) -> Option<String> {
        if !self.is_fresh {
            return None;
        }
        if is_kept {
            return Some(format!("artifacts preserved: {}", self.path.display()));
        }
        match std::fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Some(format!("Warning: can't remove artifact directory {}: {error}", self.path.display()))
            }
            _ => None,
        }
    }
}

fn make_all(path: &Path) -> Result<(), Error> {
    directories::make(path).map_err(|source| refused(path, source))
}

/// A directory named after this second that nobody else has.
fn make_fresh(below: &Path) -> Result<PathBuf, Error> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let stamp: String = now.chars().filter(|c| !matches!(c, '-' | ':' | 'Z')).collect();
    loop {
        let path = below.join(format!("{stamp}-{:06x}", fastrand::u32(..1 << 24)));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(refused(&path, source)),
        }
    }
}

fn refused(path: &Path, source: std::io::Error) -> Error {
    Error::ArtifactDirectory { path: path.to_owned(), source }
}
