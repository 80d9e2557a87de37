//! Keys, and how they are kept out of what people read.
//!
//! A provider's message may echo the key it was sent, whole, in part or already half masked, so [`mask`] runs over every
//! text that came from outside before it becomes an error.

use std::fmt;

/// A part of a key this long is as good as the key for whoever wants to recognise it.
const PART_MIN_CHARS: usize = 8;

/// Stands where a key stood.
const MASK: &str = "***";

/// A key. It shows itself to nobody who does not ask by name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key as it was configured.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key itself, for the header that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// `text` without the keys: whole ones, parts of them, and what a provider has already masked in part.
pub fn mask(text: &str, secrets: &[Secret]) -> String {
    mask_starred(&mask_known(text, secrets))
}

/// `text` without the keys and parts of them. Stars of its own stay: for texts that are read back, such as Markdown.
pub fn mask_known(text: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(text.to_owned(), |masked, secret| mask_one(&masked, secret.expose()))
}

fn mask_one(text: &str, key: &str) -> String {
    if key.chars().count() < PART_MIN_CHARS {
        return mask_word(text, key);
    }
    let text: Vec<char> = text.chars().collect();
    let key: Vec<char> = key.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let length = longest_part(&text[at..], &key);
        if length >= PART_MIN_CHARS {
            out.push_str(MASK);
            at += length;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

/// How many characters at the start of `text` are a piece of `key`.
fn longest_part(text: &[char], key: &[char]) -> usize {
    (0..key.len())
        .filter(|&start| key.get(start) == text.first())
        .map(|start| key[start..].iter().zip(text).take_while(|(a, b)| a == b).count())
        .max()
        .unwrap_or(0)
}

/// A short key is masked where it stands alone: it may well be a piece of an ordinary word.
fn mask_word(text: &str, key: &str) -> String {
    if key.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(key) {
        let end = at + key.len();
        let before = rest[..at].chars().next_back().or_else(|| out.chars().next_back());
        let alone = !before.is_some_and(is_key_char) && !rest[end..].chars().next().is_some_and(is_key_char);
        out.push_str(&rest[..at]);
        out.push_str(if alone { MASK } else { key });
        rest = &rest[end..];
    }
    out + rest
}

/// `sk-ab***xyz` names the ends of a key: the whole run becomes the mask.
fn mask_starred(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_key_char(c) || c == '*') {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c| !is_key_char(c) && c != '*').unwrap_or(from.len());
        let (run, after) = from.split_at(end);
        out.push_str(before);
        out.push_str(if run.contains(MASK) { MASK } else { run });
        rest = after;
    }
    out + rest
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests;
