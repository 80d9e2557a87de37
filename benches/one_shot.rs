//! One request on stdin, one process: `axlr` from start to exit, against the start of a program that does nothing.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::data::{NEEDLE, SMALL};
use support::wire::request;
use support::{Aim, Contestant, Effort, Encoding, Placement, Suite, data, text};

const SAMPLE: &str = "sample.c";
const SAMPLE_BYTES: usize = 4_096;

fn main() {
    let Some(mut suite) = Suite::start("one_shot") else { return };
    let Some(program) = static_program() else {
        suite.left_out("one-shot axlr", "no static build: cargo static");
        return suite.finish();
    };
    let scratch = data::scratch();
    std::fs::write(scratch.path().join(SAMPLE), text::exactly(1, SAMPLE_BYTES)).unwrap();
    let tree = SMALL.path();
    let search = json!({"pattern": NEEDLE});
    let rows: [(&str, &Path, Value, f64); 3] = [
        ("read", scratch.path(), json!({"path": SAMPLE}), 1.7),
        ("exec", scratch.path(), json!({"program": "/bin/true"}), 2.7),
        ("search", &tree, search, 3.0),
    ];
    for (tool, root, arguments, most) in rows {
        let group = format!("one-shot {tool}");
        if suite.wants(&group) {
            row(&mut suite, &group, &program, (tool, root, arguments), most);
        }
    }
    suite.finish();
}

fn row(
    suite: &mut Suite,
    group: &str,
    program: &Path,
    (tool, root, arguments): (&str, &Path, Value),
    most: f64,
) {
    let requests = data::scratch();
    let stdin = requests.path().join("request.json");
    std::fs::write(&stdin, request(Encoding::Json, "r1", tool, arguments)).unwrap();
    let axlr = || {
        let mut command = Command::new(program);
        command.arg("--root").arg(root).args(["--profile", "trusted-local"]);
        run(command, &stdin)
    };
    let answer: Value = serde_json::from_slice(&axlr()).unwrap();
    assert_eq!(answer["status"], "completed", "{answer}");
    for placement in [Placement::OneCpu, Placement::Free] {
        placement.apply(&[]);
        let [ours, yardstick] = suite.contest(
            &format!("{group}, {}", placement.as_str()),
            Effort { turns: 40, operations: 12 },
            [
                Contestant::each("axlr", || drop(axlr())),
                Contestant::each("/bin/true", || drop(run(Command::new("/bin/true"), &stdin))),
            ],
        );
        suite.row(group, placement, &ours, Some(&yardstick), Aim::AtMost(most));
    }
}

/// From the start to the exit, with a request on stdin and a pipe for what it prints.
fn run(mut command: Command, stdin: &Path) -> Vec<u8> {
    command.env_clear().stdin(File::open(stdin).unwrap()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.wait().unwrap();
    output
}

/// What `cargo static` has built, in the folder of its target.
fn static_program() -> Option<PathBuf> {
    let targets = std::fs::read_dir(data::target()).ok()?;
    let programs = targets.filter_map(|target| Some(target.ok()?.path().join("release/axlr")));
    programs
        .filter(|program| program.is_file())
        .max_by_key(|program| program.metadata().unwrap().modified().unwrap())
}
