use proptest::prelude::*;

use super::*;

#[test]
fn globs_look_at_the_right_part_of_a_path() {
    for (glob, path, expected) in [
        ("*.go", "a.go", true),
        ("*.go", "x/y/a.go", true),
        ("*.go", "x.go/y", false),
        ("src/*.go", "src/a.go", true),
        ("src/*.go", "x/src/a.go", false),
        ("src/*.go", "src/x/a.go", false),
        ("**/*.go", "a.go", true),
        ("**/*.go", "x/y/a.go", true),
        ("**/cmd/*.go", "cmd/a.go", true),
        ("**/cmd/*.go", "x/y/cmd/a.go", true),
        ("**/cmd/*.go", "xcmd/a.go", false),
        ("**/cmd/*.go", "x/cmd/y/a.go", false),
        ("**/**/a.go", "a.go", false),
        ("**/**/a.go", "w/x/a.go", true),
        ("**", "x/a.go", true),
        ("docs/**", "docs/a", true),
        ("docs/**", "docs/x/a", false),
        ("docs/", "docs", false),
        ("./a.go", "a.go", false),
        ("../a", "a", false),
        ("a[/]b", "a/b", true),
        ("**/a[/]b", "q/a/b", true),
        ("!*.go", "a.go", false),
    ] {
        let parsed = Glob::parse(glob).expect(glob).expect(glob);
        assert_eq!(parsed.matches(path), expected, "{glob:?} on {path:?}");
    }
}

#[test]
fn an_empty_glob_is_not_given() {
    assert_eq!(Glob::parse(""), Ok(None));
}

#[test]
fn faults_say_what_is_wrong() {
    for (glob, expected) in [
        ("/abs", GlobFault::Absolute),
        ("/", GlobFault::Absolute),
        ("**/", GlobFault::EmptyAfterStars),
        ("**//a", GlobFault::AbsoluteAfterStars),
        ("a\0b", GlobFault::Nul),
        ("[", GlobFault::Malformed(PatternFault::UnclosedClass)),
        ("**/[a-]", GlobFault::Malformed(PatternFault::ClassRange)),
        ("a\\", GlobFault::Malformed(PatternFault::TrailingBackslash)),
    ] {
        assert_eq!(Glob::parse(glob), Err(expected), "{glob:?}");
    }
    assert_eq!(
        GlobFault::from(PatternFault::UnclosedClass).to_string(),
        "is malformed: a `[` has no closing `]`"
    );
}

proptest! {
    #[test]
    fn no_glob_panics(glob in r"[*?/\[\]\\^a.é-]{0,12}", path in "[a.é]{1,3}(/[a.é]{1,3}){0,3}") {
        if let Ok(Some(glob)) = Glob::parse(&glob) {
            glob.matches(&path);
        }
    }

    #[test]
    fn stars_and_slash_reach_below_any_directory(directories in "([ab]{1,2}/){0,3}", path in "[ab]{1,2}/[ab]{1,2}") {
        let glob = Glob::parse(&format!("**/{path}")).unwrap().unwrap();
        let path = directories + &path;
        prop_assert!(glob.matches(&path));
    }
}
