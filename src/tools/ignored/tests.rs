use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use axlr_protocol::tool::ListArguments;

use crate::cancel::Cancel;
use crate::tools::{List, list};
use crate::workspace::Workspace;

/// Lists a tree with its ignore files honoured: the paths that are left, without the ignore files themselves, and how
/// many were left out.
fn listed(root: &Path, scope: &str) -> (Vec<String>, u64) {
    let arguments = ListArguments {
        path: Some(scope.into()),
        recursive: Some(true),
        max_depth: Some(8),
        ignore_files: Some(true),
        ..Default::default()
    };
    let workspace = Workspace::open(root).unwrap();
    let output = list(&workspace, &List::parse(arguments).unwrap(), &Cancel::new(), None).unwrap();
    let is_rule = |path: &str| path.ends_with("ignore") || path.ends_with(".git");
    let paths = output.entries.into_iter().map(|entry| entry.path).filter(|path| !is_rule(path));
    (paths.collect(), output.entries_ignored.unwrap())
}

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let full = root.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }
    root
}

fn check(files: &[(&str, &str)], expected: &[&str], ignored: u64) {
    let root = tree(files);
    let (paths, count) = listed(root.path(), "");
    assert_eq!((paths, count), (expected.iter().map(ToString::to_string).collect(), ignored), "{files:?}");
}

#[test]
fn rules_hold_below_their_directory_with_or_without_a_repository() {
    check(&[(".gitignore", "*.log\n"), ("a.log", ""), ("a.txt", ""), ("d/b.log", "")], &["a.txt", "d"], 2);
    check(&[("d/.gitignore", "x\n"), ("x", ""), ("d/x", ""), ("d/e/x", "")], &["d", "d/e", "x"], 2);
    check(&[("d/.gitignore", "/x\n"), ("d/x", ""), ("d/e/x", "")], &["d", "d/e", "d/e/x"], 1);
    check(&[(".git/info/exclude", "x\n"), ("x", ""), ("d/x", ""), ("y", "")], &["d", "y"], 2);
    check(&[("d/.git/info/exclude", "x\n"), ("x", ""), ("d/x", "")], &["d", "x"], 1);
    check(&[(".gitignore", "x\n"), ("d/.git/HEAD", ""), ("d/x", ""), ("d/y", "")], &["d", "d/y"], 1);
}

#[test]
fn an_ignored_directory_counts_as_one() {
    check(
        &[(".ignore", "target/\n"), ("target/a", ""), ("target/b/c", ""), ("x/target", "")],
        &["x", "x/target"],
        1,
    );
}

#[test]
fn the_deeper_file_of_one_name_decides() {
    let files =
        [(".gitignore", "*.log\n"), ("d/.gitignore", "!keep.log\n"), ("d/keep.log", ""), ("d/x.log", "")];
    check(&files, &["d", "d/keep.log"], 1);
    let files = [(".gitignore", "!*.log\n"), ("d/.gitignore", "*.log\n"), ("d/x.log", ""), ("x.log", "")];
    check(&files, &["d", "x.log"], 1);
}

#[test]
fn ignore_outranks_gitignore_outranks_exclude() {
    check(&[(".gitignore", "x\n"), (".ignore", "!x\n"), ("x", "")], &["x"], 0);
    check(&[(".gitignore", "!x\n"), (".ignore", "x\n"), ("x", "")], &[], 1);
    check(&[(".git/info/exclude", "x\n"), (".gitignore", "!x\n"), ("x", "")], &["x"], 0);
    check(&[(".ignore", "!x\n"), ("d/.gitignore", "x\n"), ("d/x", "")], &["d", "d/x"], 0);
}

#[test]
fn the_last_line_decides_and_an_ignored_directory_cannot_be_reached_into() {
    check(&[(".gitignore", "*\n!a\n"), ("a", ""), ("b", "")], &["a"], 2);
    check(&[(".gitignore", "!a\n*\n"), ("a", "")], &[], 2);
    check(&[(".gitignore", "d/\n!d/a\n"), ("d/a", "")], &[], 1);
}

#[test]
fn lines_are_read_as_git_reads_them() {
    check(
        &[(".gitignore", "\u{feff}a\r\nb \r\n#c\n\\#d\n"), ("a", ""), ("b", ""), ("#c", ""), ("#d", "")],
        &["#c"],
        3,
    );
    let root = tree(&[("a", ""), ("b", ""), ("c", "")]);
    fs::write(root.path().join(".gitignore"), b"a\n\xff\n{\nb\n").unwrap();
    assert_eq!(listed(root.path(), "").0, ["c"]);
}

#[test]
fn many_lines_keep_their_order() {
    let mut rules: String = (0..1_000).map(|number| format!("file-{number}\n")).collect();
    rules.push_str("!file-7\n");
    check(
        &[(".gitignore", &rules), ("file-7", ""), ("file-8", ""), ("file-999", ""), ("file-1000", "")],
        &["file-1000", "file-7"],
        2,
    );
}

#[test]
fn rules_above_the_scope_count_too_but_not_against_the_scope_itself() {
    let root = tree(&[
        (".gitignore", "*.log\n/a/\n"),
        ("a/.ignore", "x\n"),
        ("a/b/x", ""),
        ("a/b/y", ""),
        ("a/b/z.log", ""),
    ]);
    assert_eq!(listed(root.path(), "a"), (vec!["a/b".into(), "a/b/y".into()], 2));
    assert_eq!(listed(root.path(), "a/b"), (vec!["a/b/y".into()], 2));
}

#[test]
fn nothing_outside_the_workspace_is_read() {
    let outer = tree(&[(".gitignore", "x\n"), (".ignore", "x\n"), ("inner/x", ""), ("rules", "x\n")]);
    let inner = outer.path().join("inner");
    assert_eq!(listed(&inner, ""), (vec!["x".into()], 0));
    symlink("../rules", inner.join(".gitignore")).unwrap();
    fs::create_dir_all(inner.join(".git")).unwrap();
    symlink(outer.path(), inner.join(".git/info")).unwrap();
    assert_eq!(listed(&inner, ""), (vec!["x".into()], 0));
}

#[test]
fn what_is_no_file_has_no_rules() {
    let root = tree(&[(".gitignore/x", ""), (".ignore/y", ""), (".git/info/exclude/z", ""), ("a", "")]);
    assert_eq!(listed(root.path(), "").1, 0);
}

#[test]
fn braces_are_literal() {
    let files = |rules| [(".gitignore", rules), ("a", ""), ("b{", ""), ("{a,b}", ""), ("}", "")];
    check(&files("{a,b}\n"), &["a", "b{", "}"], 1);
    check(&files("\\{a,b\\}\n"), &["a", "b{", "}"], 1);
    check(&files("?{\n[}]\n"), &["a", "{a,b}"], 2);
    check(&files("[]{]a*\n[^}]{\n{[\n"), &["a", "}"], 2);
}
