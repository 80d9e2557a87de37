//! What bytes are: text or not, and their digest.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The bytes as text, or nothing when they are not UTF-8 or hold a NUL.
///
/// Source: SPEC §3.1.
pub fn text(bytes: &[u8]) -> Option<&str> {
    let text = simdutf8::basic::from_utf8(bytes).ok()?;
    if memchr::memchr(0, bytes).is_some() { None } else { Some(text) }
}

/// A SHA-256. Shown as 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of what `read` gives, chunk by chunk, until it gives an empty one.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn of_chunks<E>(
        mut read: impl FnMut(&mut [u8]) -> Result<usize, E>,
        chunk: usize,
    ) -> Result<Self, E> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; chunk];
        loop {
            let length = read(&mut buffer)?;
            if length == 0 {
                return Ok(Self(hasher.finalize().into()));
            }
            hasher.update(&buffer[..length]);
        }
    }

    /// Reads exactly 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (value(pair[0])? << 4) | value(pair[1])?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

/// Bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    text
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
