use proptest::prelude::*;

use super::plain_len;

fn naive(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte < 0x20 || [b'"', b'\\'].contains(byte)).unwrap_or(bytes.len())
}

#[test]
fn every_byte_is_judged_alone_at_every_place() {
    for byte in 0..=255 {
        for place in 0..20 {
            for around in [b'a', 0xff, 0x20, 0x21, 0x23, 0x5b, 0x5d, 0x80] {
                let mut bytes = [around; 20];
                bytes[place] = byte;
                assert_eq!(plain_len(&bytes), naive(&bytes), "{byte:#x} at {place} among {around:#x}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_agree_with_the_naive_scan(bytes in proptest::collection::vec(0x1e..0x60u8, 0..64)) {
        prop_assert_eq!(plain_len(&bytes), naive(&bytes));
    }
}
