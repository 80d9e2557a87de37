//! Cutting text without breaking a character.

/// The longest beginning of `text` that has at most `max_bytes` bytes and ends at a character's end.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// `text` on one line: each line break, with the blanks around it, becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}
