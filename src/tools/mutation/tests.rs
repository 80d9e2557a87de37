use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use axlr_protocol::tool::{ContentEncoding, EditArguments, WriteArguments, WriteMode, WriteOutput};

use super::*;
use crate::workspace::fixture::{Fixture, as_nobody};

fn digest(content: impl AsRef<[u8]>) -> Option<String> {
    Some(Digest::of(content.as_ref()).to_string())
}

fn arguments(path: &str, content: &str, mode: WriteMode) -> WriteArguments {
    WriteArguments {
        path: path.to_owned(),
        content: content.to_owned(),
        mode,
        expected_sha256: None,
        parents: None,
        encoding: None,
        overwrite: None,
    }
}

fn create(path: &str, content: &str) -> Mutation {
    write(arguments(path, content, WriteMode::Create))
}

fn replace(path: &str, old: &str, new: &str) -> Mutation {
    write(WriteArguments { expected_sha256: digest(old), ..arguments(path, new, WriteMode::Replace) })
}

fn overwrite(path: &str, content: &str) -> Mutation {
    write(WriteArguments { overwrite: Some(true), ..arguments(path, content, WriteMode::Replace) })
}

fn with_parents(path: &str, mode: WriteMode) -> WriteArguments {
    let overwrite = (mode == WriteMode::Replace).then_some(true);
    WriteArguments { parents: Some(true), overwrite, ..arguments(path, "new", mode) }
}

fn write(arguments: WriteArguments) -> Mutation {
    Mutation::Write(Write::parse(arguments).unwrap())
}

fn edit(path: &str, old: &str, new: &str) -> Mutation {
    let (path, old_text, new_text) = (path.to_owned(), old.to_owned(), new.to_owned());
    Mutation::Edit(Edit::parse(EditArguments { path, old_text, new_text, ..Default::default() }).unwrap())
}

fn run(fixture: &Fixture, mutation: &Mutation) -> Result<Output, Error> {
    let answer = apply(&fixture.workspace, mutation, Durability::Atomic, &Cancel::new());
    fixture.assert_clean();
    answer
}

fn kind(fixture: &Fixture, mutation: &Mutation) -> Kind {
    run(fixture, mutation).unwrap_err().kind
}

fn prepared(fixture: &Fixture, mutation: &Mutation) -> Prepared {
    prepare(&fixture.workspace, mutation, Durability::Atomic, &Cancel::new()).unwrap()
}

fn commit(fixture: &Fixture, prepared: Prepared, mutation: &Mutation) -> Result<Output, Error> {
    prepared.commit(&fixture.workspace, mutation, &Cancel::new()).map(|committed| committed.output)
}

#[test]
fn a_created_file_answers_with_size_and_digest_and_has_the_usual_mode() {
    let fixture = Fixture::new();
    for durability in [Durability::Atomic, Durability::Synced] {
        let path = format!("{durability:?}");
        let answer = apply(&fixture.workspace, &create(&path, "one"), durability, &Cancel::new()).unwrap();
        let expected = WriteOutput { written_bytes: 3, content_sha256: digest("one").unwrap() };
        assert_eq!(answer, Output::Write(expected));
        assert_eq!(fixture.content(&path).unwrap(), "one");
        // What open(2) with 0666 makes under the same umask.
        fs::write(fixture.path("twin"), "").unwrap();
        assert_eq!(fixture.mode_of(&path), fixture.mode_of("twin"));
    }
    fixture.assert_clean();
}

#[test]
fn creation_refuses_what_is_there_and_follows_no_last_symlink() {
    let fixture = Fixture::new();
    fixture.file("f", "old").dir("d").link("l", "f").link("dangling", "later").fifo("p");
    fixture.link("out-file", "../outside/new").link("out", "../outside").link("in", "d");
    for path in ["f", "d", "l", "dangling", "p", "out-file", "d/.", "./."] {
        assert_eq!(kind(&fixture, &create(path, "x")), Kind::Conflict, "{path}");
    }
    assert_eq!(kind(&fixture, &create("out/new", "x")), Kind::Filesystem);
    assert_eq!(kind(&fixture, &create("f/new", "x")), Kind::Filesystem);
    assert_eq!(kind(&fixture, &create("no/new", "x")), Kind::NotFound);
    assert_eq!(kind(&fixture, &create(&"x".repeat(300), "x")), Kind::Filesystem);
    run(&fixture, &create("in//./new", "through a folder's symlink")).unwrap();
    assert_eq!(fixture.content("d/new").unwrap(), "through a folder's symlink");
    assert_eq!(fixture.content("f").unwrap(), "old");
}

