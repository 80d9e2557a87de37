//! The one scan that reading and writing JSON strings share.

/// How many leading bytes stand in a JSON string as they are: none is a control character, a quote or a backslash.
///
/// Eight bytes at a time: in each byte of `word - 0x20…` the high bit is set by a borrow, so `& !word` leaves it where the
/// byte was below 0x20, and likewise below 1 after the exclusive or with a wanted byte. A borrow can only spoil bytes
/// above the first true hit, and only the first hit is used.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let hits = (word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash);
        let hits = hits & HIGH;
        if hits != 0 {
            return index * 8 + hits.trailing_zeros() as usize / 8;
        }
    }
    let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    bytes.len() - tail.len() + tail.iter().position(special).unwrap_or(tail.len())
}

#[cfg(test)]
mod tests;
