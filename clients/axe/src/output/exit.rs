//! Exit codes, and the one line that explains a failure.

use std::fmt;
use std::process::ExitCode;

use crate::provider::{self, Category};
use crate::text::one_line;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All went well; a refusal is no failure.
    Success = 0,
    /// Anything without a code of its own: usage, the turn limit, a request the provider finds at fault.
    Runtime = 1,
    /// A file, a setting, a key or a skill is at fault.
    Config = 2,
    /// The provider, or the way to it, failed.
    Provider = 3,
    /// The token budget is used up; what was done is printed all the same.
    Budget = 4,
    /// SIGINT.
    Interrupted = 130,
    /// SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<Category> for Exit {
    fn from(category: Category) -> Self {
        match category {
            Category::BadRequest => Self::Runtime,
            Category::Auth
            | Category::RateLimit
            | Category::Overloaded
            | Category::Timeout
            | Category::Server => Self::Provider,
        }
    }
}

/// Why a command failed: one line, and the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// One line.
    pub message: String,
}

impl Failure {
    /// A failure with a code of its own.
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: one_line(&message.to_string()) }
    }

    /// A failure without one.
    pub fn runtime(message: impl fmt::Display) -> Self {
        Self::new(Exit::Runtime, message)
    }

    /// A fault of files or settings.
    pub fn config(message: impl fmt::Display) -> Self {
        Self::new(Exit::Config, message)
    }
}

impl From<provider::Error> for Failure {
    fn from(error: provider::Error) -> Self {
        Self::new(error.category.into(), error)
    }
}
