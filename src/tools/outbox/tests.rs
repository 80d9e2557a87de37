use axlr_protocol::tool::Entry;
use axlr_protocol::tool::EntryType;
use tokio::sync::mpsc;

use super::*;
use crate::tools::Kind;

fn entry(path: &str) -> Entry {
    Entry { path: path.into(), kind: EntryType::Dir, size: None, name_lossy: false }
}

fn wrap(entries: Vec<Entry>) -> EventBody {
    EventBody::Entries { entries }
}

fn progress() -> EventBody {
    EventBody::ListProgress { entries_seen: 7 }
}

#[test]
fn without_a_stream_the_items_are_the_answers() {
    let cancel = Cancel::new();
    let mut outbox = Outbox::new(None, &cancel, wrap);
    outbox.push(entry("a"), 10);
    outbox.tick(progress).unwrap();
    assert_eq!(outbox.finish().unwrap(), [entry("a")]);
}

#[test]
fn the_first_item_goes_out_at_once_and_the_rest_at_the_end_at_the_latest() {
    let (events, mut received) = mpsc::channel(8);
    let cancel = Cancel::new();
    let mut outbox = Outbox::new(Some(&events), &cancel, wrap);
    outbox.push(entry("a"), 10);
    outbox.tick(progress).unwrap();
    assert_eq!(received.try_recv().unwrap(), wrap(vec![entry("a")]));
    outbox.push(entry("b"), 10);
    outbox.push(entry("c"), 10);
    assert_eq!(outbox.finish().unwrap(), []);
    assert_eq!(received.try_recv().unwrap(), wrap(vec![entry("b"), entry("c")]));
    assert!(received.try_recv().is_err());
}

#[test]
fn progress_is_sent_when_nothing_else_was_for_a_while() {
    let (events, mut received) = mpsc::channel(1);
    let cancel = Cancel::new();
    let mut outbox = Outbox::new(Some(&events), &cancel, wrap);
    outbox.tick(progress).unwrap();
    assert!(received.try_recv().is_err());
    let a_while_ago = Instant::now() - Duration::from_millis(100);
    outbox.stream.as_mut().unwrap().last = a_while_ago;
    outbox.tick(progress).unwrap();
    assert_eq!(received.try_recv().unwrap(), progress());
    outbox.tick(progress).unwrap();
    assert!(received.try_recv().is_err());
    // A slow reader is spared.
    events.try_send(progress()).unwrap();
    outbox.stream.as_mut().unwrap().last = a_while_ago;
    outbox.tick(progress).unwrap();
}

#[test]
fn a_reader_that_left_cancels() {
    let (events, received) = mpsc::channel(1);
    drop(received);
    let cancel = Cancel::new();
    let mut outbox = Outbox::new(Some(&events), &cancel, wrap);
    outbox.push(entry("a"), 10);
    assert_eq!(outbox.finish().unwrap_err().kind, Kind::Cancelled);
}

#[test]
fn a_slow_reader_is_waited_for() {
    let (events, mut received) = mpsc::channel(1);
    events.try_send(progress()).unwrap();
    let cancel = Cancel::new();
    let mut outbox = Outbox::new(Some(&events), &cancel, wrap);
    outbox.push(entry("a"), 10);
    thread::scope(|scope| {
        let finished = scope.spawn(|| outbox.finish());
        assert_eq!(received.blocking_recv().unwrap(), progress());
        assert_eq!(received.blocking_recv().unwrap(), wrap(vec![entry("a")]));
        assert!(finished.join().unwrap().is_ok());
    });
}

#[test]
fn a_cancellation_is_heard_while_a_slow_reader_is_waited_for() {
    let (events, _received) = mpsc::channel(1);
    events.try_send(progress()).unwrap();
    let cancel = Cancel::new();
    let mut outbox = Outbox::new(Some(&events), &cancel, wrap);
    outbox.push(entry("a"), 10);
    thread::scope(|scope| {
        let finished = scope.spawn(|| outbox.finish());
        cancel.cancel();
        assert_eq!(finished.join().unwrap().unwrap_err().kind, Kind::Cancelled);
    });
}