#[test]
fn replacing_needs_the_digest_of_a_regular_text_file_of_that_very_name() {
    let fixture = Fixture::new();
    fixture.file("f", "old").mode("f", 0o640).link("l", "f").dir("d").fifo("p").link("out", "../outside");
    fixture.file("large", "x".repeat(1_048_577)).file("bytes", b"\xff").file("limit", "x".repeat(1_048_576));
    for (path, expected) in [
        ("l", Kind::NotRegularFile),
        ("d", Kind::NotRegularFile),
        ("d/.", Kind::NotRegularFile),
        ("p", Kind::NotRegularFile),
        ("out", Kind::NotRegularFile),
        ("missing", Kind::NotFound),
        ("no/missing", Kind::NotFound),
        ("out/secret", Kind::Filesystem),
        ("large", Kind::FileTooLarge),
        ("bytes", Kind::InvalidText),
        ("f", Kind::Conflict),
    ] {
        assert_eq!(kind(&fixture, &replace(path, "other", "new")), expected, "{path}");
    }
    run(&fixture, &replace("f", "old", "new")).unwrap();
    assert_eq!((fixture.content("f").unwrap().as_str(), fixture.mode_of("f")), ("new", 0o640));
    run(&fixture, &replace("limit", &"x".repeat(1_048_576), "")).unwrap();
    assert_eq!(fixture.content("limit").unwrap(), "");
}

#[test]
fn a_stale_digest_names_the_current_one() {
    let fixture = Fixture::new();
    fixture.file("f", "old");
    let error = run(&fixture, &replace("f", "other", "new")).unwrap_err();
    let (expected, current) = (digest("other").unwrap(), digest("old").unwrap());
    assert_eq!(
        error.message,
        format!("expected_sha256 {expected} is stale, the file has changed: its digest is now {current}")
    );
}

#[test]
fn bytes_replace_bytes() {
    let fixture = Fixture::new();
    fixture.file("f", b"\xff\0");
    let mutation = write(WriteArguments {
        encoding: Some(ContentEncoding::Base64),
        expected_sha256: digest(b"\xff\0"),
        ..arguments("f", "AP8B", WriteMode::Replace)
    });
    run(&fixture, &mutation).unwrap();
    assert_eq!(fs::read(fixture.path("f")).unwrap(), b"\x00\xff\x01");
}

#[test]
fn overwriting_takes_any_regular_file_or_none() {
    let fixture = Fixture::new();
    fixture.file("f", b"\xff").mode("f", 0o600).file("large", "x".repeat(2_000_000)).link("l", "f").dir("d");
    for path in ["f", "large", "new"] {
        run(&fixture, &overwrite(path, "new")).unwrap();
        assert_eq!(fixture.content(path).unwrap(), "new");
    }
    assert_eq!(fixture.mode_of("f"), 0o600);
    for path in ["l", "d"] {
        assert_eq!(kind(&fixture, &overwrite(path, "x")), Kind::NotRegularFile);
    }
    assert_eq!(kind(&fixture, &overwrite("no/f", "x")), Kind::NotFound);
}

#[test]
fn overwriting_with_a_digest_checks_it_whatever_the_file_is() {
    let fixture = Fixture::new();
    let large = vec![0xff_u8; 3_000_000];
    fixture.file("large", &large);
    let with = |path: &str, expected: &[u8]| {
        write(WriteArguments {
            overwrite: Some(true),
            parents: Some(true),
            expected_sha256: digest(expected),
            ..arguments(path, "new", WriteMode::Replace)
        })
    };
    assert_eq!(kind(&fixture, &with("large", b"other")), Kind::Conflict);
    assert_eq!(kind(&fixture, &with("missing", b"")), Kind::Conflict);
    assert_eq!(kind(&fixture, &with("no/missing", b"")), Kind::Conflict);
    assert!(!fixture.path("no").exists());
    run(&fixture, &with("large", &large)).unwrap();
    assert_eq!(fixture.content("large").unwrap(), "new");
}

