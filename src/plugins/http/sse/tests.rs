use super::*;

fn messages(pieces: &[&[u8]]) -> (Vec<String>, Events) {
    let (mut events, mut messages) = (Events::default(), Vec::new());
    for piece in pieces {
        events.push(piece, |data| messages.push(String::from_utf8(data.to_vec()).unwrap())).unwrap();
    }
    (messages, events)
}

#[test]
fn messages_come_whole_however_they_are_split() {
    let text = "\u{feff}: comment\r\nid: a1\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent: message\ndata: two\n\n\
                event: ping\ndata: not this\n\nid: a2\nretry: 250\ndata:\n\ndata: three\r\rdata: cut";
    for split in 0..=text.len() {
        let (head, tail) = text.as_bytes().split_at(split);
        let (messages, events) = messages(&[head, tail]);
        assert_eq!(messages, ["{\"a\":\n1}", "two", "three"], "{split}");
        assert_eq!(events.last_id(), Some("a2"));
        assert_eq!(events.retry(), Some(Duration::from_millis(250)));
    }
}

#[test]
fn what_can_not_be_is_passed_over() {
    let (messages, events) = messages(&[b"id: a\0b\nretry: soon\nunknown: x\nlonely\ndata\n\n"]);
    assert_eq!((messages.len(), events.last_id(), events.retry()), (0, None, None));
}

#[test]
fn an_event_that_has_not_ended_with_its_stream_is_nothing() {
    let (mut events, mut seen) = (Events::default(), 0);
    events.push(b"id: 1\ndata: half", |_| seen += 1).unwrap();
    events.end_of_stream();
    events
        .push(b"data: whole\n\n", |data| {
            assert_eq!(data, b"whole");
            seen += 1;
        })
        .unwrap();
    assert_eq!((seen, events.last_id()), (1, Some("1")));
}

#[test]
fn an_event_has_a_limit() {
    let mut events = Events::default();
    let piece = [&b"data: "[..], &vec![b'x'; 1024 * 1024], b"\n"].concat();
    let pushed = (0..17).try_for_each(|_| events.push(&piece, |_| {}));
    assert_eq!(pushed, Err(TooLarge));
    let mut events = Events::default();
    assert_eq!(events.push(&vec![b'x'; 17 * 1024 * 1024], |_| {}), Err(TooLarge));
}
