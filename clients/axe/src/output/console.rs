//! Where axe writes.

use std::fmt;
use std::io::{self, Write};

use super::{Failure, Mask};

/// stderr, with keys masked. That nobody reads it any more is no reason to end.
#[derive(Debug, Clone)]
pub struct Console {
    mask: Mask,
    is_verbose: bool,
}

impl Console {
    /// A console that hides what the mask hides.
    pub fn new(mask: Mask, is_verbose: bool) -> Self {
        Self { mask, is_verbose }
    }

    /// One line, always.
    pub fn tell(&self, line: impl fmt::Display) {
        let line = printable(&self.mask.apply(&line.to_string()));
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Something the user should know though the run goes on.
    pub fn warn(&self, message: impl fmt::Display) {
        self.tell(format_args!("Warning: {message}"));
    }

    /// One line, only when diagnostics are wanted.
    pub fn explain(&self, line: impl fmt::Display) {
        if self.is_verbose {
            self.tell(line);
        }
    }

    /// A text without keys.
    pub fn masked(&self, text: &str) -> String {
        self.mask.apply(text)
    }

    /// Whether diagnostics are wanted.
    pub fn is_verbose(&self) -> bool {
        self.is_verbose
    }

    /// The one line of a failure.
    pub fn fail(&self, failure: &Failure) {
        self.tell(&failure.message);
    }
}

/// One line without what a terminal obeys: names of tools, tasks and errors come from models and servers, who could
/// write lines of ours or repaint the screen.
pub fn printable(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\t' => shown.push(c),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}
