use proptest::prelude::*;

use super::*;
use crate::cancel::Cancel;
use crate::dialect::re2::Options;
use crate::tools::search::pattern::{Key, Patterns};

const ALL: Take = Take { skip: 0, most_items: u64::MAX, most_bytes: u64::MAX, count_to: 0 };

fn run(pattern: &str, text: &str, take: Take) -> Scanned {
    let key = Key { pattern: pattern.into(), options: Options::default() };
    let pattern = Patterns::default().get(&key, &Cancel::new()).unwrap();
    let job = Job { pattern: &pattern, context: 0, stop: &|| false };
    scan(job, &mut searcher(), "f", text, take)
}

fn lines(scanned: &Scanned) -> Vec<(u64, u64)> {
    scanned.found.iter().map(|found| (found.item.line, found.item.column)).collect()
}

#[test]
fn lines_are_numbered_and_the_first_match_of_each_has_a_column() {
    assert_eq!(lines(&run("b+", "ab\nx\nbbab\n\nb", ALL)), [(1, 2), (3, 1), (5, 1)]);
    assert_eq!(lines(&run("$", "a\r\n\nb\r", ALL)), [(1, 2), (2, 1), (3, 2)]);
    assert_eq!(lines(&run("^$", "\n\na\n", ALL)), [(1, 1), (2, 1)]);
    assert_eq!(lines(&run("a", "", ALL)), []);
    assert_eq!(lines(&run("x", "\u{feff}x", ALL)), [(1, 4)]);
}

#[test]
fn a_take_skips_keeps_and_counts() {
    let text = "a\n".repeat(10);
    let taken = |take| {
        let scanned = run("a", &text, take);
        (scanned.skipped, scanned.found.len(), scanned.count)
    };
    let size = run("a", &text, ALL).found[0].size;
    assert_eq!(taken(ALL), (0, 10, 10));
    assert_eq!(taken(Take { most_items: 3, ..ALL }), (0, 3, 3));
    assert_eq!(taken(Take { skip: 4, most_items: 3, ..ALL }), (4, 3, 7));
    assert_eq!(taken(Take { skip: 40, ..ALL }), (10, 0, 10));
    assert_eq!(taken(Take { most_items: 3, count_to: 8, ..ALL }), (0, 3, 8));
    assert_eq!(taken(Take { most_items: 3, count_to: 80, ..ALL }), (0, 3, 10));
    assert_eq!(taken(Take { most_bytes: 2 * size, ..ALL }), (0, 3, 3));
    assert_eq!(taken(Take { most_bytes: 1, ..ALL }), (0, 2, 2));
}

#[test]
fn what_was_kept_reaches_a_page_or_does_not() {
    let text = "a\n".repeat(10);
    let kept = |take, to_pass| {
        let scanned = run("a", &text, take);
        scanned.reaches(to_pass).then(|| scanned.kept_behind(to_pass).map(|found| found.item.line).collect())
    };
    let some = |lines: std::ops::Range<u64>| Some(lines.collect::<Vec<_>>());
    assert_eq!(kept(ALL, 0), some(1..11));
    assert_eq!(kept(ALL, 7), some(8..11));
    assert_eq!(kept(ALL, 10), some(0..0));
    assert_eq!(kept(ALL, 11), some(0..0));
    let cut = Take { most_items: 3, count_to: 80, ..ALL };
    assert_eq!(kept(cut, 0), some(1..4));
    assert_eq!(kept(cut, 1), None);
    assert_eq!(kept(cut, 10), some(0..0));
    let exact = Take { skip: 5, most_items: 2, ..ALL };
    assert_eq!(kept(exact, 5), some(6..8));
    assert_eq!(kept(Take { skip: 15, ..ALL }, 15), some(0..0));
}

#[test]
fn a_scan_that_is_told_to_stop_stops() {
    let key = Key { pattern: "a".into(), options: Options::default() };
    let pattern = Patterns::default().get(&key, &Cancel::new()).unwrap();
    let job = Job { pattern: &pattern, context: 0, stop: &|| true };
    assert_eq!(scan(job, &mut searcher(), "f", "a\na\n", ALL).count, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The two engines are one: what the candidates lead to is what asking every line finds.
    #[test]
    fn candidates_leave_no_line_out(
        pattern in prop::sample::select(vec![
            "a", "a$", "^a", "^", "$", "^$", "a\r", "\\r", "\\s", "\\s$", "[^b]", "b|a$", "(?m)^a$", "\\Aa\\z", "a\\b", "\\Bb",
            "(?i)k", "\\W$", "a.b", "(?s)a.", "x*", "é", "[^a]$", "a\\s*$", "(a|\\r)+$",
        ]),
        text in "[ab\r\n\n ékK\u{212a}\t]{0,40}",
    ) {
        let key = Key { pattern: pattern.into(), options: Options::default() };
        let compiled = Patterns::default().get(&key, &Cancel::new()).unwrap();
        let job = Job { pattern: &compiled, context: 0, stop: &|| false };
        let found = scan(job, &mut searcher(), "f", &text, ALL);
        let mut asked = Scan {
            job, path: "f", text: &text, take: ALL, scanned: Scanned::default(), kept_bytes: 0,
        };
        asked.each_line();
        prop_assert_eq!(lines(&found), lines(&asked.scanned), "{:?} in {:?}", pattern, text);
    }
}
