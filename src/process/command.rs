//! The birth certificate of a child.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use super::error::{Stage, StartError, Stillborn};

/// What to start, and in which surroundings.
#[derive(Debug)]
pub struct Command {
    /// Absolute, with a slash (from `directory`), or a bare name for the absolute entries of the child's own PATH.
    pub program: String,
    /// The arguments after the program's own name.
    pub arguments: Vec<String>,
    /// The whole environment; nothing is inherited.
    pub environment: BTreeMap<String, String>,
    /// The working directory. A handle that only names (`O_PATH`) is enough.
    pub directory: OwnedFd,
    /// What its stdin is.
    pub stdin: Input,
}

/// What a child's stdin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// `/dev/null`, which programs tell from a pipe that may still bring something.
    Null,
    /// A pipe.
    Pipe,
}

/// How many strings of each kind a [`Block`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// Paths to try, in order.
    pub(super) programs: usize,
    pub(super) arguments: usize,
    pub(super) variables: usize,
}

/// All strings of a birth in one piece, each ended by NUL: paths to try, arguments, variables. A keeper gets these
/// bytes as they are.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) strings: Vec<u8>,
    pub(super) counts: Counts,
}

/// All that a birth needs, without the tree that will hold the child.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) block: Block,
    pub(super) directory: OwnedFd,
    /// The child's 0, 1 and 2.
    pub(super) stdio: [OwnedFd; 3],
}

impl Order {
    pub(super) fn new(command: Command, stdio: [OwnedFd; 3]) -> Result<Self, StartError> {
        let block = Block::new(&command)?;
        Ok(Self { block, directory: command.directory, stdio })
    }

    /// Puts a failed birth into words.
    pub(super) fn explain(&self, stillborn: Stillborn) -> StartError {
        match stillborn.stage {
            Stage::Lookup => StartError::NotInPath,
            Stage::Resources => StartError::Resources(stillborn.source()),
            Stage::Directory => StartError::Directory(stillborn.source()),
            Stage::Execute if stillborn.errno == libc::ENOENT && self.program_exists() => {
                StartError::BadInterpreter
            }
            Stage::Execute => StartError::Execute(stillborn.source()),
        }
    }

    /// execve(2) says ENOENT for a missing interpreter too.
    fn program_exists(&self) -> bool {
        self.block
            .strings
            .split(|byte| *byte == 0)
            .take(self.block.counts.programs)
            .any(|path| rustix::fs::statat(&self.directory, path, rustix::fs::AtFlags::empty()).is_ok())
    }
}

impl Block {
    fn new(command: &Command) -> Result<Self, StartError> {
        let mut strings = Vec::with_capacity(1024);
        let mut counts = Counts { programs: 0, arguments: 1 + command.arguments.len(), variables: 0 };
        if command.program.contains('/') {
            push(&mut strings, &[&command.program])?;
            counts.programs = 1;
        } else {
            let path = command.environment.get("PATH").map_or("", String::as_str);
            for entry in path.split(':').filter(|entry| entry.starts_with('/')) {
                push(&mut strings, &[entry, "/", &command.program])?;
                counts.programs += 1;
            }
            if counts.programs == 0 {
                return Err(StartError::NoPath);
            }
        }
        push(&mut strings, &[&command.program])?;
        for argument in &command.arguments {
            push(&mut strings, &[argument])?;
        }
        for (name, value) in &command.environment {
            push(&mut strings, &[name, "=", value])?;
            counts.variables += 1;
        }
        Ok(Self { strings, counts })
    }
}

fn push(strings: &mut Vec<u8>, parts: &[&str]) -> io::Result<()> {
    for part in parts {
        if part.contains('\0') {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "an argument or a variable holds NUL"));
        }
        strings.extend_from_slice(part.as_bytes());
    }
    strings.push(0);
    Ok(())
}
