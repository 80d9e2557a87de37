use proptest::prelude::*;

use super::*;

const WANTED: &dyn Fn() -> bool = &|| false;

fn find(pattern: &str, options: Options, line: &str) -> Result<Option<(usize, usize)>, PatternError> {
    let matcher = translate(pattern, options, WANTED)?.compile(WANTED)?;
    Ok(matcher.find_line(line.as_bytes()))
}

fn check(pattern: &str, line: &str, expected: Option<(usize, usize)>) {
    assert_eq!(find(pattern, Options::default(), line), Ok(expected), "{pattern:?} on {line:?}");
}

fn check_refused(pattern: &str, expected: &str) {
    let refused = find(pattern, Options::default(), "").expect_err(pattern);
    assert_eq!(refused.to_string(), expected, "{pattern:?}");
}

#[test]
fn perl_classes_and_boundaries_are_ascii() {
    check(r"\d", "\u{663}4", Some((2, 3)));
    check(r"\D", "1\u{663}", Some((1, 3)));
    check(r"\w+", "naïve", Some((0, 2)));
    check(r"\W", "aé", Some((1, 3)));
    check(r"[^\w]", "ß", Some((0, 2)));
    check(r"\s", "\u{b}\u{a0}", None);
    check(r"[[:space:]]", "\u{b}", Some((0, 1)));
    check(r"\bve\b", "naïve", Some((4, 6)));
    check(r"\B", "日", Some((0, 0)));
    check(r"x\B", "x日", None);
    check(r"\b日", "日", None);
}

#[test]
fn ends_of_the_line_are_its_ends_whatever_the_flags() {
    for flags in ["", "(?m)", "(?-m)", "(?s)"] {
        check(&format!("{flags}^a$"), "a", Some((0, 1)));
        check(&format!(r"{flags}\Aa\z"), "a", Some((0, 1)));
        check(&format!("{flags}b"), "a\rb", Some((2, 3)));
        check(&format!("{flags}^b"), "a\rb", None);
        check(&format!("{flags}a.b"), "a\rb", Some((0, 3)));
        check(&format!("{flags}$"), "é", Some((2, 2)));
    }
    check("^*", "ab", Some((0, 0)));
    check(r"a\n?b", "ab", Some((0, 2)));
    check(r"a\nb", "ab", None);
    check(r"[\n]", "a", None);
}

#[test]
fn escapes_are_those_of_go() {
    check(r"\x41\x{41}\101\Q.*\E\_\-", "AAA.*_-", Some((0, 7)));
    check(r"\a\f\t\v", "\u{7}\u{c}\t\u{b}", Some((0, 4)));
    check(r"\0101", "\u{8}1", Some((0, 2)));
    check(r"\08", "\08", Some((0, 2)));
    check(r"\x{10FFFF}", "\u{10FFFF}", Some((0, 4)));
    check(r"\<a\>", "<a>", Some((0, 3)));
    check(r"\b{start}", "b{start}", Some((1, 8)));
    check(r"\Qab\E+", "abb", Some((0, 3)));
    check(r"\Qa\Qb", r"a\Qb", Some((0, 4)));
    check(r"a*\Q\E*", "aa", Some((0, 2)));
    check(r"\x{D800}|x", "x", Some((0, 1)));
    check(r"[\x{D7FF}-\x{E000}]", "\u{E000}", Some((0, 3)));
    check_refused(r"\8", r"invalid escape sequence: `\8`");
    check_refused(r"\1", r"invalid escape sequence: `\1`");
    check_refused(r"a\y", r"invalid escape sequence: `\y`");
    check_refused(r"\é", r"invalid escape sequence: `\é`");
    check_refused(r"\C", r"invalid escape sequence: `\C`");
    check_refused(r"\E", r"invalid escape sequence: `\E`");
    check_refused(r"\Z", r"invalid escape sequence: `\Z`");
    check_refused(r"\x{110000}", r"invalid escape sequence: `\x{110000`");
    check_refused(r"\x{}", r"invalid escape sequence: `\x{}`");
    check_refused(r"\x4g", r"invalid escape sequence: `\x4g`");
    check_refused("a\\", "trailing backslash at end of expression: `\\`");
}

