use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

use super::*;
use crate::workspace::fixture::{Fixture, as_nobody};

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

/// What the two ways of resolution say to the same tree.
fn outcomes(fixture: &Fixture, name: &str) -> [String; 2] {
    let flags = OFlags::RDONLY | CAREFUL;
    let word = |answer: Result<OwnedFd, Error>| match answer {
        Ok(_) => "opened".to_owned(),
        Err(error) => error.to_string(),
    };
    [
        word(open_beneath(&fixture.workspace, name, flags)),
        word(walk(&fixture.workspace, Path::new(name), flags)),
    ]
}

#[test]
fn the_kernel_and_the_walk_agree_on_what_is_inside() {
    let fixture = Fixture::new();
    fixture.file("a", "1").file("d/e", "2").dir("x");
    fixture.link("in", "d/e").link("up", "../outside/secret").link("abs", fixture.path("a"));
    fixture.link("out", "../outside").link("d/back", "..").link("x/y", "../x").link("loop", "loop");
    fixture.link("dangling", "nowhere").link("dev", "/dev/zero").link("re-enters", "../root/a");
    let cases = [
        ("a", "opened"),
        ("./a", "opened"),
        ("d//e", "opened"),
        ("in", "opened"),
        ("d/back/a", "opened"),
        ("x/y/y/y/y", "opened"),
        ("x/y/y/nothing", "does not exist"),
        ("missing", "does not exist"),
        ("dangling", "does not exist"),
        ("up", "leads outside the workspace"),
        ("abs", "leads outside the workspace"),
        ("out/secret", "leads outside the workspace"),
        ("dev", "leads outside the workspace"),
        ("re-enters", "leads outside the workspace"),
        ("a/b", "cannot be used: Not a directory (os error 20)"),
        ("loop", "cannot be used: Too many levels of symbolic links (os error 40)"),
    ];
    for (name, expected) in cases {
        assert_eq!(outcomes(&fixture, name), [expected, expected], "{name}");
    }
}

#[test]
fn what_is_not_a_regular_file_is_refused_without_blocking() {
    let fixture = Fixture::new();
    fixture.dir("dir").fifo("pipe").link("to-pipe", "pipe").link("to-dir", "dir");
    let _socket = UnixListener::bind(fixture.path("socket")).unwrap();
    for (name, noun) in [
        ("dir", "a directory"),
        ("to-dir", "a directory"),
        ("pipe", "a named pipe"),
        ("to-pipe", "a named pipe"),
        ("socket", "a socket"),
    ] {
        match open_regular(&fixture.workspace, &path(name)) {
            Err(Error::NotRegular(found)) => assert_eq!(found, noun, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
        // The way that never waits says the same, or nothing.
        assert!(
            !matches!(open_regular_cached(&fixture.workspace, &path(name)), Some(Ok(_))),
            "{name} was opened"
        );
    }
}

#[test]
fn a_folder_that_is_closed_to_us_is_still_a_folder() {
    let fixture = Fixture::new();
    fixture.dir("dir").mode("dir", 0o700).file("file", "").mode("file", 0o600);
    as_nobody(|| {
        let open = |name| open_regular(&fixture.workspace, &path(name)).map(|_| ());
        if !rustix::process::getuid().is_root() && open("file").is_ok() {
            return; // The tests run as the owner.
        }
        assert!(matches!(open("dir"), Err(Error::NotRegular("a directory"))));
        assert!(matches!(open("file"), Err(Error::PermissionDenied(_))));
        assert!(matches!(open("dir/in"), Err(Error::PermissionDenied(_))));
    });
}

#[test]
fn a_read_goes_on_to_the_end_of_buffer_or_file() {
    let fixture = Fixture::new();
    fixture.file("a", "0123456789");
    let (file, size) = open_regular(&fixture.workspace, &path("a")).unwrap();
    let mut buffer = [0; 8];
    assert_eq!(size, 10);
    assert_eq!(read_fully(file.as_fd(), &mut buffer, 0).unwrap(), 8);
    assert_eq!(read_fully(file.as_fd(), &mut buffer, 7).unwrap(), 3);
    assert_eq!(&buffer[..3], b"789");
    assert_eq!(read_fully(file.as_fd(), &mut buffer, 99).unwrap(), 0);
}

#[test]
fn the_cached_way_knows_what_is_missing_and_never_leaves() {
    let fixture = Fixture::new();
    fixture.file("a", "1").link("out", "../outside/secret");
    if !fixture.workspace.answers_at_once() {
        return;
    }
    let cached = |name| open_regular_cached(&fixture.workspace, &path(name));
    assert!(matches!(cached("a"), Some(Ok((_, 1)))));
    // Asked once, the kernel remembers that there is no such name.
    let _ = open_regular(&fixture.workspace, &path("missing"));
    assert!(matches!(cached("missing"), Some(Err(Error::NotFound))));
    assert!(cached("out").is_none());
}

#[test]
fn a_file_system_that_waits_for_others_is_not_asked_inline() {
    #[cfg(target_os = "linux")]
    if let Ok(proc) = Workspace::open(Path::new("/proc")) {
        assert!(!proc.answers_at_once());
        assert!(open_regular_cached(&proc, &path("version")).is_none());
    }
}
