//! Skills: files with instructions, one an agent.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Directories, Environment, Error};

/// The file that holds a skill in the directory of its name.
const SKILL_FILE: &str = "SKILL.md";

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its file.
    pub path: PathBuf,
    /// The whole file, front matter included.
    pub text: String,
}

impl Skill {
    /// Reads the skill of that path or name; an empty one is none. A relative path starts at the config directory, and
    /// a bare name means `skills/<name>/SKILL.md` there.
    ///
    /// # Errors
    /// The file is missing or can't be read.
    pub fn load(
        reference: &str,
        environment: &Environment,
        directories: &Directories,
    ) -> Result<Option<Self>, Error> {
        if reference.is_empty() {
            return Ok(None);
        }
        let path = locate(&environment.expand(reference), &directories.config);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(Self { text: String::from_utf8_lossy(&bytes).into_owned(), path })),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Err(Error::SkillNotFound { path })
            }
            Err(source) => Err(Error::Io { doing: "can't read skill", path, source }),
        }
    }

    /// The directory of its scripts.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

fn locate(reference: &str, config: &Path) -> PathBuf {
    let direct = config.join(reference);
    let is_bare = !reference.contains('/') && !reference.ends_with(".md");
    if is_bare && !direct.is_file() {
        return config.join("skills").join(reference).join(SKILL_FILE);
    }
    if direct.is_dir() { direct.join(SKILL_FILE) } else { direct }
}
