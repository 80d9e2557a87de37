use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use tokio::sync::mpsc;

use super::*;
use crate::tools;

fn arguments(path: &str) -> ListArguments {
    ListArguments { path: Some(path.into()), ..Default::default() }
}

fn deep(path: &str) -> ListArguments {
    ListArguments { recursive: Some(true), max_depth: Some(8), ..arguments(path) }
}

fn run(root: &Path, arguments: ListArguments) -> Result<ListOutput, Error> {
    list(&Workspace::open(root).unwrap(), &List::parse(arguments)?, &Cancel::new(), None)
}

fn paths(output: &ListOutput) -> Vec<&str> {
    output.entries.iter().map(|entry| entry.path.as_str()).collect()
}

fn tree(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for path in files {
        let full = root.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, "abc").unwrap();
    }
    root
}

fn entry(path: &str, kind: EntryType, size: Option<u64>) -> Entry {
    Entry { path: path.into(), kind, size, name_lossy: false }
}

#[test]
fn entries_have_a_type_and_files_a_size() {
    let root = tree(&["d/x", "f"]);
    symlink("f", root.path().join("s")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("t")).unwrap();
    let expected = ListOutput {
        entries: vec![
            entry("d", EntryType::Dir, None),
            entry("f", EntryType::File, Some(3)),
            entry("s", EntryType::Symlink, None),
            entry("t", EntryType::Other, None),
        ],
        ..Default::default()
    };
    assert_eq!(run(root.path(), ListArguments::default()).unwrap(), expected);
    assert_eq!(run(root.path(), arguments(".")).unwrap(), expected);
}

#[test]
fn the_depth_is_counted_from_the_path() {
    let root = tree(&["1/2/3/4/5/6/7/8/9"]);
    let count = |arguments| run(root.path(), arguments).unwrap().entries.len();
    assert_eq!(count(arguments("")), 1);
    assert_eq!(count(ListArguments { max_depth: Some(4), ..arguments("") }), 1);
    assert_eq!(count(ListArguments { recursive: Some(true), ..arguments("") }), 3);
    assert_eq!(count(ListArguments { recursive: Some(true), max_depth: Some(0), ..arguments("") }), 3);
    assert_eq!(count(deep("")), 8);
    assert_eq!(count(deep("1/2")), 7);
}

#[test]
fn git_is_listed_and_not_entered_and_our_own_are_left_out() {
    let root = tree(&[".git/HEAD", ".axlr/a", ".kernel/k", "d/.axlr/a", "d/.git", "d/x"]);
    assert_eq!(paths(&run(root.path(), deep("")).unwrap()), [".git", "d", "d/.git", "d/x"]);
    assert_eq!(paths(&run(root.path(), deep(".git")).unwrap()), [".git/HEAD"]);
    assert_eq!(paths(&run(root.path(), deep(".axlr")).unwrap()), [".axlr/a"]);
    assert_eq!(paths(&run(root.path(), deep(".kernel/k")).unwrap()), [".kernel/k"]);
}

#[test]
fn what_is_no_directory_describes_itself() {
    let root = tree(&["d/f"]);
    symlink("d", root.path().join("s")).unwrap();
    symlink("/", root.path().join("out")).unwrap();
    let described = |path: &str| run(root.path(), arguments(path)).unwrap().entries;
    assert_eq!(described("d/f"), [entry("d/f", EntryType::File, Some(3))]);
    assert_eq!(described("s/"), [entry("s", EntryType::Symlink, None)]);
    assert_eq!(described("out"), [entry("out", EntryType::Symlink, None)]);
    assert_eq!(described("s/f"), [entry("s/f", EntryType::File, Some(3))]);
    assert_eq!(run(root.path(), ListArguments { offset: Some(1), ..arguments("d/f") }).unwrap().entries, []);
}

#[test]
fn a_path_that_cannot_be_had_is_a_fault() {
    let root = tree(&["d/f"]);
    symlink("/etc", root.path().join("out")).unwrap();
    let kind = |path: &str| run(root.path(), arguments(path)).unwrap_err().kind;
    assert_eq!(kind("none"), tools::Kind::NotFound);
    assert_eq!(kind("d/f/g"), tools::Kind::Filesystem);
    assert_eq!(kind("out/passwd"), tools::Kind::Filesystem);
    let message = run(root.path(), arguments("out/passwd")).unwrap_err().message;
    assert_eq!(message, "path \"out/passwd\" leads outside the workspace");
}

