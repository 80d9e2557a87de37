//! Tables over axe's own files.

mod agents;
mod endpoints;
mod places;
mod rules;

use std::path::Path;

use super::{Directories, Environment, Lookup, Place};

/// A home directory with nothing in it, and a current directory below it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        Self(home)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn environment(&self, more: &[(&str, &str)]) -> Environment {
        let home = self.path().to_str().unwrap();
        let config = format!("{home}/.config");
        let own = [("HOME", home), ("XDG_CONFIG_HOME", config.as_str())];
        Environment::new(self.path().join("work"), own.into_iter().chain(more.iter().copied()))
    }

    fn place(&self, more: &[(&str, &str)]) -> Place {
        Place::new(self.environment(more)).unwrap()
    }

    fn lookup(&self, agents_dir: Option<&str>) -> Lookup {
        let environment = self.environment(&[]);
        Lookup::new(agents_dir, &environment, &Directories::of(&environment).unwrap())
    }
}