#[test]
fn classes_are_those_of_go() {
    check("[]a]", "]", Some((0, 1)));
    check("[^]a]+", "]bc", Some((1, 3)));
    check("[[a]]", "a]", Some((0, 2)));
    check("[a&&b]", "&", Some((0, 1)));
    check("[a-]", "-", Some((0, 1)));
    check(r"[\d-z]", "-", Some((0, 1)));
    check(r"[a-\x{63}]", "b", Some((0, 1)));
    check("[:alpha:]", ":", Some((0, 1)));
    check("[[:^digit:]]", "5a", Some((1, 2)));
    check("[[:word:]]+", "é_a", Some((2, 4)));
    check(r"[^\S\s]", "a", None);
    check(r"[^\x00-\x{10FFFF}]", "a", None);
    check("[(?i)a]", "i", Some((0, 1)));
    check_refused("[a", "missing closing ]: `[a`");
    check_refused("x[]", "missing closing ]: `[]`");
    check_refused("[z-a]", "invalid character class range: `z-a`");
    check_refused("[[:foo:]]", "invalid character class range: `[:foo:]`");
    check_refused("[a-[:digit:]]", "invalid character class range: `a-[`");
    check_refused(r"[a-\d]", r"invalid escape sequence: `\d`");
    check_refused("[\\", "trailing backslash at end of expression: `\\`");
}

#[test]
fn unicode_classes_go_by_name() {
    check(r"\pN\p{Greek}\p{^Lu}\P{^Nd}", "½λa7", Some((0, 6)));
    check(r"\p{upper case-let_ter}", "aÉ", Some((1, 3)));
    check(r"\p{old italic}\p{SignWriting}", "\u{10300}\u{1D800}", Some((0, 8)));
    check(r"\p{Any}\p{ascii}\p{Assigned}\p{LC}", "éaéa", Some((0, 6)));
    check(r"\p{Cs}", "a", None);
    check(r"\p{Cn}\PC", "\u{378}a", Some((0, 3)));
    check_refused(r"\pX", r"invalid character class range: `\pX`");
    check_refused(r"a\p", r"invalid character class range: `\p`");
    check_refused(r"\p{Grek}b", r"invalid character class range: `\p{Grek}`");
    check_refused(r"\p{Script=Greek}", r"invalid character class range: `\p{Script=Greek}`");
    check_refused(r"\p{Greek", r"invalid character class range: `\p{Greek`");
    check_refused(r"\p^", r"invalid character class range: `\p^`");
}

#[test]
fn tables_are_those_of_unicode_17() {
    check(r"\p{Sidetic}\p{Tai_Yo}\p{tolong siki}", "\u{10940}\u{1E6C0}\u{11DE0}", Some((0, 12)));
    check(r"\p{Lo}\P{Ll}\p{Han}", "\u{295}\u{295}\u{323B0}", Some((0, 8)));
    check(r"\p{Cn}", "\u{20C1}", None);
    check(r"\p{Sc}", "\u{20C1}", Some((0, 3)));
    check("(?i)\u{A7CE}\u{A7D3}\u{16EBC}", "\u{A7CF}\u{A7D2}\u{16EA1}", Some((0, 10)));
    check("(?i)[^\u{A7CE}]", "\u{A7CF}", None);
}

#[test]
fn case_is_folded_part_by_part() {
    check("(?i)k", "\u{212A}", Some((0, 3)));
    check("(?i)[^k]", "\u{212A}", None);
    check(r"(?i)\w", "ſ", Some((0, 2)));
    check(r"(?i)\W", "ſ", None);
    check("(?i)[[:upper:]]", "a", Some((0, 1)));
    check(r"(?i)\P{Lu}", "é", None);
    check(r"(?i)[a-\x{10FFFF}]", "Z", Some((0, 1)));
    check("(?i)i", "İ", None);
    check("(?i)ß", "SS", None);
    check("a(?i)b|c", "C", Some((0, 1)));
    check("((?i)a)b", "AB", None);
    check("(?i)a(?-i)b", "Ab", Some((0, 2)));
}

