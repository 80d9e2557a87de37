use super::*;

#[test]
fn a_line_is_one_json_object_of_padded_base64() {
    for (bytes, base64) in [
        (&b""[..], ""),
        (b"a", "YQ=="),
        (b"ab", "YWI="),
        (b"a; echo", "YTsgZWNobw=="),
        (b"\xff\x00\xfe", "/wD+"),
    ] {
        let line = chunk_line("out", bytes);
        assert_eq!(line, format!("{{\"t\":\"out\",\"b\":\"{base64}\"}}\n"));
    }
}

#[test]
fn a_chunk_of_any_length_is_encoded_as_others_encode_it() {
    use base64::engine::general_purpose::STANDARD;
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(1_000).collect();
    for length in 0..bytes.len() {
        let line = chunk_line("err", &bytes[..length]);
        assert_eq!(line, format!("{{\"t\":\"err\",\"b\":\"{}\"}}\n", STANDARD.encode(&bytes[..length])));
    }
}