#[test]
fn parents_are_made_beneath_and_go_again_with_a_failure() {
    let fixture = Fixture::new();
    fixture.link("out", "../outside").file("f", "");
    for mode in [WriteMode::Create, WriteMode::Replace] {
        let path = format!("x-{mode:?}/y/./z");
        run(&fixture, &write(with_parents(&path, mode))).unwrap();
        assert_eq!(fixture.content(&path).unwrap(), "new");
    }
    fs::create_dir(fixture.path("twin")).unwrap();
    assert_eq!(fixture.mode_of("x-Create/y"), fixture.mode_of("twin"));
    let failing = |path: &str| kind(&fixture, &write(with_parents(path, WriteMode::Create)));
    assert_eq!(failing("out/a/b"), Kind::Filesystem);
    assert_eq!(failing("f/a/b"), Kind::Filesystem);
    assert_eq!(failing(&format!("n/m/{}", "x".repeat(300))), Kind::Filesystem);
    assert_eq!(failing(&format!("n/{}/f", "x".repeat(300))), Kind::Filesystem);
    assert_eq!(failing("n/m/."), Kind::Conflict);
    assert!(!fixture.path("n").exists());

    let cancel = Cancel::new();
    let mutation = write(with_parents("n/m/f", WriteMode::Create));
    let prepared = prepared(&fixture, &mutation);
    assert!(fixture.path("n/m").exists());
    cancel.cancel();
    let error = prepared.commit(&fixture.workspace, &mutation, &cancel).unwrap_err();
    assert_eq!(error.kind, Kind::Cancelled);
    assert!(!fixture.path("n").exists());
}

#[test]
fn a_cancelled_mutation_leaves_everything_as_it_was() {
    let fixture = Fixture::new();
    fixture.file("f", "old");
    let cancel = Cancel::new();
    cancel.cancel();
    for mutation in [create("new", "x"), overwrite("f", "x"), edit("f", "old", "new")] {
        let error = apply(&fixture.workspace, &mutation, Durability::Synced, &cancel).unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
        let error = prepared(&fixture, &mutation).commit(&fixture.workspace, &mutation, &cancel).unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
    }
    assert_eq!(fixture.content("f").unwrap(), "old");
    assert_eq!(fixture.content("new"), None);
    fixture.assert_clean();
}

#[test]
fn what_the_user_may_not_write_is_not_replaced() {
    let fixture = Fixture::new();
    fixture
        .mode("", 0o777)
        .file("r", "old")
        .mode("r", 0o444)
        .dir("closed")
        .file("closed/f", "old")
        .mode("closed", 0o555);
    as_nobody(|| {
        for mutation in
            [overwrite("r", "x"), replace("r", "old", "x"), edit("r", "old", "x"), create("closed/new", "x")]
        {
            let error = apply(&fixture.workspace, &mutation, Durability::Atomic, &Cancel::new()).unwrap_err();
            assert_eq!(error.kind, Kind::PermissionDenied, "{}", error.message);
        }
    });
    assert_eq!(fixture.content("r").unwrap(), "old");
    fixture.assert_clean();
}

#[test]
fn one_of_many_creations_wins() {
    let fixture = Fixture::new();
    let won = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (fixture, won) = (&fixture, &won);
            scope.spawn(move || {
                for round in 0..50 {
                    let mutation = create(&format!("f{round}"), &number.to_string());
                    let cancel = Cancel::new();
                    match apply(&fixture.workspace, &mutation, Durability::Atomic, &cancel) {
                        Ok(_) => drop(won.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => assert_eq!(error.kind, Kind::Conflict),
                    }
                }
            });
        }
    });
    assert_eq!(won.into_inner(), 50);
    fixture.assert_clean();
}

#[test]
fn a_commit_counts_what_its_predecessors_did() {
    let fixture = Fixture::new();
    fixture.file("f", "a b c\n").mode("f", 0o600);
    let mutations =
        [edit("f", "a", "A"), edit("f", "b", "B"), edit("f", "A B", "AB"), replace("f", "AB c\n", "end")];
    // The last two cannot be prepared ahead: what they want is not there yet.
    let ahead: Vec<_> = mutations[..2].iter().map(|mutation| prepared(&fixture, mutation)).collect();
    for (prepared, mutation) in ahead.into_iter().zip(&mutations) {
        commit(&fixture, prepared, mutation).unwrap();
    }
    assert_eq!(fixture.content("f").unwrap(), "A B c\n");
    for mutation in &mutations[2..] {
        run(&fixture, mutation).unwrap();
    }
    assert_eq!((fixture.content("f").unwrap().as_str(), fixture.mode_of("f")), ("end", 0o600));
    fixture.assert_clean();
}

