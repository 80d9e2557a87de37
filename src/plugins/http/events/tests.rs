use super::*;

#[test]
fn only_the_size_of_one_event_counts() {
    let event = [&b"data: "[..], &vec![b'x'; 1024 * 1024], b"\r\n"].concat();
    let mut meter = Meter::default();
    assert!((0..40).all(|_| meter.has_room_for(&event) && meter.has_room_for(b"\r\n")));
    assert!((0..15).all(|_| meter.has_room_for(&event)));
    assert!(!meter.has_room_for(&event));
}
