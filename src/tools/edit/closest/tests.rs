use proptest::prelude::*;

use super::*;

#[test]
fn the_closest_place_and_its_first_difference_are_named() {
    let file = "fn main() {\n\tlet total = 1;\r\n    print(total); \n    Done();\n}\n";
    for (text, wanted, expected) in [
        (
            file,
            "fn main() {\n    let total = 1;",
            "the closest candidate is on line 1; the first difference is on line 2, column 1: \
             the file has 1 tab where old_text has 4 spaces",
        ),
        (
            file,
            "\tlet total = 1;\n    print(total);",
            "the closest candidate is on line 2; the first difference is on line 2, column 16: \
             the line ends with CRLF in the file and with LF in old_text",
        ),
        (
            file,
            "print(total);\n    Done",
            "the closest candidate is on line 3; the first difference is on line 3, column 18: \
             the file has trailing space there (1 space)",
        ),
        (
            file,
            "main() { \n\tlet",
            "the closest candidate is on line 1; the first difference is on line 1, column 12: \
             old_text has trailing space there (1 space)",
        ),
        (
            file,
            "    done();",
            "the closest candidate is on line 4; the first difference is on line 4, column 5: \
             the case differs, the file has \"Done();\" and old_text \"done();\"",
        ),
        (
            file,
            "\tlet total = 2;",
            "the closest candidate is on line 2; the first difference is on line 2, column 14: \
             the file has \"1;\\r\" where old_text has \"2;\"",
        ),
        (
            file,
            "mut total = 1;",
            "the closest candidate is on line 2; the first difference is on line 2, column 3: \
             the file has \"et total = 1;\\r\" where old_text has \"ut total = 1;\"",
        ),
        (
            "one\nnew_name(and, more)\n",
            "one\nold_name(and, more)\n",
            "the closest candidate is on line 1; the first difference is on line 2, column 1: \
             the file has \"new_name(and, more)\" where old_text has \"old_name(and, more)\"",
        ),
        (
            "a\nb\n",
            "a\r\nb",
            "the closest candidate is on line 1; the first difference is on line 1, column 2: \
             the line ends with LF in the file and with CRLF in old_text",
        ),
        (
            "key =  value\n",
            "key = value",
            "the closest candidate is on line 1; the first difference is on line 1, column 7: \
             the file has 2 spaces where old_text has 1 space",
        ),
        (
            "one two three",
            "one two three four",
            "the closest candidate is on line 1; the first difference is on line 1, column 14: \
             the file ends where old_text has \" four\"",
        ),
        (
            "eta gamma delta",
            "beta gamma delta",
            "the closest candidate is on line 1; the first difference is on line 1, column 1: \
             the file has \"eta gamma delta\" where old_text has \"beta gamma delta\"",
        ),
        (
            "x\nfoo {\n}\n",
            "foo {\n\n}",
            "the closest candidate is on line 2; the first difference is on line 3, column 1: \
             the file has \"}\" where old_text has a line end",
        ),
    ] {
        assert_eq!(describe(text, wanted).as_deref(), Some(expected), "{wanted:?}");
    }
}

#[test]
fn what_comes_close_to_nothing_says_nothing() {
    for (text, wanted) in [("a a", "zz"), ("", "x"), ("abc", "   "), ("hello world", "xxxxxxxxlo")] {
        assert_eq!(describe(text, wanted), None, "{text:?} {wanted:?}");
    }
}

proptest! {
    #[test]
    fn it_is_never_at_a_loss(text in "[abAB \t\r\né]{0,60}", wanted in "[abAB \t\r\né]{1,12}") {
        if !text.contains(&wanted) {
            describe(&text, &wanted);
        }
    }

    #[test]
    fn a_changed_case_is_found(before in "[a-z\n]{0,40}", word in "[a-z]{3,9}", after in "[0-9\n]{0,40}") {
        let text = format!("{before}\n{word}\n{after}");
        let wanted = word.to_uppercase();
        prop_assert!(describe(&text, &wanted).unwrap().contains("case"));
    }
}

#[test]
fn a_text_that_is_alike_in_the_midst_only_has_a_closest_place_too() {
    let file = "use a;\n\nfn total(list: &[u32]) -> u32 {\n\tlist.iter().sum()\n}\n";
    for (text, wanted, expected) in [
        (
            file,
            "pub fn sum(list: &[u32]) {\n    list.iter().sum()\n}}",
            "the closest candidate is on line 3; the first difference is on line 4, column 1: \
             the file has 1 tab where old_text has 4 spaces",
        ),
        (
            "say \u{201c}quoted\u{201d}\n",
            "\"quoted\"",
            "the closest candidate is on line 1; the first difference is on line 1, column 5: \
             the file has \"\u{201c}quoted\u{201d}\" where old_text has \"\\\"quoted\\\"\"",
        ),
        (
            "before\n  the very same line\nbehind\n",
            "other\n    the very same line\nelse",
            "the closest candidate is on line 1; the first difference is on line 2, column 3: \
             the file has 2 spaces where old_text has 4 spaces",
        ),
        (
            "before\n    the very same line\nbehind\n",
            "other\n  the very same line\nelse",
            "the closest candidate is on line 1; the first difference is on line 2, column 3: \
             the file has 4 spaces where old_text has 2 spaces",
        ),
        (
            "alpha\nthe very same line\nomega\n",
            "gamma\nthe very same line\ndelta ray",
            "the closest candidate is on line 1; the first difference is on line 1, column 4: \
             the file has \"ha\" where old_text has \"ma\"",
        ),
    ] {
        assert_eq!(describe(text, wanted).as_deref(), Some(expected), "{wanted:?}");
    }
    assert_eq!(describe("some text\n", "[entirely] (different) {words}"), None);
}