#[test]
fn a_commit_is_refused_for_what_came_meanwhile() {
    let fixture = Fixture::new();
    fixture.file("f", "one two").file("g", "old").file("h", "old").dir("d");
    type Case<'a> = (Mutation, &'a dyn Fn(), Option<Kind>);
    let cases: [Case; 9] = [
        (
            create("n", "x"),
            &|| {
                fixture.file("n", "theirs");
            },
            Some(Kind::Conflict),
        ),
        (
            edit("f", "one", "1"),
            &|| {
                fixture.file("f", "one one");
            },
            Some(Kind::Conflict),
        ),
        (edit("f", "one one", "1"), &|| fs::remove_file(fixture.path("f")).unwrap(), Some(Kind::NotFound)),
        (
            replace("g", "old", "x"),
            &|| {
                fixture.file("g", "theirs");
            },
            Some(Kind::Conflict),
        ),
        (
            overwrite("g", "x"),
            &|| {
                fs::remove_file(fixture.path("g")).unwrap();
                fixture.link("g", "h");
            },
            Some(Kind::NotRegularFile),
        ),
        (
            overwrite("h", "x"),
            &|| {
                fixture.mode("h", 0o604);
            },
            None,
        ),
        (overwrite("h", "y"), &|| fs::remove_file(fixture.path("h")).unwrap(), None),
        (
            overwrite("m", "y"),
            &|| {
                fixture.file("m", "theirs").mode("m", 0o611);
            },
            None,
        ),
        (
            create("d/n", "x"),
            &|| fs::rename(fixture.path("d"), fixture.path("e")).unwrap(),
            Some(Kind::NotFound),
        ),
    ];
    for (mutation, meanwhile, expected) in cases {
        let prepared = prepared(&fixture, &mutation);
        meanwhile();
        let answer = commit(&fixture, prepared, &mutation);
        assert_eq!(answer.err().map(|error| error.kind), expected, "{mutation:?}");
    }
    assert_eq!(fixture.content("n").unwrap(), "theirs");
    assert_eq!(fixture.content("h").unwrap(), "y");
    assert_eq!((fixture.content("m").unwrap().as_str(), fixture.mode_of("m")), ("y", 0o611));
    assert!(!fixture.path("e/n").exists());
    fixture.assert_clean();
}

#[test]
fn a_new_mode_that_came_meanwhile_is_the_one_that_is_kept() {
    let fixture = Fixture::new();
    fixture.file("f", "old").mode("f", 0o644);
    let mutation = replace("f", "old", "new");
    let prepared = prepared(&fixture, &mutation);
    fixture.mode("f", 0o751);
    commit(&fixture, prepared, &mutation).unwrap();
    assert_eq!((fixture.content("f").unwrap().as_str(), fixture.mode_of("f")), ("new", 0o751));
}

#[test]
fn a_folder_that_was_swapped_meanwhile_is_the_one_that_counts() {
    let fixture = Fixture::new();
    fixture.dir("a").dir("b").link("l", "a");
    let mutation = create("l/f", "x");
    let waiting = prepared(&fixture, &mutation);
    fs::remove_file(fixture.path("l")).unwrap();
    fixture.link("l", "b");
    commit(&fixture, waiting, &mutation).unwrap();
    assert!(fixture.path("b/f").exists() && !fixture.path("a/f").exists());

    let mutation = create("l/g", "x");
    let waiting = prepared(&fixture, &mutation);
    fs::remove_file(fixture.path("l")).unwrap();
    fixture.link("l", "../outside");
    assert_eq!(commit(&fixture, waiting, &mutation).unwrap_err().kind, Kind::Filesystem);
    fixture.assert_clean();
}

