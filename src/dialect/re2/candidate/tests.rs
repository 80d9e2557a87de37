use proptest::prelude::*;
use regex_automata::{Input, meta::Regex, util::syntax};

use crate::dialect::re2::{Options, translate};

const WANTED: &dyn Fn() -> bool = &|| false;

#[test]
fn candidates_are_looser_but_no_more_than_needed() {
    let candidate = |pattern: &str| {
        let translation = translate(pattern, Options::default(), WANTED).expect(pattern);
        translation.candidate_pattern().map(str::to_owned)
    };
    assert_eq!(candidate("foo"), Some("(?:foo)".to_owned()));
    assert_eq!(candidate(r"^a\z"), Some("(?:(?m:^)a(?mR:$))".to_owned()));
    assert_eq!(candidate(r"\b[a\n]"), Some(r"(?:(?-u:\b)a)".to_owned()));
    assert_eq!(candidate(r"a\n?b"), Some("(?:a[a&&b]?b)".to_owned()));
    assert_eq!(candidate(r"\pL{2}").map(|pattern| pattern.ends_with("{2}")), Some(false));
    assert_eq!(candidate("a{200}b{2,300}"), Some("(?:a{200}b{2,300})".to_owned()));
    assert_eq!(candidate("((a{2,})?b)?c"), Some("(?:(?:(a{2,})?b)?c)".to_owned()));
    assert_eq!(candidate("x*"), None);
    assert_eq!(candidate(&r"\pL".repeat(30)), None);
    assert_eq!(candidate(&format!("{}a{}", "(?:b|c(?:a".repeat(200), ")*)*".repeat(200))), None);
}

/// The lines of a text that a search with the candidate pattern finds: a match finds its line, the search goes on with
/// the next.
fn candidate_lines(pattern: &str, text: &str) -> Vec<usize> {
    let syntax = syntax::Config::new().utf8(false).multi_line(true);
    let regex = Regex::builder()
        .configure(Regex::config().utf8_empty(false))
        .syntax(syntax)
        .build(pattern)
        .expect(pattern);
    let text = text.as_bytes();
    let is_end = |byte: &&u8| **byte == b'\n';
    let mut lines = Vec::new();
    let mut position = 0;
    while let Some(found) = regex.find(Input::new(text).range(position..)) {
        assert!(!text[found.range()].contains(&b'\n'), "{pattern:?} leaves its line in {text:?}");
        lines.push(text[..found.start()].iter().filter(is_end).count());
        let Some(end) = text[found.start()..].iter().position(|byte| is_end(&byte)) else { break };
        position = found.start() + end + 1;
    }
    lines
}

fn check_candidates(pattern: &str, text: &str) {
    let Ok(translation) = translate(pattern, Options::default(), WANTED) else { return };
    let Some(candidate) = translation.candidate_pattern() else { return };
    let matcher = translation.compile(WANTED).expect(pattern);
    let found = candidate_lines(candidate, text);
    // `str::lines` would leave the `\r` of a file that ends in one.
    for (index, line) in text.split_terminator('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let wanted = matcher.find_line(line.as_bytes()).is_some();
        assert!(
            !wanted || found.contains(&index),
            "{pattern:?} as {candidate:?} misses {line:?} of {text:?}"
        );
    }
}

fn some_pattern() -> impl Strategy<Value = String> {
    const LEAVES: &[&str] = &[
        "a",
        "b",
        "k",
        "é",
        "_",
        " ",
        ".",
        "(?s).",
        "^",
        "$",
        r"\A",
        r"\z",
        r"\b",
        r"\B",
        r"\s",
        r"\S",
        r"\w",
        r"\W",
        r"\n",
        r"\r",
        r"\x{D800}",
        "[^a]",
        r"[^\n]",
        r"[\r\n]",
        r"[a\n]",
        r"[^\s]",
        r"\pL",
        "[[:space:]]",
        "(?i)k",
        "(?m)^",
        "(?m)$",
        "",
        r"\Q.\E",
        "(?i:K)",
        "(?U)",
        r"\r\n",
        "b?",
        r"\b$",
        r"$\b",
        r"^\B",
        r"\B$",
        "a$^",
    ];
    const REPEATS: &[&str] = &["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{2,}", "{0}", "{1,600}"];
    prop::sample::select(LEAVES).prop_map(str::to_owned).prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner, prop::sample::select(REPEATS)).prop_map(|(part, repeat)| format!("({part}){repeat}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn candidates_miss_no_line(pattern in some_pattern(), text in "([abkKé_ \u{212A}]|\r|\n|\r\n){0,12}") {
        check_candidates(&pattern, &text);
    }
}
