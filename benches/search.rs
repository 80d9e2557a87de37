//! Trees: searching and listing them, against the programs that people use for it.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::data::{LARGE, NEEDLE, PROJECT, Tree};
use support::wire::request;
use support::{Aim, Contestant, Daemon, Effort, Encoding, Placement, Suite, place};

fn main() {
    let Some(mut suite) = Suite::start("search") else { return };
    Placement::Free.apply(&[]);
    for (tree, most) in [(PROJECT, 0.75), (LARGE, 0.85)] {
        whole_tree(&mut suite, tree, most);
    }
    for tree in [PROJECT, LARGE] {
        first_page(&mut suite, tree);
    }
    list(&mut suite);
    suite.finish();
}

/// A whole tree in the page cache, against ripgrep with as many threads.
fn whole_tree(suite: &mut Suite, tree: Tree, most: f64) {
    let cases: [(&str, Value, Vec<&str>); 3] = [
        ("no match", json!({"pattern": "no_such_word_anywhere"}), vec!["no_such_word_anywhere"]),
        ("few matches", json!({"pattern": NEEDLE, "max_results": 200}), vec![NEEDLE]),
        (
            "ignore case",
            json!({"pattern": NEEDLE.to_lowercase(), "ignore_case": true, "max_results": 200}),
            vec!["-i", NEEDLE],
        ),
    ];
    for (case, arguments, flags) in cases {
        let group = format!("search {} files, {case}", tree.files);
        if !suite.wants(&group) {
            continue;
        }
        let path = tree.path();
        let daemon = Daemon::start(&path);
        let answer = daemon.connect(Encoding::Json).ask("search", arguments.clone());
        assert_eq!(answer["output"]["files_scanned"], tree.files, "{answer}");
        let Some(rg) = program("rg") else {
            suite.left_out(&group, "rg is not in PATH");
            continue;
        };
        let found = output(ripgrep(&rg, &path).args(&flags));
        let lines = memchr::memchr_iter(b'\n', &found).count();
        assert_eq!(answer["output"]["matches"].as_array().unwrap().len(), lines, "rg finds something else");

        let mut wire = daemon.connect(Encoding::Json);
        let frame = request(Encoding::Json, "r1", "search", arguments);
        let [ours, yardstick] = suite.contest(
            &group,
            Effort { turns: 24, operations: 2 },
            [
                Contestant::each("search", || wire.exchange(&frame)),
                Contestant::each("rg", || drop(output(ripgrep(&rg, &path).args(&flags)))),
            ],
        );
        suite.row(&group, Placement::Free, &ours, Some(&yardstick), Aim::AtMost(most));
    }
}

/// A page that is full early, which must not cost the rest of the tree.
fn first_page(suite: &mut Suite, tree: Tree) {
    let group = format!("search {} files, first page", tree.files);
    if !suite.wants(&group) {
        return;
    }
    let daemon = Daemon::start(&tree.path());
    let arguments = json!({"pattern": "return"});
    let answer = daemon.connect(Encoding::Json).ask("search", arguments.clone());
    assert_eq!(answer["output"]["matches"].as_array().unwrap().len(), 50, "{answer}");
    let frame = request(Encoding::Json, "r1", "search", arguments);
    let mut wire = daemon.connect(Encoding::Json);
    let effort = Effort { turns: 40, operations: 10 };
    let [ours] = suite.contest(&group, effort, [Contestant::each("search", || wire.exchange(&frame))]);
    let aim = Aim::Within { p50: Duration::from_millis(5), p99: None };
    suite.row(&group, Placement::Free, &ours, None, aim);
}

/// Pages of a deep listing, against find(1), which prints all of it.
fn list(suite: &mut Suite) {
    if !suite.wants("list") {
        return;
    }
    let path = LARGE.path();
    let entries = memchr::memchr_iter(b'\n', &output(&mut find(&path))).count() - 1;
    let daemon = Daemon::start(&path);
    let page = |offset: usize| json!({"recursive": true, "max_depth": 8, "max_entries": 500, "max_bytes": 1_048_576, "offset": offset});
    let pages = [("first", 0), ("middle", entries / 2), ("last", entries - 500)];
    for (name, offset) in pages {
        let answer = daemon.connect(Encoding::Json).ask("list", page(offset));
        assert_eq!(answer["output"]["entries"].as_array().unwrap().len(), 500, "{answer}");
        let frame = request(Encoding::Json, "r1", "list", page(offset));
        let mut wire = daemon.connect(Encoding::Json);
        let what = format!("list {entries} entries, {name} page");
        let [ours, yardstick] = suite.contest(
            &what,
            Effort { turns: 40, operations: 3 },
            [
                Contestant::each("list", || wire.exchange(&frame)),
                Contestant::each("find", || drop(output(&mut find(&path)))),
            ],
        );
        suite.row(&what, Placement::Free, &ours, Some(&yardstick), Aim::AtMost(0.9));
        if name == "first" {
            let aim = Aim::Within { p50: Duration::from_millis(2), p99: None };
            suite.row(&what, Placement::Free, &ours, None, aim);
        }
    }
}

fn ripgrep(rg: &Path, tree: &Path) -> Command {
    let mut command = Command::new(rg);
    command.args(["-n", "--no-ignore", "--hidden", "-g", "!.git", "-j", &place::cpus().to_string()]);
    command.args(["--no-config", "--color", "never", "--no-heading"]).current_dir(tree);
    command
}

fn find(tree: &Path) -> Command {
    let mut command = Command::new("find");
    command.args(["-printf", "%y %s %p\\n"]).current_dir(tree);
    command
}

/// Everything that a program prints, through a pipe.
fn output(command: &mut Command) -> Vec<u8> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.wait().unwrap();
    output
}

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
