use std::thread;

use super::*;
use crate::tools::Kind;

fn key(pattern: &str) -> Key {
    Key { pattern: pattern.into(), options: Options::default() }
}

#[test]
fn a_pattern_of_a_recent_search_is_compiled_once() {
    let patterns = Patterns::default();
    let get = |pattern: &str| patterns.get(&key(pattern), &Cancel::new()).unwrap();
    let first = get("first");
    for number in 1..PATTERNS_KEPT {
        get(&number.to_string());
    }
    assert!(Arc::ptr_eq(&first, &get("first")));
    get("one more");
    // It was used last but one, so another had to go.
    assert!(Arc::ptr_eq(&first, &get("first")));
    for number in 0..PATTERNS_KEPT {
        get(&format!("other {number}"));
    }
    assert!(!Arc::ptr_eq(&first, &get("first")));
    assert_eq!(patterns.recent.lock().unwrap().len(), PATTERNS_KEPT);
}

#[test]
fn options_are_part_of_what_is_compiled() {
    let patterns = Patterns::default();
    let plain = patterns.get(&key("a."), &Cancel::new()).unwrap();
    let options = Options { literal: true, ignore_case: true };
    let literal = patterns.get(&Key { pattern: "a.".into(), options }, &Cancel::new()).unwrap();
    assert_eq!(plain.find_line(b"xab"), Some((1, 3)));
    assert_eq!(literal.find_line(b"xab"), None);
    assert_eq!(literal.find_line(b"xA."), Some((1, 3)));
}

#[test]
fn threads_share_the_cache() {
    let patterns = Patterns::default();
    thread::scope(|scope| {
        for number in 0..8 {
            let patterns = &patterns;
            scope.spawn(move || {
                for round in 0..50 {
                    let text = format!("x{}", (number + round) % 12);
                    let compiled = patterns.get(&key(&text), &Cancel::new()).unwrap();
                    assert_eq!(compiled.find_line(text.as_bytes()), Some((0, text.len())));
                }
            });
        }
    });
    assert!(patterns.recent.lock().unwrap().len() <= PATTERNS_KEPT);
}

#[test]
fn a_pattern_that_does_not_compile_is_malformed() {
    let error = Patterns::default().get(&key("a("), &Cancel::new()).unwrap_err();
    assert_eq!(error.kind, Kind::Malformed);
    assert!(error.message.starts_with("pattern \"a(\": "), "{}", error.message);
}

#[test]
fn a_cancelled_request_compiles_nothing() {
    let cancel = Cancel::new();
    cancel.cancel();
    let patterns = Patterns::default();
    assert_eq!(patterns.get(&key("a"), &cancel).unwrap_err().kind, Kind::Cancelled);
    assert!(patterns.recent.lock().unwrap().is_empty());
}

#[test]
fn length_and_nul_are_checked_without_compiling() {
    assert!(check("x").is_ok());
    assert!(check(&"x".repeat(4_096)).is_ok());
    let refused = |pattern: &str| check(pattern).unwrap_err().message;
    assert_eq!(refused(""), "pattern \"\" is empty; it must have 1 to 4096 bytes");
    assert!(refused(&"x".repeat(4_097)).ends_with("has 4097 bytes and exceeds the 4096 byte limit"));
    assert_eq!(refused("a\0b"), "pattern \"a\\0b\" must not contain NUL (there is one at byte 1)");
}
