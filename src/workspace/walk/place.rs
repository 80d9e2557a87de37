//! Where a walk begins.

use super::directory::{Directory, Facts, Kind};
use crate::workspace::{Error, Scope, Workspace};

/// A scope that was looked up: the directory that holds it, its name there, and what it is.
#[derive(Debug)]
pub struct Place {
    /// The directory that holds it.
    pub directory: Directory,
    /// Its name there; `.` for the workspace itself.
    pub name: String,
    /// What it is. A symlink is not followed.
    pub facts: Facts,
}

impl Workspace {
    /// Looks a scope up. Symlinks on the way are followed as long as they stay inside; the scope itself is not.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Escapes`], or what open(2) and fstatat(2) say.
    pub fn locate(&self, scope: &Scope) -> Result<Place, Error> {
        if scope.is_root() {
            let facts = Facts { kind: Kind::Dir, size: 0 };
            return Ok(Place { directory: self.directory("")?, name: ".".to_owned(), facts });
        }
        let (parent, name) = scope.as_str().rsplit_once('/').unwrap_or(("", scope.as_str()));
        let directory = self.directory(parent)?;
        let facts = directory.stat(name.as_bytes())?;
        Ok(Place { directory, name: name.to_owned(), facts })
    }
}