#[test]
fn wide_ranges_fold_as_their_characters_do() {
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
    for (low, high) in [('\0', '\u{FFFF}'), ('b', '\u{16EA8}'), ('\u{2000}', char::MAX)] {
        let mut expected = ClassUnicode::new([ClassUnicodeRange::new(low, high)]);
        class::fold_class(&mut expected);
        let pattern = format!("[{low}-{high}]");
        let folded = class::parse_bracket(&pattern, true, &mut names::Names::default()).expect("valid").0;
        assert_eq!(folded, expected, "{pattern}");
    }
}

#[test]
fn options_ignore_case_and_read_literally() {
    let literal = Options { literal: true, ignore_case: false };
    let both = Options { literal: true, ignore_case: true };
    let ignore_case = Options { literal: false, ignore_case: true };
    assert_eq!(find("a.b", literal, "axb a.b"), Ok(Some((4, 7))));
    assert_eq!(find(r"\Q(", literal, r"\Q("), Ok(Some((0, 3))));
    assert_eq!(find("a\nb", literal, "ab"), Ok(None));
    assert_eq!(find("[K]", both, "[\u{212A}]"), Ok(Some((0, 5))));
    assert_eq!(find(r"a\d", ignore_case, "A1"), Ok(Some((0, 2))));
    assert!(find("*", ignore_case, "").is_err());
}

#[test]
fn groups_and_flags_are_those_of_go() {
    check("(?P<n>a)(?<n>b)", "ab", Some((0, 2)));
    check("(?<1a>a)", "a", Some((0, 1)));
    check("(?)a", "a", Some((0, 1)));
    check("(?ii)a", "A", Some((0, 1)));
    check("(?i-s:A)b", "ab", Some((0, 2)));
    check("(?U)a+", "aa", Some((0, 1)));
    check("(?U)a+?", "aa", Some((0, 2)));
    check("(?U:a*)b?", "ab", Some((0, 0)));
    check("x(?i)", "x", Some((0, 1)));
    for refused in
        ["(?x)a", "(?u)a", "(?R)a", "(?=a)", "(?!a)", "(?>a)", "(?P=n)", "(?-)", "(?i-)", "(?--i)", "(?"]
    {
        let error = find(refused, Options::default(), "").expect_err(refused).to_string();
        assert!(error.starts_with("invalid or unsupported Perl syntax: `(?"), "{error}");
    }
    check_refused("(?<=a)", "invalid named capture: `(?<=a)`");
    check_refused("(?P<a b>c)", "invalid named capture: `(?P<a b>`");
    check_refused("(?P<n", "invalid named capture: `(?P<n`");
    check_refused("(a", "missing closing ): `(a`");
    check_refused("a)", "unexpected ): `a)`");
}

#[test]
fn repetitions_are_those_of_go() {
    check("a{2,3}?", "aaaa", Some((0, 2)));
    check("a{0}b", "ab", Some((1, 2)));
    for text in ["a{,2}", "a{", "a{}", "a{2", "a{ 2}", "a{02}", "a{2,x}", "{,2}"] {
        check(text, text, Some((0, text.len())));
    }
    check("a*{", "aa{", Some((0, 3)));
    check("(|a)*", "aaa", Some((0, 0)));
    check("(a|)+", "aaa", Some((0, 3)));
    check("(?:a?){3}a{3}", "aaa", Some((0, 3)));
    check("a*(?i)*", "aa", Some((0, 2)));
    check("(?:a{0,1000})?", "aaa", Some((0, 3)));
    check("(?:(?:a{2,}){3}){4}", &"a".repeat(24), Some((0, 24)));
    check("(?:a{1000}){0}", "a", Some((0, 0)));
    check("(?:(?:a{1000}){0}){1000}", "a", Some((0, 0)));
    check_refused("a{1001}", "invalid repeat count (at most 1000, nested ones multiplied): `{1001}`");
    check_refused(
        "a{99999999999}",
        "invalid repeat count (at most 1000, nested ones multiplied): `{99999999999}`",
    );
    check_refused("a{2,1}", "invalid repeat count (at most 1000, nested ones multiplied): `{2,1}`");
    check_refused("(a{501}){2}", "invalid repeat count (at most 1000, nested ones multiplied): `{2}`");
    check_refused(
        "(a{1000}b*|c){2,}?",
        "invalid repeat count (at most 1000, nested ones multiplied): `{2,}?`",
    );
    check_refused("a**", "invalid nested repetition operator: `**`");
    check_refused("a{2}??", "invalid nested repetition operator: `{2}??`");
    for missing in ["*", "a|*", "(*)", "(?i)*", r"\Q\E*", "^|+", "{2}"] {
        let error = find(missing, Options::default(), "").expect_err(missing).to_string();
        assert!(error.starts_with("missing argument to repetition operator: `"), "{error}");
    }
}

