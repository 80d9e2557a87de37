//! The user's message: from the flag, from stdin, from both on request, or the default.

use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use crate::limits::STDIN_MAX_BYTES;

/// What an agent is told when nobody says anything.
pub const DEFAULT_TASK: &str = "Execute the task described in your instructions.";
/// What an agent is asked, and where that came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The words for the model.
    pub text: String,
    /// Their origin.
    pub asked: Asked,
}

/// Where a user message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Nobody said anything.
    Default,
    /// Stdin.
    Stdin,
    /// `-p`.
    Flag,
    /// `-p` and stdin joined.
    FlagAndStdin,
}

impl Asked {
    /// The word in diagnostics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Stdin => "stdin",
            Self::Flag => "flag",
            Self::FlagAndStdin => "flag+stdin",
        }
    }
}

/// A stdin that may hold the message.
pub trait Stdin {
    /// Whether something is connected to it: a pipe, a file, a socket; no terminal, no `/dev/null`.
    fn is_piped(&self) -> bool;

    /// Everything in it.
    ///
    /// # Errors
    /// It does not end in time, is too large, or can't be read.
    fn read(self, within: Duration) -> Result<String, StdinError>;
}

/// Why stdin gave no message.
#[derive(Debug, thiserror::Error)]
pub enum StdinError {
    /// Whoever holds the other end neither writes on nor closes it.
    #[error("stdin did not end within {} s: close it, redirect it from /dev/null, or give the message with -p", .0.as_secs())]
    Unending(Duration),
    /// More than a message can be.
    #[error("stdin holds more than {} MiB", STDIN_MAX_BYTES / (1024 * 1024))]
    TooLarge,
    /// The operating system refuses.
    #[error("can't read stdin: {0}")]
    Io(#[from] std::io::Error),
}

impl UserMessage {
    /// Decides what is asked. Stdin is read only when its text is needed: when there is no flag, or both are to be
    /// joined. Blank counts as nothing.
    ///
    /// # Errors
    /// Stdin was needed and gave nothing; see [`StdinError`].
    pub fn decide(
        flag: Option<&str>,
        is_joined: bool,
        stdin: impl Stdin,
        within: Duration,
    ) -> Result<Self, StdinError> {
        let flag = flag.filter(|text| !text.trim().is_empty());
        let needs_stdin = (flag.is_none() || is_joined) && stdin.is_piped();
        let piped = if needs_stdin { stdin.read(within)? } else { String::new() };
        let is_piped = !piped.trim().is_empty();
        Ok(match flag {
            Some(flag) if is_piped => Self { text: format!("{flag}\n\n{piped}"), asked: Asked::FlagAndStdin },
            Some(flag) => Self { text: flag.to_owned(), asked: Asked::Flag },
            None if is_piped => Self { text: piped, asked: Asked::Stdin },
            None => Self { text: DEFAULT_TASK.to_owned(), asked: Asked::Default },
        })
    }
}

/// The message of a sub-agent.
pub fn sub_agent_task(task: &str, context: &str) -> String {
    if context.trim().is_empty() {
        format!("Task: {task}")
    } else {
        format!("Task: {task}\n\nContext:\n{context}")
    }
}

/// The stdin of this process.
impl Stdin for std::io::Stdin {
    fn is_piped(&self) -> bool {
        is_piped(self)
    }

    fn read(self, within: Duration) -> Result<String, StdinError> {
        read_within(self, within)
    }
}

/// Reads to the end on a thread of its own, which is left behind when time is up: a read can't be called back.
pub(super) fn read_within(
    reader: impl Read + Send + 'static,
    within: Duration,
) -> Result<String, StdinError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let result = reader.take(STDIN_MAX_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes);
        // Nobody waits any more when time was up.
        let _ = sender.send(result);
    })?;
    let bytes = receiver.recv_timeout(within).map_err(|_| StdinError::Unending(within))??;
    if bytes.len() as u64 > STDIN_MAX_BYTES {
        return Err(StdinError::TooLarge);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(unix)]
fn is_piped(stdin: &std::io::Stdin) -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileTypeExt as _;

    let Ok(descriptor) = stdin.as_fd().try_clone_to_owned() else { return false };
    std::fs::File::from(descriptor).metadata().is_ok_and(|metadata| !metadata.file_type().is_char_device())
}

#[cfg(not(unix))]
fn is_piped(stdin: &std::io::Stdin) -> bool {
    !std::io::IsTerminal::is_terminal(stdin)
}
