use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use axlr_protocol::EventBody;
use axlr_protocol::tool::{Match, Skipped, SkippedFiles};
use proptest::prelude::*;
use tokio::sync::mpsc;

use super::*;

fn arguments(pattern: &str) -> SearchArguments {
    SearchArguments { pattern: pattern.into(), ..Default::default() }
}

fn run_with(root: &Path, arguments: SearchArguments, threads: usize) -> Result<SearchOutput, Error> {
    let workspace = Workspace::open(root).unwrap();
    search(&workspace, &Search::parse(arguments)?, &Patterns::default(), threads, &Cancel::new(), None)
}

fn run(root: &Path, arguments: SearchArguments) -> Result<SearchOutput, Error> {
    run_with(root, arguments, 1)
}

fn places(output: &SearchOutput) -> Vec<String> {
    output.matches.iter().map(|found| format!("{}:{}", found.path, found.line)).collect()
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

#[test]
fn matches_come_in_walk_order_with_their_context() {
    let root = tree(&[("b", "x\nhit\n"), ("a/z", "one\nsome hit\r\ntwo\n"), ("a.txt", "none\n")]);
    let output = run(root.path(), SearchArguments { context_lines: Some(1), ..arguments("hit") }).unwrap();
    let expected = SearchOutput {
        matches: vec![
            Match {
                path: "a/z".into(),
                line: 2,
                column: 6,
                text: "some hit".into(),
                before: vec!["one".into()],
                after: vec!["two".into()],
                truncated: false,
            },
            Match {
                path: "b".into(),
                line: 2,
                column: 1,
                text: "hit".into(),
                before: vec!["x".into()],
                after: vec![],
                truncated: false,
            },
        ],
        files_scanned: 3,
        ..Default::default()
    };
    assert_eq!(output, expected);
}

#[test]
fn our_own_folders_and_links_are_passed_over_below_the_path() {
    let root = tree(&[
        (".git/c", "hit"),
        (".axlr/s", "hit"),
        (".kernel/k", "hit"),
        ("d/.git", "hit"),
        ("d/f", "hit"),
        (".axlr-tmp-0123456789abcdef", "hit"),
    ]);
    symlink("f", root.path().join("d/link")).unwrap();
    symlink("/", root.path().join("out")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    let output = run(root.path(), arguments("hit")).unwrap();
    assert_eq!((places(&output), output.files_scanned, output.files_skipped), (vec!["d/f:1".into()], 1, 0));
    let below = |path: &str| {
        places(&run(root.path(), SearchArguments { path: Some(path.into()), ..arguments("hit") }).unwrap())
    };
    assert_eq!(below(".git"), [".git/c:1"]);
    assert_eq!(below(".axlr/s"), [".axlr/s:1"]);
    assert_eq!(below("d/.git"), ["d/.git:1"]);
}

#[test]
fn a_path_is_a_directory_or_a_file() {
    let root = tree(&[("d/f", "hit")]);
    symlink("d", root.path().join("link")).unwrap();
    symlink("/etc", root.path().join("out")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    let fault = |path: &str| {
        let arguments = SearchArguments { path: Some(path.into()), ..arguments("hit") };
        run(root.path(), arguments).unwrap_err()
    };
    let symlink = fault("link");
    assert_eq!(symlink.kind, Kind::NotSearchable);
    assert_eq!(symlink.message, "path \"link\" is a symlink; give a directory or a regular file");
    assert_eq!(fault("socket").kind, Kind::NotSearchable);
    assert_eq!(fault("none").kind, Kind::NotFound);
    assert_eq!(fault("out/passwd").kind, Kind::Filesystem);
    assert_eq!(fault("d/f/x").kind, Kind::Filesystem);
}

#[test]
fn a_file_named_as_path_is_searched_whatever_glob_and_ignore_files_say() {
    let root = tree(&[("f.txt", "hit"), (".ignore", "*\n")]);
    let arguments = SearchArguments {
        path: Some("f.txt".into()),
        glob: Some("*.md".into()),
        ignore_files: Some(true),
        ..arguments("hit")
    };
    let output = run(root.path(), arguments).unwrap();
    assert_eq!((places(&output), output.files_ignored), (vec!["f.txt:1".into()], Some(0)));
}

#[test]
fn skipped_files_are_counted_and_explained() {
    let root = tree(&[("a/ok", "hit"), ("nul-late", &format!("hit{}\0", "x".repeat(8_189)))]);
    let write =
        |name: &[u8], bytes: &[u8]| fs::write(root.path().join(OsStr::from_bytes(name)), bytes).unwrap();
    write(b"binary", b"hit\0");
    write(b"latin1", b"hit \xff");
    write(b"large", &[b'x'; (1 << 20) + 1]);
    write(b"largest", &[b'x'; 1 << 20]);
    write(b"nul-in-window", format!("hit{}\0", "x".repeat(8_188)).as_bytes());
    write(b"name\xff", b"hit");
    fs::create_dir(root.path().join(OsStr::from_bytes(b"dir\xff"))).unwrap();
    write(b"dir\xff/f", b"hit");
    let output = run(root.path(), SearchArguments { explain: Some(true), ..arguments("hit") }).unwrap();
    let files = |paths: &[&str]| SkippedFiles {
        count: paths.len() as u64,
        paths: paths.iter().map(ToString::to_string).collect(),
    };
    let expected = Skipped {
        too_large: files(&["large"]),
        binary: files(&["binary", "nul-in-window"]),
        not_utf8: files(&["latin1"]),
        unreadable: files(&["dir\u{fffd}", "name\u{fffd}"]),
    };
    assert_eq!(output.skipped, Some(expected));
    assert_eq!((output.files_scanned, output.files_skipped), (3, 6));
    assert_eq!(places(&output), ["a/ok:1", "nul-late:1"]);
    // A glob leaves files out unseen, a directory with such a name is one all the same.
    let globbed = SearchArguments { glob: Some("ok".into()), ..arguments("hit") };
    let output = run(root.path(), globbed).unwrap();
    assert_eq!((output.files_scanned, output.files_skipped, output.skipped), (1, 1, None));
}

#[test]
fn only_ten_samples_of_a_reason_are_given() {
    let files: Vec<String> = (10..31).map(|number| number.to_string()).collect();
    let root = tree(&files.iter().map(|path| (path.as_str(), "\0")).collect::<Vec<_>>());
    let output = run(root.path(), SearchArguments { explain: Some(true), ..arguments("x") }).unwrap();
    let binary = output.skipped.unwrap().binary;
    assert_eq!((binary.count, binary.paths), (21, files[..10].to_vec()));
}

#[test]
fn a_page_ends_with_the_match_that_proves_that_more_follow() {
    let root = tree(&[("a", "hit\nhit\n"), ("b", "x\n"), ("c", "hit\n"), ("d", "x\n")]);
    let page = |offset, max_results| {
        let arguments =
            SearchArguments { offset: Some(offset), max_results: Some(max_results), ..arguments("hit") };
        let output = run(root.path(), arguments).unwrap();
        (places(&output).join(" "), output.files_scanned, output.next_offset, output.truncated)
    };
    assert_eq!(page(0, 1), ("a:1".into(), 1, Some(1), true));
    assert_eq!(page(0, 2), ("a:1 a:2".into(), 3, Some(2), true));
    assert_eq!(page(1, 2), ("a:2 c:1".into(), 4, None, false));
    assert_eq!(page(2, 0), ("c:1".into(), 4, None, false));
    assert_eq!(page(3, 1), (String::new(), 4, None, false));
    assert_eq!(page(i64::MAX, 1), (String::new(), 4, None, false));
}

#[test]
fn bytes_bound_a_page_that_holds_at_least_one_match() {
    let root = tree(&[("a", "hit\nhit\nhit\n")]);
    let size = r#"{"path":"a","line":1,"column":1,"text":"hit"},"#.len() as i64;
    let page = |max_bytes| {
        let output = run(root.path(), SearchArguments { max_bytes: Some(max_bytes), ..arguments("hit") });
        let output = output.unwrap();
        (output.matches.len(), output.next_offset)
    };
    assert_eq!(page(1), (1, Some(1)));
    assert_eq!(page(2 * size - 1), (1, Some(1)));
    assert_eq!(page(2 * size), (2, Some(2)));
    assert_eq!(page(3 * size), (3, None));
}

#[test]
fn the_sizes_of_all_files_but_too_large_ones_are_bounded() {
    let root = tempfile::tempdir().unwrap();
    let sized = |name: &str, size: u64| {
        fs::File::create(root.path().join(name)).unwrap().set_len(size).unwrap();
    };
    for number in 0..64 {
        sized(&format!("{number:02}"), 1 << 20);
    }
    sized("5-too-large", (1 << 20) + 1);
    sized("x-empty", 0);
    let look = || {
        let outputs = [1, 2, 3].map(|threads| run_with(root.path(), arguments("x"), threads).unwrap());
        assert_eq!(outputs[0], outputs[1]);
        assert_eq!(outputs[0], outputs[2]);
        let SearchOutput { files_scanned, files_skipped, truncated, limit_reached, .. } = outputs[0];
        assert_eq!(truncated, limit_reached);
        (files_scanned, files_skipped, limit_reached)
    };
    assert_eq!(look(), (1, 65, false));
    sized("y-one-more", 1);
    assert_eq!(look(), (1, 65, true));
}

#[test]
fn a_search_stops_behind_so_many_files() {
    let root = tempfile::tempdir().unwrap();
    let most = limits::SEARCH_MAX_FILES;
    for number in 0..most {
        fs::write(root.path().join(format!("{number:05}")), "").unwrap();
    }
    fs::write(root.path().join("19999"), "hit").unwrap();
    let look = || {
        let output = run_with(root.path(), arguments("hit"), 2).unwrap();
        assert_eq!(output.next_offset, None);
        (places(&output), output.files_scanned, output.limit_reached)
    };
    assert_eq!(look(), (vec!["19999:1".into()], most, false));
    // What is no file, or left out by the glob, passes no limit.
    fs::create_dir(root.path().join("dir")).unwrap();
    assert_eq!(look(), (vec!["19999:1".into()], most, false));
    fs::write(root.path().join("more"), "hit").unwrap();
    assert_eq!(look(), (vec!["19999:1".into()], most, true));
}

#[test]
fn ignored_files_are_counted_up_to_the_decision() {
    let root =
        tree(&[(".ignore", "b\nd/\n"), ("a", "hit\n"), ("b", "hit\n"), ("c", "hit\n"), ("d/x", "hit\n")]);
    let arguments = SearchArguments { ignore_files: Some(true), ..arguments("hit") };
    let output = run(root.path(), arguments.clone()).unwrap();
    assert_eq!((places(&output).join(" "), output.files_ignored), ("a:1 c:1".into(), Some(2)));
    let output = run(root.path(), SearchArguments { max_results: Some(1), ..arguments.clone() }).unwrap();
    assert_eq!((places(&output).join(" "), output.files_ignored), ("a:1".into(), Some(1)));
    // A file that the glob leaves out is not left out by the ignore files; a directory is.
    let output = run(root.path(), SearchArguments { glob: Some("[ac]".into()), ..arguments }).unwrap();
    assert_eq!((places(&output).join(" "), output.files_ignored), ("a:1 c:1".into(), Some(1)));
}

#[test]
fn malformed_arguments_are_refused_by_name_value_and_limit() {
    let x = || arguments("x");
    let cases = [
        (arguments(""), "pattern \"\" is empty; it must have 1 to 4096 bytes"),
        (SearchArguments { context_lines: Some(6), ..x() }, "context_lines 6 exceeds the limit of 5"),
        (SearchArguments { max_results: Some(201), ..x() }, "max_results 201 exceeds the limit of 200"),
        (
            SearchArguments { max_results: Some(-1), ..x() },
            "max_results -1 is less than 1 (0 means the default, 50)",
        ),
        (SearchArguments { offset: Some(i64::MIN), ..x() }, "offset -9223372036854775808 is less than 0"),
        (
            SearchArguments { path: Some("..".into()), ..x() },
            "path \"..\" must not contain the component \"..\"",
        ),
    ];
    for (arguments, message) in cases {
        let error = Search::parse(arguments).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Malformed, message));
    }
    let root = tree(&[]);
    assert_eq!(run(root.path(), arguments("(")).unwrap_err().kind, Kind::Malformed);
}

/// Two hundred files in some folders, every third with a hit; some are skipped.
fn many() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for number in 0..200 {
        let folder = root.path().join(format!("d{}/e{}", number % 7, number % 3));
        fs::create_dir_all(&folder).unwrap();
        let text = match number % 6 {
            0 => "hit\nx\nhit hit\n".repeat(number / 20),
            3 => "one hit\n".to_owned(),
            5 => "hit\0".to_owned(),
            _ => "nothing\n".to_owned(),
        };
        fs::write(folder.join(format!("f{number}")), text).unwrap();
    }
    root
}

