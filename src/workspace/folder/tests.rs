use std::fs;

use super::*;
use crate::workspace::fixture::{Fixture, as_nobody};

fn make(fixture: &Fixture, path: &str) -> Result<(Folder, MadeFolders), Error> {
    Folder::make(&fixture.workspace, path, Durability::Synced)
}

#[test]
fn folders_that_are_made_go_again_unless_they_are_kept() {
    let fixture = Fixture::new();
    fixture.dir("there");
    drop(make(&fixture, "there/a/b").unwrap());
    assert!(!fixture.path("there/a").exists());
    assert!(fixture.path("there").exists());

    let (folder, made) = make(&fixture, "there/./a//b").unwrap();
    made.keep();
    assert!(folder.is_at(&fixture.workspace, "there/a/b"));

    let (_, made) = make(&fixture, "there/c/d").unwrap();
    fs::write(fixture.path("there/c/somebody"), "").unwrap();
    drop(made);
    assert!(!fixture.path("there/c/d").exists());
    assert!(fixture.path("there/c/somebody").exists());
}

#[test]
fn folders_are_made_beneath_the_root_only() {
    let fixture = Fixture::new();
    fixture
        .link("out", "../outside")
        .link("dangling", "../outside/new")
        .link("in", "d")
        .dir("d")
        .file("f", "");
    for (path, expected) in [
        ("out/a", "leads outside the workspace"),
        ("dangling/a", "leads outside the workspace"),
        ("f/a", "cannot be used: Not a directory (os error 20)"),
    ] {
        assert_eq!(make(&fixture, path).unwrap_err().to_string(), expected, "{path}");
    }
    fixture.link("nowhere", "not/there");
    assert!(matches!(make(&fixture, "nowhere/a"), Err(Error::NotFound)));
    let (_, made) = make(&fixture, "in/a").unwrap();
    made.keep();
    assert!(fixture.path("d/a").is_dir());
    fixture.assert_clean();
}

#[test]
fn a_folder_is_known_by_itself_and_not_by_its_path() {
    let fixture = Fixture::new();
    fixture.dir("a").dir("b").link("l", "a");
    let folder = Folder::open(&fixture.workspace, "l").unwrap();
    assert!(folder.is_at(&fixture.workspace, "a"));
    fs::rename(fixture.path("a"), fixture.path("c")).unwrap();
    fs::rename(fixture.path("b"), fixture.path("a")).unwrap();
    assert!(!folder.is_at(&fixture.workspace, "l"));
    assert!(folder.is_at(&fixture.workspace, "c"));
    folder.sync().unwrap();
}

#[test]
fn entries_are_asked_by_their_own_name() {
    let fixture = Fixture::new();
    fixture.file("f", "x").mode("f", 0o640).link("dangling", "nowhere").link("l", "f").fifo("p");
    let folder = Folder::open(&fixture.workspace, "").unwrap();
    assert!(folder.holds("dangling").unwrap());
    assert!(!folder.holds("missing").unwrap());
    assert!(matches!(folder.open_file("l"), Err(Error::NotRegular("a symbolic link"))));
    assert!(matches!(folder.open_file("p"), Err(Error::NotRegular("a named pipe"))));
    assert!(matches!(folder.open_file("."), Err(Error::NotRegular("a directory"))));
    assert!(matches!(folder.open_file("missing"), Err(Error::NotFound)));
    let (_, attributes, size) = folder.open_file("f").unwrap();
    assert_eq!((attributes, size), (folder.attributes("f").unwrap(), 1));
}

#[test]
fn a_file_that_we_may_not_write_is_told_from_one_that_we_may() {
    let fixture = Fixture::new();
    fixture.file("r", "").mode("r", 0o444).file("w", "").mode("w", 0o666).mode("", 0o777);
    as_nobody(|| {
        let folder = Folder::open(&fixture.workspace, "").unwrap();
        assert!(matches!(folder.require_writable("r"), Err(Error::PermissionDenied(_))));
        folder.require_writable("w").unwrap();
    });
}

#[test]
fn a_folder_that_cannot_be_listed_can_still_be_written_to() {
    let fixture = Fixture::new();
    fixture.dir("d").mode("d", 0o333);
    as_nobody(|| {
        let folder = Folder::open(&fixture.workspace, "d").unwrap();
        folder.sync().unwrap();
        let temporary = crate::workspace::Temporary::make(&folder, None).unwrap();
        temporary.create("f", Durability::Synced).unwrap();
    });
    fixture.mode("d", 0o755);
    assert!(fixture.path("d/f").exists());
    fixture.assert_clean();
}
