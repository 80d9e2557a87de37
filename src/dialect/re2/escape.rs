//! `\` and what it makes of the next characters, within a class and without.

use super::error::{PatternError, SyntaxFault};

/// Parses an escape that stands for one code point. `rest` begins with the `\`.
pub(super) fn parse(rest: &str) -> Result<(u32, &str), PatternError> {
    let mut characters = rest.chars();
    characters.next();
    let Some(escaped) = characters.next() else {
        return Err(SyntaxFault::TrailingBackslash.at(rest));
    };
    let after = characters.as_str();
    let value = match escaped {
        'a' => 0x07,
        'f' => 0x0C,
        'n' => 0x0A,
        'r' => 0x0D,
        't' => 0x09,
        'v' => 0x0B,
        'x' => return parse_hexadecimal(rest, after),
        '0' => return Ok(parse_octal(&rest[1..])),
        // A lone digit would be a back reference.
        '1'..='7' if after.starts_with(is_octal) => return Ok(parse_octal(&rest[1..])),
        _ if escaped.is_ascii() && !escaped.is_ascii_alphanumeric() => u32::from(escaped),
        _ => return Err(SyntaxFault::InvalidEscape.at(until(rest, after))),
    };
    Ok((value, after))
}

fn is_octal(character: char) -> bool {
    matches!(character, '0'..='7')
}

/// Up to three octal digits; `digits` begins with one.
fn parse_octal(digits: &str) -> (u32, &str) {
    let count = digits.bytes().take(3).take_while(|&byte| is_octal(char::from(byte))).count();
    let value = digits.bytes().take(count).fold(0, |value, digit| value * 8 + u32::from(digit - b'0'));
    (value, &digits[count..])
}

/// Two hexadecimal digits, or any number of them in braces.
fn parse_hexadecimal<'a>(rest: &'a str, after: &'a str) -> Result<(u32, &'a str), PatternError> {
    let mut value = 0;
    let mut digits = 0;
    let in_braces = after.starts_with('{');
    let mut characters = after[usize::from(in_braces)..].chars();
    loop {
        if !in_braces && digits == 2 {
            return Ok((value, characters.as_str()));
        }
        let next = characters.next();
        if in_braces && digits > 0 && next == Some('}') {
            return Ok((value, characters.as_str()));
        }
        let digit = next.and_then(|next| next.to_digit(16));
        match digit.map(|digit| value * 16 + digit) {
            Some(next_value) if next_value <= u32::from(char::MAX) => value = next_value,
            _ => return Err(SyntaxFault::InvalidEscape.at(until(rest, characters.as_str()))),
        }
        digits += 1;
    }
}

/// The part of `rest` before `after`, its end.
pub(super) fn until<'a>(rest: &'a str, after: &str) -> &'a str {
    &rest[..rest.len() - after.len()]
}