#[test]
fn somebody_who_cleans_up_costs_a_second_try_only() {
    let fixture = Fixture::new();
    fixture.file("f", "old");
    for mutation in [create("n", "x"), edit("f", "old", "new")] {
        let prepared = prepared(&fixture, &mutation);
        fixture.temporaries().iter().for_each(|path| fs::remove_file(path).unwrap());
        commit(&fixture, prepared, &mutation).unwrap();
    }
    assert_eq!((fixture.content("n").unwrap(), fixture.content("f").unwrap()), ("x".into(), "new".into()));
    fixture.assert_clean();
}

#[test]
fn a_write_takes_away_what_a_killed_maker_left_in_its_folder() {
    const LEFT: &str = "d/.axlr-tmp-00000000deadbeef";
    let fixture = Fixture::new();
    let mutation = overwrite("d/f", "x");
    for durability in [Durability::Atomic, Durability::Synced] {
        fixture.file(LEFT, "left");
        apply(&fixture.workspace, &mutation, durability, &Cancel::new()).unwrap();
        fixture.assert_clean();
    }
    fixture.file(LEFT, "left");
    let committed =
        prepared(&fixture, &mutation).commit(&fixture.workspace, &mutation, &Cancel::new()).unwrap();
    committed.folder.sync().unwrap();
    committed.folder.sweep(&Sweeper::default());
    fixture.assert_clean();
}

#[test]
fn nothing_lands_outside_while_symlinks_are_swapped() {
    let fixture = Fixture::new();
    fixture.dir("in").link("swap", "in").file("in/secret", "needle-outside\n");
    let done = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for target in ["../outside", "in", "in/../../outside", "in"].iter().cycle() {
                if done.is_cancelled() {
                    return;
                }
                symlink(target, fixture.path("next")).unwrap();
                fs::rename(fixture.path("next"), fixture.path("swap")).unwrap();
            }
        });
        let cancel = Cancel::new();
        for number in 0..10_000 {
            let mutation = match number % 4 {
                0 => create(&format!("swap/{}", number % 97), "x"),
                1 => overwrite("swap/secret", "needle-outside\n"),
                2 => edit("swap/secret", "needle", "needle"),
                _ => write(with_parents(&format!("swap/p{}/f", number % 101), WriteMode::Create)),
            };
            let prepared = prepare(&fixture.workspace, &mutation, Durability::Atomic, &cancel);
            let answer =
                prepared.and_then(|prepared| prepared.commit(&fixture.workspace, &mutation, &cancel));
            if let Err(error) = answer {
                assert!(matches!(error.kind, Kind::Filesystem | Kind::Conflict), "{}", error.message);
            }
        }
        done.cancel();
    });
    fixture.assert_clean();
}

#[test]
fn content_is_seen_whole_or_not_at_all() {
    let fixture = Fixture::new();
    let contents = ["a".repeat(100_000), "b".repeat(70_000)];
    fixture.file("f", &contents[0]);
    let done = Cancel::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for content in contents.iter().cycle().take(200) {
                run(&fixture, &overwrite("f", content)).unwrap();
            }
            done.cancel();
        });
        while !done.is_cancelled() {
            let seen = fixture.content("f").unwrap();
            assert!(contents.contains(&seen), "{} bytes", seen.len());
        }
    });
}

#[test]
fn a_full_file_system_keeps_the_old_content() {
    let Some(full) = FullFileSystem::mount() else { return };
    let fixture = Fixture::below(&full.0);
    fixture.file("f", "old");
    let content = "x".repeat(900_000);
    for mutation in [
        overwrite("f", &content),
        create("n", &content),
        write(with_parents("p/q/f", WriteMode::Create)),
        edit("f", "old", &content),
    ] {
        let large = matches!(&mutation, Mutation::Write(write) if write.makes_folders);
        let answer = run(&fixture, &mutation);
        if large {
            answer.unwrap();
        } else {
            let error = answer.unwrap_err();
            assert_eq!((error.kind, error.message.contains("No space left")), (Kind::Filesystem, true));
        }
    }
    assert_eq!(fixture.content("f").unwrap(), "old");
    assert_eq!(fixture.content("n"), None);
}

/// A file system with 256 KiB, where this process may mount one.
struct FullFileSystem(PathBuf);

impl FullFileSystem {
    fn mount() -> Option<Self> {
        let path = tempfile::tempdir().unwrap().keep();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(&path)
            .stderr(std::process::Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        fs::remove_dir(&path).unwrap();
        None
    }
}

impl Drop for FullFileSystem {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}