#[test]
fn a_cancelled_search_says_so() {
    let root = many();
    let workspace = Workspace::open(root.path()).unwrap();
    let request = Search::parse(arguments("x")).unwrap();
    for threads in [1, 3] {
        let patterns = Patterns::default();
        patterns.get(&request.key, &Cancel::new()).unwrap();
        let cancel = Cancel::new();
        cancel.cancel();
        let error = search(&workspace, &request, &patterns, threads, &cancel, None).unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
    }
}

#[test]
fn a_cancellation_is_heard_in_the_middle() {
    let root = many();
    let workspace = Workspace::open(root.path()).unwrap();
    let request = Search::parse(SearchArguments { max_results: Some(200), ..arguments("hit") }).unwrap();
    for threads in 1..4 {
        // Full from the beginning: the search can't end before somebody reads.
        let (events, _received) = mpsc::channel(1);
        events.try_send(EventBody::SearchProgress { files_scanned: 0, files_skipped: 0 }).unwrap();
        let cancel = Cancel::new();
        thread::scope(|scope| {
            let searching = scope.spawn(|| {
                search(&workspace, &request, &Patterns::default(), threads, &cancel, Some(&events))
            });
            let started = Instant::now();
            cancel.cancel();
            assert_eq!(searching.join().unwrap().unwrap_err().kind, Kind::Cancelled);
            assert!(started.elapsed() < Duration::from_secs(5));
        });
    }
}

