use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;
use crate::workspace::{Scope, Workspace};

const NEVER: &dyn Fn() -> bool = &|| false;

fn tree(paths: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for path in paths {
        let full = root.path().join(path);
        if path.ends_with('/') {
            fs::create_dir_all(full).unwrap();
        } else {
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, path).unwrap();
        }
    }
    root
}

fn begin(root: &tempfile::TempDir, scope: &str, most: u64) -> Walk {
    let workspace = Workspace::open(root.path()).unwrap();
    let scope = Scope::parse(scope).unwrap();
    let place = workspace.locate(&scope).unwrap();
    let base = place.directory.open_directory(place.name.as_bytes()).unwrap();
    Walk::new(base, scope.as_str(), most, NEVER).unwrap()
}

fn next(walk: &mut Walk) -> Option<(String, Kind)> {
    walk.next().map(|entry| (entry.path.to_owned(), entry.kind))
}

fn all(mut walk: Walk) -> Vec<String> {
    let mut paths = Vec::new();
    while let Some((path, kind)) = next(&mut walk) {
        paths.push(path);
        if kind == Kind::Dir {
            walk.enter(NEVER).unwrap();
        }
    }
    paths
}

#[test]
fn entries_of_a_directory_come_right_after_it_and_names_in_byte_order() {
    let root = tree(&["b", "a/z", "a/b/c", "a.txt", "a-", "Z", "é", "a/same-prefix-2", "a/same-prefix-10"]);
    let expected =
        ["Z", "a", "a/b", "a/b/c", "a/same-prefix-10", "a/same-prefix-2", "a/z", "a-", "a.txt", "b", "é"];
    assert_eq!(all(begin(&root, "", 100)), expected);
}

#[test]
fn paths_are_relative_to_the_workspace_also_below_a_scope() {
    let root = tree(&["x/a/b", "x/c", "y"]);
    assert_eq!(all(begin(&root, "x", 100)), ["x/a", "x/a/b", "x/c"]);
    assert_eq!(all(begin(&root, "x/a", 100)), ["x/a/b"]);
}

#[test]
fn a_symlink_is_an_entry_and_no_way() {
    let root = tree(&["d/f"]);
    symlink("d", root.path().join("link")).unwrap();
    symlink("/", root.path().join("out")).unwrap();
    let mut walk = begin(&root, "", 100);
    assert_eq!(next(&mut walk), Some(("d".into(), Kind::Dir)));
    assert_eq!(next(&mut walk), Some(("link".into(), Kind::Symlink)));
    assert!(walk.enter(NEVER).unwrap_err().is_gone());
    assert_eq!(next(&mut walk), Some(("out".into(), Kind::Symlink)));
    assert_eq!(next(&mut walk), None);
}

#[test]
fn a_directory_that_became_a_symlink_is_not_entered() {
    let root = tree(&["d/f", "e/g"]);
    let mut walk = begin(&root, "", 100);
    assert_eq!(next(&mut walk), Some(("d".into(), Kind::Dir)));
    fs::rename(root.path().join("d"), root.path().join("moved")).unwrap();
    symlink("/", root.path().join("d")).unwrap();
    assert!(walk.enter(NEVER).unwrap_err().is_gone());
    assert_eq!(next(&mut walk), Some(("e".into(), Kind::Dir)));
    fs::remove_dir_all(root.path().join("e")).unwrap();
    assert!(matches!(walk.enter(NEVER), Err(Error::NotFound)));
    assert_eq!(next(&mut walk), None);
}

#[test]
fn names_that_are_not_utf8_are_shown_with_the_replacement_character() {
    let root = tree(&["a", "z"]);
    fs::write(root.path().join(OsStr::from_bytes(b"m\xff")), "five!").unwrap();
    let mut walk = begin(&root, "", 100);
    next(&mut walk);
    let entry = walk.next().unwrap();
    assert_eq!((entry.path, entry.name, entry.is_lossy), ("m\u{fffd}", "m\u{fffd}", true));
    assert_eq!(walk.stat().unwrap(), Facts { kind: Kind::File, size: 5 });
    let entry = walk.next().unwrap();
    assert_eq!((entry.path, entry.is_lossy), ("z", false));
}

#[test]
fn temporary_names_are_passed_over_and_no_others() {
    let others = [
        ".axlr-tmp-",
        ".axlr-tmp-0123456789abcde",
        ".axlr-tmp-0123456789abcdef0",
        ".axlr-tmp-0123456789abcdeg",
        "a.axlr-tmp-0123456789abcdef",
    ];
    let root = tree(&others);
    fs::write(root.path().join(".axlr-tmp-0123456789abcdef"), "").unwrap();
    fs::create_dir(root.path().join(".axlr-tmp-ffffffffffffffff")).unwrap();
    assert_eq!(all(begin(&root, "", 100)), others);
}

