//! The command line's own parts; the program itself is tested from outside.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use clap::{CommandFactory as _, Parser as _};

use super::agents::editor_words;
use super::flags::{Command, Flags, RunFlags};
use super::run::{dry_run, prepare};
use super::usage;
use crate::config::{Environment, Lookup, Place};
use crate::prepare::{Prepared, Workdirs};
use crate::prompt::{Entry, EntryKind, Files, FilesError, Stdin, StdinError};
use crate::provider::Boxed;

#[test]
fn the_commands_are_sound() {
    Flags::command().debug_assert();
}

fn run_flags(words: &[&str]) -> RunFlags {
    let flags = Flags::try_parse_from(["axe", "run"].iter().chain(words)).unwrap();
    let Some(Command::Run(flags)) = flags.command else { panic!("{flags:?}") };
    flags
}

#[test]
fn switches_may_be_written_out() {
    for (words, stream, is_json) in [
        (&["a"][..], None, false),
        (&["a", "--stream", "--json"], Some(true), true),
        (&["a", "--stream=false", "--json=1"], Some(false), true),
        (&["--stream=T", "--json=F", "a"], Some(true), false),
        (&["--stream", "a"], Some(true), false),
        (&["--json", "a", "--json"], None, true),
        (&["--stream", "--json", "a", "--stream=false", "--json=false"], Some(false), false),
    ] {
        let flags = run_flags(words);
        assert_eq!((flags.stream, flags.json, flags.agent.as_str()), (stream, is_json, "a"));
    }
}

#[test]
fn verbose_may_be_written_out_and_stand_before_other_letters() {
    for (words, is_verbose, prompt) in [
        (&["a", "-v"][..], true, None),
        (&["a", "--verbose=true"], true, None),
        (&["a", "-v=false"], false, None),
        (&["-v", "a"], true, None),
        (&["a", "-vp", "x"], true, Some("x")),
        (&["a", "-vpx"], true, Some("x")),
    ] {
        let flags = run_flags(words);
        assert_eq!((flags.verbose, flags.prompt.as_deref()), (is_verbose, prompt), "{words:?}");
    }
}

#[test]
fn of_a_flag_that_is_given_twice_the_last_counts() {
    let flags = run_flags(&["a", "-p", "one", "--timeout", "3", "--prompt=two", "--timeout=5"]);
    assert_eq!((flags.prompt.as_deref(), flags.timeout), (Some("two"), Some(5)));
}

#[test]
fn a_prompt_may_begin_with_a_dash() {
    for words in
        [&["a", "-p", "- one"][..], &["a", "--prompt", "- one"], &["-p- one", "a"], &["-p=- one", "a"]]
    {
        assert_eq!(run_flags(words).prompt.as_deref(), Some("- one"), "{words:?}");
    }
}

#[test]
fn usage_errors_are_one_line_that_points_at_the_help() {
    for (words, expected) in [
        (&["run"][..], "missing argument <AGENT>; see axe run --help"),
        (&["run", "a", "b"], "unexpected argument 'b' found; see axe run --help"),
        (
            &["run", "a", "--jsn"],
            "unexpected argument '--jsn' found (a similar argument exists: '--json'); see axe run --help",
        ),
        (
            &["run", "a", "--timeout", "-1"],
            "invalid value '-1' for '--timeout <SECONDS>': -1 is not in 0..=4294967295; see axe run --help",
        ),
        (
            &["run", "a", "--max-tokens=-1"],
            "invalid value '-1' for '--max-tokens <TOKENS>': expected a whole number from 0 to 18446744073709551615; see axe run --help",
        ),
        (
            &["run", "a", "--max-turns", "0"],
            "invalid value '0' for '--max-turns <TURNS>': 0 is not in 1..=4294967295; see axe run --help",
        ),
        (
            &["run", "a", "--stream=maybe"],
            "invalid value 'maybe' for '--stream[=<BOOL>]': expected true or false; see axe run --help",
        ),
        (&["rum"], "unrecognized subcommand 'rum' (a similar subcommand exists: 'run'); see axe --help"),
        (&["agents", "show"], "missing argument <AGENT>; see axe agents show --help"),
        (
            &["run", "a", "--json", "--events"],
            "the argument '--json[=<BOOL>]' cannot be used with '--events'; see axe run --help",
        ),
    ] {
        let error = Flags::try_parse_from(["axe"].iter().chain(words)).unwrap_err();
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(usage::line(&error, &words), expected);
    }
}

#[test]
fn editors_are_split_into_words() {
    for (editor, words) in [
        ("vi", &["vi"][..]),
        ("code --wait", &["code", "--wait"]),
        ("'my editor' -x \"a b\"", &["my editor", "-x", "a b"]),
    ] {
        assert_eq!(editor_words(editor).unwrap(), words);
    }
    assert_eq!(editor_words("vi 'x"), None);
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("my editor");
    std::fs::write(&program, "").unwrap();
    let program = program.to_str().unwrap();
    assert_eq!(editor_words(program).unwrap(), [program]);
}