#[test]
fn a_reader_that_left_ends_the_search() {
    let root = many();
    let workspace = Workspace::open(root.path()).unwrap();
    let request = Search::parse(arguments("hit")).unwrap();
    let (events, received) = mpsc::channel(1);
    drop(received);
    let error = search(&workspace, &request, &Patterns::default(), 2, &Cancel::new(), Some(&events));
    assert_eq!(error.unwrap_err().kind, Kind::Cancelled);
}

/// The answer with the streamed matches put in.
fn streamed(root: &Path, arguments: SearchArguments, threads: usize) -> SearchOutput {
    let workspace = Workspace::open(root).unwrap();
    let request = Search::parse(arguments).unwrap();
    let (events, mut received) = mpsc::channel(2);
    thread::scope(|scope| {
        let searching = scope.spawn(move || {
            search(&workspace, &request, &Patterns::default(), threads, &Cancel::new(), Some(&events))
        });
        let mut found = Vec::new();
        while let Some(event) = received.blocking_recv() {
            match event {
                EventBody::Matches { matches } => {
                    assert!(!matches.is_empty());
                    found.extend(matches);
                }
                event => assert!(matches!(event, EventBody::SearchProgress { .. })),
            }
        }
        let mut output = searching.join().unwrap().unwrap();
        assert_eq!(output.matches, []);
        output.matches = found;
        output
    })
}

