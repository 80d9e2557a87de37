use axlr_client::tool::SearchArguments;

use super::*;

fn found(path: &str, line: u64, column: u64, text: &str) -> Match {
    let (path, text) = (path.to_owned(), text.to_owned());
    Match { path, line, column, text, before: Vec::new(), after: Vec::new(), truncated: false }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn check(pattern: &str, look: Look, context: bool, matches: &[Match], expected: &str) {
    let arguments = SearchArguments { pattern: pattern.to_owned(), ..Default::default() };
    let highlight = Highlight::of(&arguments);
    let mut groups = Groups::new(context);
    let mut text: String = matches.iter().map(|found| groups.add(found, &highlight, look)).collect();
    text += &groups.finish(look);
    assert_eq!(text, expected);
}

const PLAIN: Look = Look { palette: Palette::PLAIN, is_terminal: false };
const COLOURED: Look = Look { palette: Palette::COLOURED, is_terminal: true };

#[test]
fn matches_stand_below_their_file() {
    let matches =
        [found("a.rs", 1, 4, "fn main() {"), found("a.rs", 9, 1, "main();"), found("b/c.rs", 3, 1, "main")];
    let expected = "a.rs\n1:4:     fn main() {\n9:1:     main();\n\nb/c.rs\n3:1:     main\n";
    check("main", PLAIN, false, &matches, expected);
}

#[test]
fn context_is_printed_once_and_gaps_are_shown() {
    let matches = [
        Match { after: lines(&["l6", "x7"]), before: lines(&["l3", "l4"]), ..found("a", 5, 1, "x5") },
        Match { after: lines(&["l8", "l9"]), before: lines(&["x5", "l6"]), ..found("a", 7, 1, "x7") },
        Match { after: lines(&["l21"]), before: lines(&["l18", "l19"]), ..found("a", 20, 1, "x20") },
        Match { before: lines(&["l1"]), ..found("b", 2, 1, "x2") },
    ];
    let expected = "\
a
3-       l3
4-       l4
5:1:     x5
6-       l6
7:1:     x7
8-       l8
9-       l9
--
18-      l18
19-      l19
20:1:    x20
21-      l21

b
1-       l1
2:1:     x2
";
    check("x", PLAIN, true, &matches, expected);
}

#[test]
fn a_match_stands_out_where_it_was_found() {
    let red = |text: &str| format!("\u{1b}[1m\u{1b}[31m{text}\u{1b}[0m");
    let head = "\u{1b}[35ma\u{1b}[0m\n";
    let place = |place: &str| format!("\u{1b}[32m{:<8}\u{1b}[0m ", format!("{place}:"));
    let cut = |text: &str| Match { truncated: true, ..found("a", 1, 900, text) };
    let cases = [
        // The first place that the daemon names, not the first that matches.
        (r"\bab+\b", found("a", 1, 6, "xab, abb."), format!("{}xab, {}.", place("1:6"), red("abb"))),
        ("é", found("a", 1, 3, "éé"), format!("{}é{}", place("1:3"), red("é"))),
        ("ab", cut("…xxabxx…"), format!("{}…xx{}xx…", place("1:900"), red("ab"))),
        // An empty match, and a pattern that only the daemon understands.
        ("b*", found("a", 1, 1, "aa"), format!("{}aa", place("1:1"))),
        (r"\Qab", found("a", 1, 1, "ab"), format!("{}ab", place("1:1"))),
        // A column that is none is no reason to fail.
        ("a", found("a", 1, 99, "a"), format!("{}a", place("1:99"))),
    ];
    for (pattern, found, line) in cases {
        check(pattern, COLOURED, false, &[found], &format!("{head}{line}\n"));
    }
}

#[test]
fn a_terminal_is_not_handed_the_control_characters_of_a_file() {
    let hostile = [found("a\u{1b}[2J", 1, 1, "x\u{1b}]0;title\u{7}\tend")];
    let plain = Look { palette: Palette::PLAIN, is_terminal: true };
    check("x", plain, false, &hostile, "a\u{fffd}[2J\n1:1:     x\u{fffd}]0;title\u{fffd}\tend\n");
    check("x", PLAIN, false, &hostile, "a\u{1b}[2J\n1:1:     x\u{1b}]0;title\u{7}\tend\n");
}
