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
