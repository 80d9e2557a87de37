//! Counted repetitions: `{n}`, `{n,}`, `{n,m}`.

use super::REPEAT_MAX;
use super::piece::Counts;

/// Braces that have the form of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Braces<'a> {
    /// None when a number is too big, or the maximum is below the minimum.
    pub(super) counts: Option<Counts>,
    pub(super) after: &'a str,
}

/// Parses braces; `rest` begins with the `{`. None when they are plain text.
pub(super) fn parse_braces(rest: &str) -> Option<Braces<'_>> {
    let (min, rest) = parse_number(rest.strip_prefix('{')?)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => {
            let (max, rest) = parse_number(rest)?;
            (Some(max), rest)
        }
    };
    let after = rest.strip_prefix('}')?;
    let is_valid = max.is_none_or(|max| min <= max) && u64::from(max.unwrap_or(min)) <= REPEAT_MAX;
    Some(Braces { counts: is_valid.then_some(Counts { min, max }), after })
}

/// A decimal number without leading zeros.
fn parse_number(rest: &str) -> Option<(u32, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 1 && rest.starts_with('0') {
        return None;
    }
    let (number, after) = rest.split_at(digits);
    // One that does not fit is too big by far, whatever it is.
    Some((number.parse().unwrap_or(u32::MAX), after))
}