#[test]
fn a_directory_that_cannot_be_read_is_listed_without_entries() {
    let root = tree(&["a/x", "b"]);
    fs::set_permissions(root.path().join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    let listed = run(root.path(), deep("")).unwrap();
    fs::set_permissions(root.path().join("a"), fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser reads it all the same.
    if !rustix::process::geteuid().is_root() {
        assert_eq!(paths(&listed), ["a", "b"]);
    }
}

#[test]
fn names_that_are_not_utf8_are_marked_and_not_entered() {
    let root = tree(&["a"]);
    let lossy = root.path().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&lossy).unwrap();
    fs::write(lossy.join("x"), "").unwrap();
    fs::write(root.path().join(OsStr::from_bytes(b"f\xff")), "12").unwrap();
    let output = run(root.path(), deep("")).unwrap();
    let lossy = |entry| Entry { name_lossy: true, ..entry };
    let expected = [
        entry("a", EntryType::File, Some(3)),
        lossy(entry("d\u{fffd}", EntryType::Dir, None)),
        lossy(entry("f\u{fffd}", EntryType::File, Some(2))),
    ];
    assert_eq!(output.entries, expected);
    let arguments = ListArguments { glob: Some("?\u{fffd}".into()), ..deep("") };
    assert_eq!(paths(&run(root.path(), arguments).unwrap()), ["d\u{fffd}", "f\u{fffd}"]);
}

#[test]
fn a_glob_filters_what_is_shown_and_not_what_is_entered() {
    let root = tree(&["a.txt", "d/b.txt", "d/c.md", "e.txt/x"]);
    let globbed = |glob: &str| {
        let arguments = ListArguments { glob: Some(glob.into()), ..deep("") };
        run(root.path(), arguments).unwrap().entries.into_iter().map(|entry| entry.path).collect::<Vec<_>>()
    };
    assert_eq!(globbed("*.txt"), ["a.txt", "d/b.txt", "e.txt"]);
    assert_eq!(globbed("d/*"), ["d/b.txt", "d/c.md"]);
    assert_eq!(globbed("").len(), 6);
}

#[test]
fn pages_follow_each_other() {
    let root = tree(&["a", "b", "c"]);
    let page = |offset, max_entries| {
        let arguments =
            ListArguments { offset: Some(offset), max_entries: Some(max_entries), ..arguments("") };
        let output = run(root.path(), arguments).unwrap();
        (output.entries.len(), output.next_offset, output.truncated)
    };
    assert_eq!(page(0, 2), (2, Some(2), true));
    assert_eq!(page(2, 2), (1, None, false));
    assert_eq!(page(0, 3), (3, None, false));
    assert_eq!(page(3, 3), (0, None, false));
    assert_eq!(page(i64::MAX, 3), (0, None, false));
}

#[test]
fn bytes_bound_a_page_that_holds_at_least_one_entry() {
    let root = tree(&["a", "b", "c"]);
    let size = r#"{"path":"a","type":"file","size":3},"#.len() as i64;
    let page = |max_bytes| {
        let arguments = ListArguments { max_bytes: Some(max_bytes), ..arguments("") };
        let output = run(root.path(), arguments).unwrap();
        (output.entries.len(), output.next_offset)
    };
    assert_eq!(page(1), (1, Some(1)));
    assert_eq!(page(2 * size - 1), (1, Some(1)));
    assert_eq!(page(2 * size), (2, Some(2)));
    assert_eq!(page(3 * size), (3, None));
}

#[test]
fn a_listing_stops_behind_so_many_entries() {
    let root = tempfile::tempdir().unwrap();
    let most = limits::LIST_MAX_ENTRIES;
    for number in 0..most {
        fs::write(root.path().join(format!("{number:05}")), "").unwrap();
    }
    let last = ListArguments { offset: Some(most as i64 - 1), ..arguments("") };
    let output = run(root.path(), last.clone()).unwrap();
    assert_eq!((paths(&output), output.truncated, output.limit_reached), (vec!["19999"], false, false));
    fs::write(root.path().join("one-more"), "").unwrap();
    let output = run(root.path(), last).unwrap();
    assert_eq!((paths(&output), output.truncated, output.limit_reached), (vec!["19999"], true, true));
    assert_eq!(output.next_offset, None);
    let output = run(root.path(), arguments("")).unwrap();
    assert_eq!((output.next_offset, output.limit_reached), (Some(200), false));
}

#[test]
fn malformed_arguments_are_refused_by_name_value_and_limit() {
    let none = ListArguments::default;
    let cases = [
        (ListArguments { max_entries: Some(501), ..none() }, "max_entries 501 exceeds the limit of 500"),
        (
            ListArguments { max_depth: Some(-1), ..none() },
            "max_depth -1 is less than 1 (0 means the default, 3)",
        ),
        (ListArguments { max_depth: Some(9), ..none() }, "max_depth 9 exceeds the limit of 8"),
        (
            ListArguments { max_bytes: Some(1 << 21), ..none() },
            "max_bytes 2097152 exceeds the 1048576 byte limit",
        ),
        (ListArguments { offset: Some(-1), ..none() }, "offset -1 is less than 0"),
        (arguments("a/../b"), "path \"a/../b\" must not contain the component \"..\""),
        (arguments("/a"), "path \"/a\" must be relative to the workspace"),
        (
            ListArguments { glob: Some("/a".into()), ..none() },
            "glob \"/a\" is absolute: paths are relative to the workspace",
        ),
    ];
    for (arguments, message) in cases {
        let error = List::parse(arguments).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (tools::Kind::Malformed, message));
    }
}

