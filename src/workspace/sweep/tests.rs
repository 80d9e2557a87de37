use std::fs;
use std::time::Duration;

use super::*;
use crate::workspace::Temporary;
use crate::workspace::fixture::Fixture;

const LEFT: &str = ".axlr-tmp-00000000deadbeef";

#[test]
fn a_sweep_takes_what_is_unlocked_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.file(LEFT, "left").mode(LEFT, 0o200).file(".axlr-tmp-short", "").file("f", "");
    fixture.dir(".axlr-tmp-00000000000000d1").link(".axlr-tmp-0000000000000011", "f");
    let folder = Folder::open(&fixture.workspace, "").unwrap();
    let alive = Temporary::make(&folder, None).unwrap();
    sweep_folder(&folder);
    let mut names: Vec<_> = fs::read_dir(fixture.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(!names.contains(&LEFT.to_owned()));
    alive.create("g", crate::workspace::Durability::Atomic).unwrap();
    assert!(fixture.path("g").exists());
}

#[test]
fn the_sweep_of_a_root_reaches_every_folder_and_follows_no_symlink() {
    let fixture = Fixture::new();
    fs::write(fixture.outside().join(LEFT), "").unwrap();
    for folder in ["", "a/", "a/b/c/", ".git/"] {
        fixture.file(&format!("{folder}{LEFT}"), "left");
    }
    fixture.link("out", "../outside").link("a/up", "..");
    sweep_tree(&fixture.workspace, &Cancel::new());
    assert_eq!(fixture.temporaries(), Vec::<PathBuf>::new());
    assert!(fixture.outside().join(LEFT).exists());
}

#[test]
fn a_sweep_that_nobody_wants_stops() {
    let fixture = Fixture::new();
    fixture.file(LEFT, "left");
    let cancel = Cancel::new();
    cancel.cancel();
    sweep_tree(&fixture.workspace, &cancel);
    assert!(fixture.path(LEFT).exists());
}

#[test]
fn a_folder_that_rests_is_swept_for_all_who_wrote_meanwhile() {
    let fixture = Fixture::new();
    let folder = Folder::open(&fixture.workspace, "").unwrap();
    let sweeper = Sweeper::default();
    sweeper.after_write(&folder);
    fixture.file(LEFT, "left");
    sweeper.rest(folder.identity(), Instant::now() + Duration::from_millis(100));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| sweeper.after_write(&folder));
        while !sweeper.lock()[&folder.identity()].is_awaited {
            std::thread::yield_now();
        }
        // Somebody waits already: these do not.
        let started = Instant::now();
        for _ in 0..1_000 {
            sweeper.after_write(&folder);
        }
        assert!(started.elapsed() < Duration::from_millis(90));
        waiting.join().unwrap();
    });
    assert!(!fixture.path(LEFT).exists());
}

#[test]
fn makers_and_sweepers_in_one_folder_never_lose_a_file() {
    let fixture = Fixture::new();
    let folder = Folder::open(&fixture.workspace, "").unwrap();
    let done = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.is_cancelled() {
                sweep_folder(&folder);
            }
        });
        for number in 0..100 {
            let mut temporary = Temporary::make(&folder, None).unwrap();
            temporary.write(b"x").unwrap();
            let name = format!("f{}", number % 7);
            temporary.replace(&name, crate::workspace::Durability::Atomic).unwrap();
            assert_eq!(fixture.content(&name).unwrap(), "x");
        }
        done.cancel();
    });
    fixture.assert_clean();
}
