use super::*;

/// Feeds items of these sizes; the sizes that are on the page, and where the next begins.
fn check(page: &mut Page, sizes: &[u64], expected: &[u64], next_offset: Option<u64>) {
    let mut admitted = Vec::new();
    for size in sizes {
        match page.turn() {
            Turn::Passed => {}
            Turn::Wanted if page.admit(*size) => admitted.push(*size),
            Turn::Wanted | Turn::Beyond => break,
        }
    }
    assert_eq!((admitted.as_slice(), page.next_offset()), (expected, next_offset));
    assert_eq!(page.has_more(), next_offset.is_some());
}

#[test]
fn a_page_ends_where_its_items_or_bytes_do() {
    check(&mut Page::new(0, 2, 100), &[], &[], None);
    check(&mut Page::new(0, 2, 100), &[1, 2], &[1, 2], None);
    check(&mut Page::new(0, 2, 100), &[1, 2, 3], &[1, 2], Some(2));
    check(&mut Page::new(1, 2, 100), &[1, 2, 3], &[2, 3], None);
    check(&mut Page::new(1, 2, 100), &[1, 2, 3, 4], &[2, 3], Some(3));
    check(&mut Page::new(5, 2, 100), &[1, 2, 3], &[], None);
    check(&mut Page::new(u64::MAX, 2, 100), &[1], &[], None);
    check(&mut Page::new(0, 9, 10), &[4, 6], &[4, 6], None);
    check(&mut Page::new(0, 9, 10), &[4, 6, 1], &[4, 6], Some(2));
    check(&mut Page::new(0, 9, 10), &[4, 7], &[4], Some(1));
}

#[test]
fn the_first_item_always_fits() {
    check(&mut Page::new(0, 9, 10), &[11], &[11], None);
    check(&mut Page::new(0, 9, 10), &[11, 1], &[11], Some(1));
}

#[test]
fn passing_many_at_once_stops_at_the_page() {
    let mut page = Page::new(3, 1, 100);
    page.pass(2);
    assert_eq!(page.to_pass(), 1);
    page.pass(7);
    assert_eq!((page.to_pass(), page.turn()), (0, Turn::Wanted));
    assert_eq!(page.room(), 1);
}

#[test]
fn an_item_counts_its_compact_json_and_one_byte() {
    for text in ["", "plain", "\"\\\u{1}\n\u{7f}/é😀"] {
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(page_size(&text), json.len() as u64 + 1, "{json}");
    }
}
