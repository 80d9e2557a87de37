//! What may follow `(?`: a name, flags, or both a `:` and a group.

use super::error::{PatternError, SyntaxFault};
use super::escape::until;

/// The flags that change what a line matches. `m` and `s` are read too, but a line has no `\n` that they could let in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// `i`: letters match all their cases.
    pub(super) fold: bool,
    /// `U`: repetitions are lazy, and a `?` makes them greedy.
    pub(super) lazy: bool,
}

/// What a `(?` opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// `(?P<name>` or `(?<name>`. Go does not mind a name that occurs twice.
    Capture,
    /// `(?flags:`.
    Group(Flags),
    /// `(?flags)`.
    Flags(Flags),
}

/// Parses what begins with `(?`.
pub(super) fn parse_opening(rest: &str, flags: Flags) -> Result<(Opening, &str), PatternError> {
    // Go looks for a name only when something follows the `<`.
    let named = ["(?P<", "(?<"].into_iter().find_map(|prefix| rest.strip_prefix(prefix));
    match named {
        Some(named) if !named.is_empty() => parse_name(rest, named),
        _ => parse_flags(rest, flags),
    }
}

fn parse_name<'a>(rest: &'a str, named: &'a str) -> Result<(Opening, &'a str), PatternError> {
    let Some((name, after)) = named.split_once('>') else {
        return Err(SyntaxFault::InvalidNamedCapture.at(rest));
    };
    let is_word = |character: char| character == '_' || character.is_ascii_alphanumeric();
    if name.is_empty() || !name.chars().all(is_word) {
        return Err(SyntaxFault::InvalidNamedCapture.at(until(rest, after)));
    }
    Ok((Opening::Capture, after))
}

fn parse_flags(rest: &str, mut flags: Flags) -> Result<(Opening, &str), PatternError> {
    let mut characters = rest["(?".len()..].chars();
    let mut value = true;
    let mut minus_without_flag = false;
    while let Some(character) = characters.next() {
        match character {
            'i' => flags.fold = value,
            'U' => flags.lazy = value,
            'm' | 's' => {}
            '-' if value => {
                value = false;
                minus_without_flag = true;
                continue;
            }
            ':' if !minus_without_flag => return Ok((Opening::Group(flags), characters.as_str())),
            ')' if !minus_without_flag => return Ok((Opening::Flags(flags), characters.as_str())),
            _ => break,
        }
        minus_without_flag = false;
    }
    Err(SyntaxFault::InvalidPerlOp.at(until(rest, characters.as_str())))
}
