use super::*;

fn shown(line: &str, at: usize) -> String {
    let (text, is_cut) = excerpt(line, at);
    assert_eq!(is_cut, text != line);
    text
}

#[test]
fn a_line_of_300_bytes_is_whole_and_one_more_is_cut() {
    let line = "x".repeat(300);
    assert_eq!(shown(&line, 299), line);
    assert_eq!(shown(&format!("{line}y"), 0), format!("{line}…"));
}

#[test]
fn the_window_moves_when_the_match_begins_past_byte_236() {
    let line = format!("{}{}", "a".repeat(236), "b".repeat(400));
    assert_eq!(shown(&line, 236), format!("{}…", &line[..300]));
    assert_eq!(shown(&line, 237), format!("…{}…", &line[173..473]));
    assert_eq!(shown(&line, 336), format!("…{}…", &line[272..572]));
    assert_eq!(shown(&line, 400), format!("…{}", &line[336..]));
    assert_eq!(shown(&line, 636), format!("…{}", &line[572..]));
}

#[test]
fn cuts_are_at_character_boundaries() {
    let line = "é".repeat(200);
    assert_eq!(shown(&line, 0), format!("{}…", "é".repeat(150)));
    let line = format!("x{line}");
    assert_eq!(shown(&line, 0), format!("x{}…", "é".repeat(149)));
    // 301 - 64 lies at a boundary, 302 - 64 would not.
    assert_eq!(shown(&line, 301), format!("…{}", &line[237..]));
    assert_eq!(shown(&line, 302), format!("…{}", &line[239..]));
}

fn hit(text: &str, start: usize, end: usize) -> Hit<'_> {
    Hit { text, start, end, number: 1, at: 0 }
}

#[test]
fn context_stops_at_the_ends_of_the_text() {
    let text = "a\nb\r\nc\nd\ne\r";
    let (start, end) = (5, 6);
    assert_eq!(&text[start..end], "c");
    let hit = hit(text, start, end);
    assert_eq!((hit.before(0), hit.after(0)), (vec![], vec![]));
    assert_eq!((hit.before(1), hit.after(1)), (vec!["b".into()], vec!["d".into()]));
    assert_eq!((hit.before(5), hit.after(5)), (vec!["a".into(), "b".into()], vec!["d".into(), "e".into()]));
}

#[test]
fn a_final_newline_makes_no_line_and_an_empty_line_is_one() {
    assert_eq!(hit("\nx\n", 1, 2).before(5), [""]);
    assert_eq!(hit("\nx\n", 1, 2).after(5), [""; 0]);
    assert_eq!(hit("x\n\n\n", 0, 1).after(5), ["", ""]);
    assert_eq!(hit("x", 0, 1).after(5), [""; 0]);
    assert_eq!(hit("\n\n\nx", 3, 4).before(2), ["", ""]);
}

#[test]
fn context_lines_are_cut_too() {
    let text = format!("{}\nx\n", "a".repeat(400));
    assert_eq!(hit(&text, 401, 402).before(1), [format!("{}…", "a".repeat(300))]);
}

#[test]
fn line_ends_are_not_part_of_a_line() {
    let cases =
        [("a\n", "a"), ("a\r\n", "a"), ("a\r", "a"), ("a\r\r\n", "a\r"), ("a", "a"), ("\r\n", ""), ("", "")];
    for (line, expected) in cases {
        assert_eq!(without_end(line), expected, "{line:?}");
    }
}
