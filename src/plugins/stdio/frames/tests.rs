use super::*;

fn lines(pieces: &[&[u8]]) -> Vec<String> {
    let (mut frames, mut lines) = (Frames::default(), Vec::new());
    for piece in pieces {
        frames.room().extend_from_slice(piece);
        frames.each_line(|line| lines.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
    }
    lines
}

#[test]
fn lines_come_whole_however_they_are_split() {
    let text = b"one\r\n\n  \ntwo\nthree\n rest";
    for split in 0..=text.len() {
        let (head, tail) = text.split_at(split);
        assert_eq!(lines(&[head, tail]), ["one\r", "two", "three"], "{split}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(lines(&bytes), ["one\r", "two", "three"]);
}

#[test]
fn a_line_has_a_limit_and_its_room_is_given_back() {
    let mut frames = Frames::default();
    frames.room().extend_from_slice(&vec![b'x'; limits::PLUGIN_MESSAGE_MAX_BYTES]);
    assert_eq!(frames.each_line(|_| panic!("no line yet")), Ok(()));
    frames.room().push(b'\n');
    let mut length = 0;
    assert_eq!(frames.each_line(|line| length = line.len()), Ok(()));
    assert_eq!((length, frames.buffer.capacity()), (limits::PLUGIN_MESSAGE_MAX_BYTES, 0));

    for end in [&b"xx"[..], b"x\n"] {
        let mut frames = Frames::default();
        frames.room().extend_from_slice(&vec![b'x'; limits::PLUGIN_MESSAGE_MAX_BYTES]);
        frames.room().extend_from_slice(end);
        assert_eq!(frames.each_line(|_| {}), Err(TooLong));
    }
}