/// Workdirs that all hold the same files.
struct Shelf(BTreeMap<&'static str, &'static str>);

impl Workdirs for Shelf {
    fn open<'a>(&'a self, workdir: &'a Path) -> Boxed<'a, Result<Box<dyn Files>, String>> {
        Box::pin(async move {
            assert!(workdir.is_absolute());
            if self.0.is_empty() {
                return Err("nobody listens".to_owned());
            }
            Ok(Box::new(Self(self.0.clone())) as Box<dyn Files>)
        })
    }
}

impl Files for Shelf {
    fn list<'a>(&'a self, _: &'a str) -> Boxed<'a, Result<Vec<Entry>, FilesError>> {
        let entry = |name: &&str| Entry { name: (*name).to_owned(), kind: EntryKind::File };
        Box::pin(async move { Ok(self.0.keys().map(entry).collect()) })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<Vec<u8>, FilesError>> {
        Box::pin(async move { Ok(self.0[path].into()) })
    }
}

/// Nothing is piped in.
struct Closed;

impl Stdin for Closed {
    fn is_piped(&self) -> bool {
        false
    }

    fn read(self, _: Duration) -> Result<String, StdinError> {
        Err(io::Error::other("not piped").into())
    }
}

fn prepared(agent: &str, words: &[&str], shelf: Shelf) -> Result<Prepared, (u8, String)> {
    let home = tempfile::tempdir().unwrap();
    let agents = home.path().join("axe/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("a.toml"), format!("name = \"a\"\nmodel = \"p/m\"\n{agent}")).unwrap();
    std::fs::write(home.path().join("m.md"), MEMORY).unwrap();
    let place = Place::new(Environment::new(home.path(), [("HOME", home.path().to_str().unwrap())])).unwrap();
    let lookup = Lookup::new(None, &place.environment, &place.directories);
    let flags = run_flags(&[&["a"], words].concat());
    let executor = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let prepared = executor.block_on(prepare(&flags, Closed, &lookup, &place, &shelf));
    prepared.map_err(|failure| (failure.exit.code(), failure.message))
}

const MEMORY: &str = "## 2026-01-01T00:00:00Z\none\n\n## 2026-01-02T00:00:00Z\ntwo\n\n";

#[test]
fn a_run_is_put_together_from_all_its_parts() {
    let agent = "system_prompt = \"S\"\nfiles = [\"*.md\"]\n\
                 [memory]\nenabled = true\npath = \"m.md\"\nlast_n = 1\nmax_entries = 2\n";
    let shelf = || Shelf([("a.md", "A"), ("b.rs", "B")].into());
    let prepared = prepared(agent, &["-p", "ask", "-v"], shelf()).unwrap();
    let expected = "S\n\n---\n\n## Context Files\n\n### a.md\n```md\nA\n```\n\n---\n\n## Memory\n\n\
                    ## 2026-01-02T00:00:00Z\ntwo\n\n";
    assert_eq!(prepared.system_prompt, expected);
    assert_eq!(prepared.user.text, "ask");
    assert_eq!(prepared.warnings, ["memory of agent \"a\" has 2 entries (max 2); run 'axe gc a' to trim it"]);
    let memory = prepared.explanation().pop().unwrap();
    assert!(memory.starts_with("Memory:   1 entries loaded from ") && memory.ends_with("/m.md"), "{memory}");
    let text = dry_run(&prepared);
    assert!(
        text.contains(
            "--- Files (1) ---\na.md\n\n--- User Message ---\nask\n\n--- Memory ---\n## 2026-01-02"
        ),
        "{text}"
    );
}

#[test]
fn faults_before_the_first_request_have_their_codes() {
    let empty = || Shelf(BTreeMap::new());
    for (agent, words, code, message) in [
        ("timeout = -1", &[][..], 2, "failed to load agent: timeout must be non-negative"),
        ("", &["--model", "x"], 2, "failed to load agent: invalid model \"x\": expected provider/model-name"),
        ("", &["--skill", "/gone"], 2, "failed to load agent: skill not found: /gone"),
        (
            "",
            &["--workdir", "/gone"],
            2,
            "failed to load agent: workdir /gone: No such file or directory (os error 2)",
        ),
        ("files = [\"[\"]", &[], 2, "invalid files pattern \"[\": a [ is not closed"),
        ("files = [\"*\"]", &[], 1, "nobody listens"),
    ] {
        assert_eq!(prepared(agent, words, empty()).unwrap_err(), (code, message.to_owned()));
    }
    // A workdir is opened only for an agent with patterns.
    prepared("", &[], empty()).unwrap();
}
