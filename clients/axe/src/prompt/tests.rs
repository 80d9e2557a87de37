//! Tables over prompts.

mod assembly;
mod context;
mod refusals;

use std::io::{self, Read};
use std::time::Duration;

use super::user::read_within;
use super::{Asked, DEFAULT_TASK, Stdin, StdinError, UserMessage, sub_agent_task};
use crate::limits::STDIN_MAX_BYTES;

/// A stdin of a test.
enum Fake {
    NotPiped,
    Piped(&'static str),
    /// Reading it would never end.
    Unread,
}

impl Stdin for Fake {
    fn is_piped(&self) -> bool {
        !matches!(self, Self::NotPiped)
    }

    fn read(self, _within: Duration) -> Result<String, StdinError> {
        match self {
            Self::Piped(text) => Ok(text.to_owned()),
            Self::NotPiped | Self::Unread => panic!("stdin was read though it is not needed"),
        }
    }
}

#[test]
fn the_message_is_the_flag_or_stdin_or_the_default() {
    use Asked::{Default, Flag, FlagAndStdin};
    let join = true;
    for (flag, is_joined, stdin, text, asked) in [
        (Some("f"), false, Fake::Unread, "f", Flag),
        (Some(" f "), false, Fake::NotPiped, " f ", Flag),
        (Some(" \n"), false, Fake::Piped(" p\n"), " p\n", Asked::Stdin),
        (None, false, Fake::Piped("p"), "p", Asked::Stdin),
        (None, false, Fake::Piped(" \n"), DEFAULT_TASK, Default),
        (None, false, Fake::NotPiped, DEFAULT_TASK, Default),
        (Some(""), false, Fake::NotPiped, DEFAULT_TASK, Default),
        (Some("f"), join, Fake::Piped("p\n"), "f\n\np\n", FlagAndStdin),
        (Some("f"), join, Fake::Piped("\n"), "f", Flag),
        (Some("f"), join, Fake::NotPiped, "f", Flag),
        (None, join, Fake::Piped("p"), "p", Asked::Stdin),
    ] {
        let message = UserMessage::decide(flag, is_joined, stdin, Duration::MAX).unwrap();
        assert_eq!(message, UserMessage { text: text.to_owned(), asked });
    }
}

#[test]
fn a_pipe_that_stays_open_is_given_up_on() {
    let (reader, writer) = io::pipe().unwrap();
    let error = read_within(reader, Duration::from_millis(10)).unwrap_err();
    assert!(matches!(error, StdinError::Unending(_)), "{error}");
    drop(writer);
}

#[test]
fn stdin_is_read_whole_and_bounded() {
    let read = |bytes: &'static [u8]| read_within(bytes, Duration::from_secs(60));
    assert_eq!(read(b"a\r\n\xffb").unwrap(), "a\r\n\u{fffd}b");
    let endless = io::repeat(b'x').take(STDIN_MAX_BYTES + 5);
    let error = read_within(endless, Duration::from_secs(60)).unwrap_err();
    assert_eq!(error.to_string(), "stdin holds more than 32 MiB");
}

#[test]
fn sub_agents_get_their_task_and_perhaps_a_context() {
    assert_eq!(sub_agent_task("t", " "), "Task: t");
    assert_eq!(sub_agent_task("t", "c"), "Task: t\n\nContext:\nc");
}
