//! Memories: their text, their files, and what gc does to them.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::entry::{self, Entries};
use super::{Collection, GcError, Memory, Outcome, Trimmed};
use crate::config::{Directories, Environment, MemorySettings};
use crate::provider::{self, Boxed, Category, EventStream, Message, Provider, Reply, Request};

const SECOND: &str = "2026-01-02T03:04:05Z";

fn moment(text: &str) -> SystemTime {
    humantime::parse_rfc3339(text).unwrap()
}

fn environment(home: &Path) -> Environment {
    Environment::new(home, [("HOME", home.to_str().unwrap())])
}

fn memory(home: &Path, path: &str) -> Memory {
    let environment = environment(home);
    let settings = MemorySettings { path: path.into(), ..MemorySettings::default() };
    Memory::of("a", &settings, &environment, &Directories::of(&environment).unwrap())
}

/// A memory of `count` entries, a minute apart.
fn filled(home: &Path, count: u64) -> Memory {
    let memory = memory(home, "m.md");
    for minute in 0..count {
        let now = moment("2026-01-01T00:00:00Z") + Duration::from_secs(60 * minute);
        memory.append_at(now, &format!("task {minute}"), &format!("result {minute}")).unwrap();
    }
    memory
}

#[test]
fn an_entry_has_its_bytes() {
    let long = "é".repeat(501);
    for (task, result, expected) in [
        ("do\nthis\r\nnow", "one\ntwo\n", "**Task:** do this now\n**Result:** one\ntwo\n\n\n".to_owned()),
        ("", "", "**Task:** (none)\n**Result:** (none)\n\n".to_owned()),
        ("t", &long, format!("**Task:** t\n**Result:** {}...\n\n", "é".repeat(500))),
        ("t", &"x".repeat(1000), format!("**Task:** t\n**Result:** {}\n\n", "x".repeat(1000))),
        (
            "t",
            "## Heading\n## 2026-01-02T03:04:05Z\n",
            "**Task:** t\n**Result:** ## Heading\n ## 2026-01-02T03:04:05Z\n\n\n".to_owned(),
        ),
    ] {
        assert_eq!(entry::entry(moment(SECOND), task, result), format!("## {SECOND}\n{expected}"));
    }
    // Never through the middle of a character.
    let odd = format!("x{}", "é".repeat(600));
    assert!(entry::entry(moment(SECOND), "t", &odd).contains(&format!("x{}...", "é".repeat(499))));
}

#[test]
fn only_headings_with_a_time_begin_an_entry() {
    let text =
        "by hand\n## 2026-01-01T00:00:00Z\na\n## Summary\nb\n## 2026-01-02T00:00:00Z\r\nc\n### x\n## 2026\n";
    let entries = Entries::parse(text);
    assert_eq!(entries.count(), 2);
    assert_eq!(entries.newest(1), "## 2026-01-02T00:00:00Z\r\nc\n### x\n## 2026\n");
    for all in [2, 3, usize::MAX] {
        assert_eq!(entries.newest(all), text);
    }
    assert_eq!(entries.newest(0), "");
    assert_eq!(entries.trimmed_to(1), format!("by hand\n{}", entries.newest(1)));
    assert_eq!(entries.trimmed_to(5), text);
    assert_eq!(Entries::parse("").newest(1), "");
}

#[test]
fn the_file_is_where_settings_say() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("plain"), "").unwrap();
    for (path, expected) in [
        ("", ".local/share/axe/memory/a.md"),
        ("~/m/mine.md", "m/mine.md"),
        ("$HOME/m", "m/a.md"),
        ("plain", "plain"),
        ("rel/dir", "rel/dir/a.md"),
    ] {
        let expected: PathBuf = home.path().join(expected);
        assert_eq!(memory(home.path(), path).path(), expected, "{path}");
    }
}

#[test]
fn appending_makes_the_file_and_keeps_what_is_there() {
    let home = tempfile::tempdir().unwrap();
    let memory = memory(home.path(), "new/dir");
    assert_eq!(memory.load().unwrap(), None);
    memory.append_at(moment(SECOND), "t", "r").unwrap();
    let once = format!("## {SECOND}\n**Task:** t\n**Result:** r\n\n");
    assert_eq!(memory.load().unwrap().unwrap().text(), once);
    std::fs::write(memory.path(), "open line").unwrap();
    memory.append_at(moment(SECOND), "t", "r").unwrap();
    assert_eq!(memory.load().unwrap().unwrap().text(), format!("open line\n\n{once}"));
}

