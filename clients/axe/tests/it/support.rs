//! A home of its own for each test, and the program run in it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A home directory that goes with the test. The program runs in `work` below it and sees no other variables.
pub(crate) struct Home(tempfile::TempDir);

/// What a run of the program came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        Self(home)
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// An agent in the global directory, with a model that needs no key.
    pub(crate) fn agent(&self, name: &str, rest: &str) -> PathBuf {
        let text = format!("name = \"{name}\"\nmodel = \"ollama/m\"\n{rest}");
        self.write(&format!("config/axe/agents/{name}.toml"), &text)
    }

    /// The program with these words, not yet started. Nothing is connected to its stdin.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_axe"));
        command
            .args(words)
            .current_dir(self.path("work"))
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", "/usr/bin:/bin")
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn axe(&self, words: &[&str]) -> Outcome {
        self.command(words).output().unwrap().into()
    }

    /// With a text on a pipe for stdin.
    pub(crate) fn axe_reading(&self, words: &[&str], stdin: &str) -> Outcome {
        let mut child = start(self.command(words).stdin(Stdio::piped()));
        // A program that needs no stdin may have left.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap().into()
    }

    /// Removes the home's path from a text.
    pub(crate) fn anonymous(&self, text: &str) -> String {
        text.replace(self.0.path().to_str().unwrap(), "HOME")
    }
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Outcome {
    /// Succeeded, said nothing on stderr, and this is its stdout.
    #[track_caller]
    pub(crate) fn said(&self, stdout: &str) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (0, stdout, ""));
    }

    /// Failed with this code, and stderr is this one line.
    #[track_caller]
    pub(crate) fn failed(&self, code: i32, line: &str) {
        let stderr = format!("{line}\n");
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (code, "", stderr.as_str()));
    }
}

/// Everything that a directory holds, relative to it.
pub(crate) fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            if path.is_dir() {
                waiting.push(path);
            }
        }
    }
    found.sort();
    found
}