#[test]
fn a_match_far_behind_in_a_file_read_ahead_is_found() {
    // More matches in one file than are kept of it ahead of the front.
    let mut files: Vec<(String, String)> =
        (0..150).map(|number| (format!("a{number}"), "x\n".into())).collect();
    files.push(("b".into(), "hit\n".repeat(3_000)));
    files.push(("c".into(), "hit\n".repeat(10)));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let root = tree(&files);
    for offset in [0, 1, 100, 201, 250, 2_000, 2_990, 2_999, 3_000, 3_005, 3_010, 4_000] {
        let arguments = SearchArguments { offset: Some(offset), max_results: Some(20), ..arguments("hit") };
        let alone = run(root.path(), arguments.clone()).unwrap();
        assert_eq!(alone.matches.len() as i64, (3_010 - offset).clamp(0, 20));
        for threads in 2..4 {
            assert_eq!(run_with(root.path(), arguments.clone(), threads).unwrap(), alone);
        }
    }
}

#[test]
fn a_tree_that_changes_leads_nowhere_else() {
    let outside = tree(&[("d/f", "secret hit\n"), ("f", "secret hit\n")]);
    let root = tempfile::tempdir().unwrap();
    for number in 0..60 {
        let folder = root.path().join(format!("{number}/d"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("f"), "inner hit\n").unwrap();
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for number in 0..60 {
                    let (folder, aside) = (root.path().join(number.to_string()), root.path().join("aside"));
                    let _ = fs::rename(&folder, &aside);
                    let _ = symlink(outside.path(), &folder);
                    let _ = fs::remove_file(&folder);
                    let _ = fs::rename(&aside, &folder);
                    let file = folder.join("d/f");
                    let _ = fs::remove_file(&file);
                    let _ = symlink(outside.path().join("f"), &file);
                    let _ = fs::remove_file(&file);
                    let _ = fs::write(&file, "inner hit\n");
                }
            }
        });
        let request = SearchArguments { max_results: Some(200), context_lines: Some(1), ..arguments("hit") };
        for round in 0..60 {
            let output = run_with(root.path(), request.clone(), 1 + round % 3).unwrap();
            assert!(output.matches.iter().all(|found| found.text == "inner hit"), "{output:?}");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_answer_does_not_tell_how_it_was_found(
        files in prop::collection::btree_map("[ab]{1,2}(/[ab]{1,2}){0,2}/[c-z]{1,2}", "(hit\n|x\n|\0){0,9}", 0..160),
        max_results in 1..60_i64,
        max_bytes in 1..3_000_i64,
        context_lines in 0..2_i64,
    ) {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let root = tree(&files);
        let request = SearchArguments {
            context_lines: Some(context_lines),
            explain: Some(true),
            ignore_files: Some(true),
            ..arguments("hit")
        };
        let whole = SearchArguments { max_results: Some(200), max_bytes: Some(1 << 20), ..request.clone() };
        let mut expected = Vec::new();
        loop {
            let arguments = SearchArguments { offset: Some(expected.len() as i64), ..whole.clone() };
            let page = run(root.path(), arguments).unwrap();
            expected.extend(page.matches);
            if page.next_offset.is_none() { break }
        }
        let mut joined = Vec::new();
        loop {
            let arguments = SearchArguments {
                offset: Some(joined.len() as i64),
                max_results: Some(max_results),
                max_bytes: Some(max_bytes),
                ..request.clone()
            };
            let page = run(root.path(), arguments.clone()).unwrap();
            for threads in 2..5 {
                prop_assert_eq!(&run_with(root.path(), arguments.clone(), threads).unwrap(), &page);
            }
            prop_assert_eq!(&streamed(root.path(), arguments, 2), &page);
            prop_assert_eq!(page.truncated, page.next_offset.is_some());
            joined.extend(page.matches);
            match page.next_offset {
                Some(next) => prop_assert_eq!(next, joined.len() as u64),
                None => break,
            }
        }
        prop_assert_eq!(joined, expected);
    }
}
