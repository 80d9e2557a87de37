//! Keeping keys out of everything that is printed.

use crate::secret::{self, Secret};

/// What a key is replaced with.
const MASKED: &str = "***";
/// A placeholder for a server without keys, such as `ollama`, is no secret, and would hide ordinary words.
const SECRET_MIN_BYTES: usize = 8;
/// Beginnings that keys have at large providers: a provider may quote a key that axe itself does not know.
const KEY_PREFIXES: &[&str] = &["sk-", "tvly-", "xai-", "gsk_", "AIza", "AKIA", "ASIA", "Bearer "];
/// Characters after such a beginning from which on it is taken for a key.
const KEY_MIN_CHARS: usize = 12;

/// Replaces the keys that are known, and what looks like one.
#[derive(Clone, Default)]
pub struct Mask {
    secrets: Vec<Secret>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mask({} secrets)", self.secrets.len())
    }
}

impl Mask {
    /// A mask for these keys.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let is_key = |secret: &Secret| secret.expose().len() >= SECRET_MIN_BYTES;
        Self { secrets: secrets.into_iter().filter(is_key).collect() }
    }

    /// The text without keys.
    pub fn apply(&self, text: &str) -> String {
        mask_prefixed(secret::mask(text, &self.secrets))
    }

    /// The text without keys, for one that is read back: stars of its own, as Markdown has them, stay.
    pub fn apply_to_kept(&self, text: &str) -> String {
        mask_prefixed(secret::mask_known(text, &self.secrets))
    }
}

fn mask_prefixed(text: String) -> String {
    KEY_PREFIXES.iter().fold(text, |masked, prefix| mask_after(&masked, prefix))
}

/// Replaces each long word that begins with the prefix; the prefix stays, so that a reader sees what it was.
fn mask_after(text: &str, prefix: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(prefix) {
        let (before, key) = rest.split_at(at);
        let is_inside_word = before.chars().next_back().is_some_and(char::is_alphanumeric);
        let key = &key[prefix.len()..];
        let end = key.find(|c: char| !is_key_char(c)).unwrap_or(key.len());
        masked.push_str(before);
        masked.push_str(prefix);
        if !is_inside_word && end >= KEY_MIN_CHARS {
            masked.push_str(MASKED);
            rest = &key[end..];
        } else {
            rest = key;
        }
    }
    masked.push_str(rest);
    masked
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.' | '+' | '/' | '=')
}