#[test]
fn nesting_is_bounded_as_in_go() {
    let nested = |levels: usize| format!("{}a{}", "(".repeat(levels), ")".repeat(levels));
    check(&nested(999), "a", Some((0, 1)));
    check_refused(&nested(1_000), "expression nests too deeply: at most 1000 levels");
    check(&format!("{}a{}", "(?:".repeat(1_000), ")".repeat(1_000)), "a", Some((0, 1)));
    // The deepest tree that there is compiles on an ordinary stack.
    let deep = format!("{}a{}", "(?:b|ca".repeat(499), ")*".repeat(499));
    check_refused(&deep, "expression nests too deeply: at most 1000 levels");
    let deep = format!("{}a{}", "(?:b|ca".repeat(333), ")*".repeat(333));
    check(&deep, "xcaca", Some((0, 0)));
}

#[test]
fn size_is_bounded_and_counted_unicode_classes_fit() {
    check(r"\pL{1000}", &"é".repeat(1_001), Some((0, 2_000)));
    for too_large in
        [format!("(?:{}){{1000}}", "x?".repeat(2_000)), r"(?:\pL\pL\pL\pL\pL\pL){1000}".to_owned()]
    {
        assert_eq!(find(&too_large, Options::default(), "x"), Err(PatternError::TooLarge));
    }
    assert!(PatternError::TooLarge.to_string().contains("67108864 bytes"));
}

#[test]
fn excerpts_are_cut() {
    let refused = find(&format!("[{}", "é".repeat(100)), Options::default(), "").expect_err("refused");
    assert_eq!(refused.to_string(), format!("missing closing ]: `[{}…`", "é".repeat(79)));
}

#[test]
fn a_cancelled_translation_ends() {
    let cancelled: &dyn Fn() -> bool = &|| true;
    assert_eq!(translate("a", Options::default(), cancelled), Err(PatternError::Cancelled));
    let translation = translate("a", Options::default(), WANTED).expect("valid");
    assert_eq!(translation.compile(cancelled).err(), Some(PatternError::Cancelled));
}

#[test]
fn a_matcher_can_be_shared_by_threads() {
    fn is_shared<T: Send + Sync + Clone>() {}
    is_shared::<Matcher>();
    is_shared::<Translation>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_pattern_panics_and_twice_is_the_same(
        pattern in prop_oneof![".*", r"[()\[\]{}|*+?^$.\\,:<>0-9a-zA-Z?é-]{0,16}"],
        literal: bool,
        ignore_case: bool,
    ) {
        let options = Options { literal, ignore_case };
        let once = translate(&pattern, options, WANTED);
        prop_assert_eq!(&once, &translate(&pattern, options, WANTED));
        if let Ok(translation) = once {
            let _ = translation.compile(WANTED).map(|matcher| matcher.find_line("aé1".as_bytes()));
        }
    }

    #[test]
    fn a_literal_finds_itself(text in "[^\n]{0,20}") {
        let literal = Options { literal: true, ignore_case: false };
        prop_assert_eq!(find(&text, literal, &text), Ok(Some((0, text.len()))));
        let quoted = regex_syntax::escape(&text);
        prop_assert_eq!(find(&quoted, Options::default(), &text), Ok(Some((0, text.len()))));
    }
}
