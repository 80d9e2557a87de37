use proptest::prelude::*;

use super::*;

fn check(pattern: &str, name: &str, expected: Result<bool, PatternFault>) {
    let actual = PathPattern::parse(pattern).map(|pattern| pattern.matches(name));
    assert_eq!(actual, expected, "{pattern:?} on {name:?}");
}

#[test]
fn patterns_match_the_whole_name() {
    for (pattern, name, expected) in [
        ("", "", true),
        ("", "a", false),
        ("abc", "abc", true),
        ("abc", "abcd", false),
        ("*", "", true),
        ("*", "a/b", false),
        ("*c", "abc", true),
        ("a*/b", "axx/b", true),
        ("a*/b", "a/c/b", false),
        ("*x", "xxx", true),
        ("a*b*c", "a1b2b3c", true),
        ("a*b*c", "a1b2b3", false),
        ("a**b", "ab", true),
        ("?", "é", true),
        ("?", "/", false),
        ("??", "é", false),
        ("a\\*b", "a*b", true),
        ("a\\*b", "axb", false),
        ("\\é", "é", true),
        ("[a-c]", "b", true),
        ("[c-a]", "b", false),
        ("[^a-c]", "b", false),
        ("[^a-c]", "/", true),
        ("a[/]b", "a/b", true),
        ("[!a]", "!", true),
        ("[!a]", "b", false),
        ("[^^]", "^", false),
        ("[\\]]", "]", true),
        ("[\\--a]", "0", true),
        ("[[]", "[", true),
        ("[*]", "*", true),
        ("]", "]", true),
        ("{a,b}", "a", false),
    ] {
        check(pattern, name, Ok(expected));
    }
}

#[test]
fn a_star_skips_bytes_as_in_go() {
    check("*[^é]", "é", Ok(true));
    check("*??", "日", Ok(true));
    check("*[�]", "é", Ok(true));
    check("?é", "é", Ok(false));
}

#[test]
fn malformed_patterns_are_faults_whatever_the_name() {
    for name in ["", "a", "zzz/zzz"] {
        check("\\", name, Err(PatternFault::TrailingBackslash));
        check("a*b\\", name, Err(PatternFault::TrailingBackslash));
        check("[a\\", name, Err(PatternFault::TrailingBackslash));
        check("[", name, Err(PatternFault::UnclosedClass));
        check("[^", name, Err(PatternFault::UnclosedClass));
        check("x*[a", name, Err(PatternFault::UnclosedClass));
        check("[a-", name, Err(PatternFault::UnclosedClass));
        check("[]", name, Err(PatternFault::ClassRange));
        check("[^]", name, Err(PatternFault::ClassRange));
        check("[-a]", name, Err(PatternFault::ClassRange));
        check("[a-]", name, Err(PatternFault::ClassRange));
        check("[a-b-c]", name, Err(PatternFault::ClassRange));
    }
}

#[test]
fn many_stars_take_no_exponential_time() {
    let pattern = format!("{}b", "a*".repeat(500));
    check(&pattern, &"a".repeat(4_000), Ok(false));
    let pattern = format!("{}[b]", "*a".repeat(500));
    check(&pattern, &"a".repeat(4_000), Ok(false));
}

/// The same language by backtracking, for names and patterns of ASCII.
fn naive(pattern: &[char], name: &[char]) -> bool {
    match (pattern.first(), name.first()) {
        (None, _) => name.is_empty(),
        (Some('*'), _) => {
            naive(&pattern[1..], name)
                || name.first().is_some_and(|&next| next != '/' && naive(pattern, &name[1..]))
        }
        (Some(_), None) => false,
        (Some('?'), Some(&next)) => next != '/' && naive(&pattern[1..], &name[1..]),
        (Some(wanted), Some(next)) => wanted == next && naive(&pattern[1..], &name[1..]),
    }
}

proptest! {
    #[test]
    fn no_pattern_panics(pattern in ".*", name in ".*") {
        if let Ok(pattern) = PathPattern::parse(&pattern) {
            pattern.matches(&name);
        }
    }

    #[test]
    fn syntax_soup_does_not_panic(pattern in r"[\[\]\\^*?a/é-]{0,12}", name in r"[\[\]\\^*?a/é-]{0,12}") {
        if let Ok(pattern) = PathPattern::parse(&pattern) {
            pattern.matches(&name);
        }
    }

    #[test]
    fn stars_agree_with_backtracking(pattern in "[*?ab/]{0,8}", name in "[ab/]{0,10}") {
        let expected = naive(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>());
        prop_assert_eq!(PathPattern::parse(&pattern).map(|pattern| pattern.matches(&name)), Ok(expected));
    }

    #[test]
    fn a_name_matches_itself_escaped(name in ".*") {
        let pattern: String = name.chars().flat_map(|character| ['\\', character]).collect();
        prop_assert_eq!(PathPattern::parse(&pattern).map(|pattern| pattern.matches(&name)), Ok(true));
    }
}