#[test]
fn ignored_entries_are_counted_when_asked_for() {
    let root = tree(&["a", "b/c", "b/d", "e"]);
    fs::write(root.path().join(".ignore"), "/b\n/e\n").unwrap();
    let arguments = ListArguments { ignore_files: Some(true), ..deep("") };
    let output = run(root.path(), arguments.clone()).unwrap();
    assert_eq!((paths(&output), output.entries_ignored), (vec![".ignore", "a"], Some(2)));
    // What lies behind the decision is not counted.
    let output = run(root.path(), ListArguments { max_entries: Some(1), ..arguments.clone() }).unwrap();
    assert_eq!((paths(&output), output.entries_ignored), (vec![".ignore"], Some(0)));
    // A file that the glob leaves out is not left out by the ignore files; a directory is.
    let output = run(root.path(), ListArguments { glob: Some("a".into()), ..arguments }).unwrap();
    assert_eq!((paths(&output), output.entries_ignored), (vec!["a"], Some(1)));
    assert_eq!(run(root.path(), deep("")).unwrap().entries_ignored, None);
}

#[test]
fn a_cancelled_listing_says_so() {
    let root = tree(&["a"]);
    let cancel = Cancel::new();
    cancel.cancel();
    let list_all = List::parse(arguments("")).unwrap();
    let error = list(&Workspace::open(root.path()).unwrap(), &list_all, &cancel, None).unwrap_err();
    assert_eq!(error.kind, tools::Kind::Cancelled);
}

fn streamed(root: &Path, arguments: ListArguments) -> ListOutput {
    let (events, mut received) = mpsc::channel(1_000);
    let list_all = List::parse(arguments).unwrap();
    let workspace = Workspace::open(root).unwrap();
    let mut output = list(&workspace, &list_all, &Cancel::new(), Some(&events)).unwrap();
    assert_eq!(output.entries, []);
    while let Ok(event) = received.try_recv() {
        if let EventBody::Entries { entries } = event {
            output.entries.extend(entries);
        }
    }
    output
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pages_joined_are_the_whole_also_when_streamed(
        files in prop::collection::btree_set("[ab]{1,2}(/[ab]{1,2}){0,3}/f", 0..40),
        max_entries in 1..9_i64,
        max_bytes in 1..300_i64,
    ) {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let root = tree(&files);
        let whole = run(root.path(), ListArguments { max_entries: Some(500), ..deep("") }).unwrap();
        prop_assert_eq!(whole.next_offset, None);
        let mut joined = Vec::new();
        let mut offset = 0;
        loop {
            let arguments = ListArguments {
                max_entries: Some(max_entries),
                max_bytes: Some(max_bytes),
                offset: Some(offset),
                ..deep("")
            };
            let page = run(root.path(), arguments.clone()).unwrap();
            prop_assert_eq!(&streamed(root.path(), arguments), &page);
            prop_assert_eq!(page.truncated, page.next_offset.is_some());
            joined.extend(page.entries);
            let Some(next) = page.next_offset else { break };
            prop_assert_eq!(next, joined.len() as u64);
            offset = next as i64;
        }
        prop_assert_eq!(joined, whole.entries);
    }
}
