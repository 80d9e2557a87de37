//! Why a program did not start.

use std::io;

/// Why a program did not start. The words go behind the program's name, and name nothing outside the workspace.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A bare name, and nothing to look it up in.
    #[error("cannot be looked up: the child's PATH has no absolute entry")]
    NoPath,
    /// A bare name that no entry of PATH has.
    #[error(
        "was not found: no absolute entry of the child's PATH has a file of that name with an execute bit"
    )]
    NotInPath,
    /// The file exists, but what should run it does not.
    #[error("exists, but its interpreter does not: the program after #!, or the dynamic loader")]
    BadInterpreter,
    /// The kernel refused to execute it.
    #[error("{}", refusal(.0))]
    Execute(#[source] io::Error),
    /// The working directory could not be entered.
    #[error("cannot enter its working directory: {0}")]
    Directory(#[source] io::Error),
    /// Descriptors, processes or memory ran out, or a string holds NUL.
    #[error("could not be given a process: {0}")]
    Resources(#[from] io::Error),
}

/// How far a birth came, as the child or a keeper reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// No candidate is an executable file.
    Lookup,
    /// No process, descriptor or memory for it.
    Resources,
    /// The working directory could not be entered.
    Directory,
    /// execve(2) refused.
    Execute,
}

/// A child that was never born: the stage and the error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stillborn {
    pub(super) stage: Stage,
    pub(super) errno: i32,
}

impl Stillborn {
    pub(super) fn source(self) -> io::Error {
        io::Error::from_raw_os_error(self.errno)
    }
}

fn refusal(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT) => "does not exist".to_owned(),
        Some(libc::EACCES) => {
            "is not executable: it must be a regular file with an execute bit, and permitted".to_owned()
        }
        Some(libc::ENOEXEC) => {
            "is in no format that the kernel executes (a script needs a #! line; no shell steps in)"
                .to_owned()
        }
        Some(libc::E2BIG) => "cannot be given arguments and environment of that size together".to_owned(),
        _ => format!("was not executed: {error}"),
    }
}
