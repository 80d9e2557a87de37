use super::*;

#[test]
fn the_tail_holds_the_last_whole_lines() {
    let log = Log::new("p");
    assert_eq!(log.tail(), "");
    log.stderr(b"one\ntwo \x1b[31m\xff\r\n");
    assert_eq!(log.tail(), "one\ntwo \\u{1b}[31m\u{fffd}");
    log.stderr("x".repeat(5_000).as_bytes());
    assert_eq!(log.tail(), "x".repeat(limits::PLUGIN_STDERR_TAIL_BYTES));
    for number in 0..2_000 {
        log.stderr(format!("line {number}\n").as_bytes());
    }
    let tail = log.tail();
    assert!(tail.starts_with("line ") && tail.ends_with("\nline 1999"), "{tail}");
    assert!(tail.len() <= limits::PLUGIN_STDERR_TAIL_BYTES);
}

#[test]
fn a_flood_is_not_kept() {
    let log = Log::new("p");
    for _ in 0..1_000 {
        log.stderr(&[b'x'; 4_096]);
        log.note(format_args!("again"));
    }
    log.stderr_ended();
    let state = log.lock();
    assert!(state.tail.capacity() < 64 * 1024 && state.line.capacity() < 64 * 1024);
}
