use std::sync::mpsc;

use super::*;

#[test]
fn the_end_does_not_wait_for_what_can_not_be_broken_off() {
    let runtime = event_loop().unwrap();
    let (release, held) = mpsc::channel::<()>();
    let (began, has_begun) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    runtime.spawn_blocking(move || {
        began.send(()).unwrap();
        let _ = held.recv_timeout(Duration::from_secs(20));
        let _ = done.send(());
    });
    has_begun.recv().unwrap();
    Remains(Some((runtime, Running::default()))).end();
    assert_eq!(is_done.try_recv(), Err(mpsc::TryRecvError::Empty), "it was waited for");
    drop(release);
}