#[test]
fn parallel_writers_and_trims_lose_no_entry() {
    let home = tempfile::tempdir().unwrap();
    let memory = filled(home.path(), 0);
    let (writers, each) = (4, 50);
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let memory = &memory;
            scope.spawn(move || {
                for round in 0..each {
                    memory.append(&format!("w{writer} r{round}"), "two\nlines").unwrap();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..each {
                match memory.trim(1000) {
                    Ok(trimmed) => assert_eq!(trimmed.removed, 0),
                    Err(error) => assert!(error.to_string().contains("No such file"), "{error}"),
                }
            }
        });
    });
    assert_eq!(memory.load().unwrap().unwrap().count(), writers * each);

    // And with trims that do remove: what they say adds up with what is left.
    let removed: usize = std::thread::scope(|scope| {
        let writing = scope.spawn(|| (0..each).for_each(|_| memory.append("t", "r").unwrap()));
        let trims = (0..each).map(|_| memory.trim(20).unwrap().removed).sum();
        writing.join().unwrap();
        trims
    });
    assert_eq!(memory.load().unwrap().unwrap().count() + removed, (writers + 1) * each);
    let left: Vec<_> =
        std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["m.md"], "no temporary file stays");
}

#[cfg(unix)]
#[test]
fn what_a_killed_trim_left_goes_with_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let memory = filled(home.path(), 3);
    std::fs::write(home.path().join(".m.md.trim"), "half an ent").unwrap();
    assert_eq!(memory.trim(1).unwrap(), Trimmed { removed: 2, kept: 1 });
    assert_eq!(memory.load().unwrap().unwrap().count(), 1);
    let names: Vec<_> =
        std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["m.md"]);
}

#[test]
fn a_trim_keeps_the_mode_and_the_symlink() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = tempfile::tempdir().unwrap();
    let memory = filled(home.path(), 3);
    let real = home.path().join("real.txt");
    std::fs::rename(memory.path(), &real).unwrap();
    std::os::unix::fs::symlink(&real, memory.path()).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(memory.trim(1).unwrap(), Trimmed { removed: 2, kept: 1 });
    assert!(memory.path().is_symlink());
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let text = std::fs::read_to_string(&real).unwrap();
    assert_eq!(text, "## 2026-01-01T00:02:00Z\n**Task:** task 2\n**Result:** result 2\n\n");
}

/// A provider that says one thing, or fails, and remembers what it was asked.
struct Analyst {
    answer: Result<&'static str, Category>,
    asked: Mutex<Vec<Request>>,
}

impl Analyst {
    fn new(answer: Result<&'static str, Category>) -> Self {
        Self { answer, asked: Mutex::default() }
    }
}

impl Provider for Analyst {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, provider::Error>> {
        self.asked.lock().unwrap().push(request.clone());
        Box::pin(async move {
            match self.answer {
                Ok(text) => Ok(Reply { text: text.to_owned(), ..Reply::default() }),
                Err(category) => {
                    let message = "it failed".to_owned();
                    Err(provider::Error { category, message, status: None, retry_after: None })
                }
            }
        })
    }

    fn stream<'a>(&'a self, _: &'a Request) -> Boxed<'a, Result<EventStream, provider::Error>> {
        unreachable!("gc does not stream")
    }
}

/// What a collection with these settings comes to, and what it prints.
fn collect(
    memory: &Memory,
    settings: &MemorySettings,
    is_dry_run: bool,
    analyst: &Analyst,
) -> (Result<Outcome, GcError>, String) {
    let collection = Collection { agent: "a", model: "m", settings, memory, is_dry_run };
    let executor = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut out = Vec::new();
    let outcome = executor.block_on(collection.run(analyst, &mut out));
    (outcome, String::from_utf8(out).unwrap())
}