#[test]
fn a_walk_far_down_keeps_few_directories_open_and_finds_its_way_back() {
    let root = tempfile::tempdir().unwrap();
    let levels = 3 * WALK_DIRECTORIES_KEPT;
    let mut path = root.path().to_owned();
    let mut expected = Vec::new();
    for level in 0..levels {
        path.push("d");
        expected.push(vec!["d"; level + 1].join("/"));
    }
    fs::create_dir_all(&path).unwrap();
    for level in (0..levels).rev() {
        // A file behind the directory: it is walked to on the way back.
        fs::write(path.join("f"), "").unwrap();
        path.pop();
        expected.push([vec!["d"; level + 1].join("/").as_str(), "f"].join("/"));
    }
    let mut walk = begin(&root, "", 10_000);
    let mut paths = Vec::new();
    while let Some((path, kind)) = next(&mut walk) {
        paths.push(path);
        let is_open = |level: &&Level| level.directory.is_some();
        assert!(walk.levels.iter().filter(is_open).count() <= WALK_DIRECTORIES_KEPT);
        match kind {
            Kind::Dir => walk.enter(NEVER).unwrap(),
            _ => assert_eq!(walk.stat().unwrap().kind, Kind::File),
        }
    }
    assert_eq!(paths, expected);
}

#[test]
fn a_way_back_that_was_replaced_by_a_symlink_is_not_taken() {
    let root = tempfile::tempdir().unwrap();
    let deep = vec!["d"; 2 * WALK_DIRECTORIES_KEPT].join("/");
    fs::create_dir_all(root.path().join(deep)).unwrap();
    fs::write(root.path().join("d/f"), "").unwrap();
    let outside = tree(&["f"]);
    let mut walk = begin(&root, "", 10_000);
    while let Some((path, kind)) = next(&mut walk) {
        if kind == Kind::Dir {
            walk.enter(NEVER).unwrap();
            continue;
        }
        assert_eq!(path, "d/f");
        fs::rename(root.path().join("d"), root.path().join("moved")).unwrap();
        symlink(outside.path(), root.path().join("d")).unwrap();
        assert!(walk.stat().unwrap_err().is_gone());
    }
}

#[test]
fn no_more_names_are_kept_than_may_be_walked_and_one() {
    let names: Vec<String> = (0..500).map(|number| format!("{:03}", (number * 7) % 500)).collect();
    let root = tree(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let paths = all(begin(&root, "", 20));
    let expected: Vec<String> = (0..21).map(|number| format!("{number:03}")).collect();
    assert_eq!(paths, expected);
}

#[test]
fn a_stopped_listing_is_incomplete() {
    let root = tree(&["d/a", "d/b"]);
    let mut walk = begin(&root, "", 100);
    next(&mut walk);
    walk.enter(&|| true).unwrap();
    assert_eq!(next(&mut walk), None);
}

#[test]
fn the_directory_that_was_just_entered_is_asked_for_names() {
    let root = tree(&["d/.gitignore", "d/b", "long-name-1"]);
    let mut walk = begin(&root, "", 100);
    assert!(walk.has("d") && walk.has("long-name-1"));
    assert!(!walk.has(".gitignore") && !walk.has("long-name-2") && !walk.has(""));
    next(&mut walk);
    walk.enter(NEVER).unwrap();
    assert!(walk.has(".gitignore") && !walk.has("d"));
    assert_eq!((walk.depth(), walk.prefix()), (2, 2));
}

#[test]
fn a_file_is_read_whole_or_not_at_all() {
    let root = tree(&["dir/"]);
    fs::write(root.path().join("empty"), "").unwrap();
    fs::write(root.path().join("ten"), "0123456789").unwrap();
    symlink("ten", root.path().join("link")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let directory = workspace.directory("").unwrap();
    let mut buffer = b"old".to_vec();
    let mut read = |name: &str, most| {
        let contents = directory.read_file(name.as_bytes(), most, &mut buffer)?;
        Ok::<_, Error>((contents, String::from_utf8(buffer.clone()).unwrap()))
    };
    assert_eq!(read("ten", 10).unwrap(), (Contents::Whole, "0123456789".into()));
    assert_eq!(read("empty", 10).unwrap(), (Contents::Whole, String::new()));
    assert_eq!(read("ten", 9).unwrap().0, Contents::TooLarge(10));
    assert_eq!(read("link", 10).unwrap().0, Contents::NotRegular);
    assert_eq!(read("pipe", 10).unwrap().0, Contents::NotRegular);
    assert_eq!(read("dir", 10).unwrap().0, Contents::NotRegular);
    assert!(matches!(read("none", 10), Err(Error::NotFound)));
}

#[test]
fn a_file_without_a_size_is_read_too() {
    // In /proc sizes are 0 whatever there is to read.
    let workspace = Workspace::open("/proc/self".as_ref()).unwrap();
    let mut buffer = Vec::new();
    let directory = workspace.directory("").unwrap();
    assert_eq!(directory.read_file(b"status", 1 << 20, &mut buffer).unwrap(), Contents::Whole);
    assert!(buffer.starts_with(b"Name:"));
    assert_eq!(
        directory.read_file(b"status", 10, &mut buffer).unwrap(),
        Contents::TooLarge(buffer.len() as u64)
    );
}

#[test]
fn a_scope_is_not_followed_but_the_way_to_it_is() {
    let root = tree(&["d/f"]);
    symlink("d", root.path().join("in")).unwrap();
    symlink("/etc", root.path().join("out")).unwrap();
    let workspace = Workspace::open(root.path()).unwrap();
    let locate = |path: &str| workspace.locate(&Scope::parse(path).unwrap());
    assert_eq!(locate("").unwrap().facts.kind, Kind::Dir);
    assert_eq!(locate("in").unwrap().facts.kind, Kind::Symlink);
    assert_eq!(locate("in/f").unwrap().facts, Facts { kind: Kind::File, size: 3 });
    assert!(matches!(locate("none"), Err(Error::NotFound)));
    assert!(matches!(locate("out/passwd"), Err(Error::Escapes)));
}
