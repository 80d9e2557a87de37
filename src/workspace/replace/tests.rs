use std::fs;

use super::*;
use crate::workspace::Workspace;
use crate::workspace::fixture::{Fixture, as_nobody};

fn root(workspace: &Workspace) -> Folder {
    Folder::open(workspace, "").unwrap()
}

#[test]
fn the_shape_of_a_temporary_name_is_exact() {
    for (name, expected) in [
        (".axlr-tmp-0123456789abcdef", true),
        (".axlr-tmp-0123456789abcde", false),
        (".axlr-tmp-0123456789abcdef0", false),
        (".axlr-tmp-0123456789ABCDEF", false),
        (".axlr-tmp-0123456789abcdeg", false),
        ("axlr-tmp-0123456789abcdef", false),
        ("x.axlr-tmp-0123456789abcdef", false),
        (".axlr-tmp-", false),
    ] {
        assert_eq!(is_temporary_name(name.as_bytes()), expected, "{name}");
    }
    assert!(is_temporary_name(random_name().as_bytes()));
    assert_ne!(random_name(), random_name());
}

#[test]
fn a_temporary_file_lives_no_longer_than_its_value() {
    let fixture = Fixture::new();
    let mut temporary = Temporary::make(&root(&fixture.workspace), None).unwrap();
    temporary.write(b"half").unwrap();
    assert_eq!(fixture.temporaries().len(), 1);
    drop(temporary);
    fixture.assert_clean();
}

#[test]
fn creation_never_overwrites() {
    let fixture = Fixture::new();
    fixture.file("f", "old").link("dangling", "nowhere").dir("d");
    for name in ["f", "dangling", "d"] {
        let temporary = Temporary::make(&root(&fixture.workspace), None).unwrap();
        let answer = temporary.create(name, Durability::Synced);
        assert!(matches!(answer, Err(Error::Exists)), "{name}: {answer:?}");
    }
    assert_eq!(fixture.content("f").unwrap(), "old");
    fixture.assert_clean();
}

#[test]
fn the_link_that_stands_in_for_a_rename_without_replacing_leaves_one_name() {
    let fixture = Fixture::new();
    fixture.file("taken", "old");
    let mut temporary = Temporary::make(&root(&fixture.workspace), None).unwrap();
    temporary.write(b"new").unwrap();
    assert!(matches!(temporary.link("taken"), Err(Error::Exists)));
    temporary.link("free").unwrap();
    drop(temporary);
    assert_eq!(fixture.content("taken").unwrap(), "old");
    assert_eq!(fixture.content("free").unwrap(), "new");
    fixture.assert_clean();
}

#[test]
fn a_replacement_keeps_the_mode_and_drops_the_bits_above_it() {
    let fixture = Fixture::new();
    for mode in [0o600, 0o640, 0o755, 0o777, 0o444, 0o4755] {
        fixture.file("f", "old").mode("f", mode);
        let folder = root(&fixture.workspace);
        let attributes = folder.attributes("f").unwrap();
        let temporary = Temporary::make(&folder, Some(&attributes)).unwrap();
        temporary.replace("f", Durability::Atomic).unwrap();
        assert_eq!(fixture.mode_of("f"), mode & 0o777, "{mode:o}");
        fs::remove_file(fixture.path("f")).unwrap();
    }
}

#[test]
fn an_owner_that_cannot_be_kept_is_an_error_and_no_change() {
    let fixture = Fixture::new();
    fixture.file("f", "old").mode("f", 0o666).mode("", 0o777);
    as_nobody(|| {
        let folder = root(&fixture.workspace);
        let attributes = folder.attributes("f").unwrap();
        if attributes.owner == rustix::process::geteuid().as_raw() {
            return; // The tests run as the owner.
        }
        assert!(matches!(Temporary::make(&folder, Some(&attributes)), Err(Error::OwnerNotKept(_))));
    });
    assert_eq!(fixture.content("f").unwrap(), "old");
    fixture.assert_clean();
}

#[test]
fn an_owner_that_can_be_kept_is() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let fixture = Fixture::new();
    fixture.file("f", "old");
    std::os::unix::fs::chown(fixture.path("f"), Some(1234), Some(4321)).unwrap();
    let folder = root(&fixture.workspace);
    let attributes = folder.attributes("f").unwrap();
    Temporary::make(&folder, Some(&attributes)).unwrap().replace("f", Durability::Atomic).unwrap();
    assert_eq!(folder.attributes("f").unwrap(), attributes);
    assert_eq!((attributes.owner, attributes.group), (1234, 4321));
}

#[test]
fn a_folder_is_not_replaced() {
    let fixture = Fixture::new();
    fixture.dir("d");
    let temporary = Temporary::make(&root(&fixture.workspace), None).unwrap();
    assert!(matches!(temporary.replace("d", Durability::Atomic), Err(Error::NotRegular("a directory"))));
    fixture.assert_clean();
}