#[test]
fn gc_trims_to_the_number_that_settings_name() {
    let settings = |last_n, max_entries| MemorySettings { last_n, max_entries, ..MemorySettings::default() };
    let report = "Agent: a\nEntries: 3\n\n--- Analysis ---\n## Patterns Found\n\n";
    for (settings, is_dry_run, removed, last_line) in [
        (settings(Some(1), Some(2)), false, 2, "Trimmed: 2 entries removed, 1 entries kept."),
        (settings(None, Some(2)), false, 1, "Trimmed: 1 entries removed, 2 entries kept."),
        (settings(Some(3), None), false, 0, "No trimming needed: 3 entries, 3 are kept."),
        (
            settings(None, None),
            false,
            0,
            "No trim target: neither memory.last_n nor memory.max_entries is set.",
        ),
        (settings(Some(1), None), true, 0, "Dry run: no entries trimmed."),
    ] {
        let home = tempfile::tempdir().unwrap();
        let memory = filled(home.path(), 3);
        let analyst = Analyst::new(Ok("## Patterns Found\n"));
        let (outcome, out) = collect(&memory, &settings, is_dry_run, &analyst);
        outcome.unwrap();
        assert_eq!(out, format!("{report}{last_line}\n"));
        assert_eq!(memory.load().unwrap().unwrap().count(), 3 - removed);
    }
}

#[test]
fn gc_asks_once_with_everything_and_no_tools() {
    let home = tempfile::tempdir().unwrap();
    let memory = filled(home.path(), 2);
    let analyst = Analyst::new(Ok(""));
    collect(&memory, &MemorySettings::default(), false, &analyst).0.unwrap();
    let asked = analyst.asked.lock().unwrap();
    let [request] = asked.as_slice() else { panic!("{asked:?}") };
    let text = memory.load().unwrap().unwrap().text().to_owned();
    assert_eq!(request.messages, [Message::User(text)]);
    assert_eq!((request.temperature, request.max_tokens), (Some(0.3), Some(4096)));
    assert_eq!((request.model.as_str(), request.tools.len()), ("m", 0));
    for heading in ["## Patterns Found", "## Repeated Work", "## Recommendations"] {
        assert!(request.system.contains(heading));
    }
}

#[test]
fn gc_asks_nobody_about_nothing_and_trims_nothing_after_a_failure() {
    let home = tempfile::tempdir().unwrap();
    let settings = MemorySettings { last_n: Some(1), ..MemorySettings::default() };
    let analyst = Analyst::new(Err(Category::Auth));
    let empty = memory(home.path(), "none.md");
    let (outcome, out) = collect(&empty, &settings, false, &analyst);
    assert_eq!(outcome.unwrap(), Outcome::Empty);
    assert_eq!(out, "No memory entries for agent \"a\". Nothing to do.\n");
    assert!(analyst.asked.lock().unwrap().is_empty());

    let memory = filled(home.path(), 3);
    let error = collect(&memory, &settings, false, &analyst).0.unwrap_err();
    assert!(matches!(error, GcError::Provider(_)), "{error}");
    assert_eq!(memory.load().unwrap().unwrap().count(), 3);
}

#[test]
fn a_memory_that_is_not_utf_8_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let memory = filled(home.path(), 2);
    let mut bytes = std::fs::read(memory.path()).unwrap();
    bytes.extend(b"\xff\n");
    std::fs::write(memory.path(), &bytes).unwrap();
    assert_eq!(memory.load().unwrap().unwrap().count(), 2);
    assert!(memory.trim(1).is_err());
    assert_eq!(std::fs::read(memory.path()).unwrap(), bytes);
}

proptest::proptest! {
    /// Whatever was asked and answered, a run is one entry, and a trim keeps the newest ones as they are.
    #[test]
    fn a_run_is_one_entry(
        runs in proptest::collection::vec(("[a#\n\r ]{0,20}", "([a#\n\r ]|\n## 2026-01-02T03:04:05Z ?\r?\n?){0,8}"), 0..6),
        kept in 0_usize..7,
    ) {
        let entry = |(task, result): &(String, String)| entry::entry(moment(SECOND), task, result);
        let all: Vec<_> = runs.iter().map(entry).collect();
        let entries = Entries::parse(all.concat());
        proptest::prop_assert_eq!(entries.count(), runs.len());
        let newest = all[all.len().saturating_sub(kept)..].concat();
        proptest::prop_assert_eq!(entries.newest(kept), &newest);
        proptest::prop_assert_eq!(entries.trimmed_to(kept), newest);
    }
}
