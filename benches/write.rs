//! Durable writes: one client against a plain loop, and many clients whose syncs go together.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;

use serde_json::json;
use support::wire::request;
use support::{Aim, Contestant, Daemon, Effort, Encoding, Placement, Suite, data, text};

const BYTES: usize = 4_096;
const CLIENTS: usize = 32;

fn main() {
    let Some(mut suite) = Suite::start("write") else { return };
    let root = data::scratch();
    // What a daemon is given, the loop is given too: a folder each, so that neither pays for the other's names.
    for folder in ["ours", "loop"] {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    let daemon = Daemon::start(root.path());
    one_client(&mut suite, &daemon, root.path());
    many_clients(&mut suite, &daemon, root.path());
    suite.finish();
}

fn one_client(suite: &mut Suite, daemon: &Daemon, root: &Path) {
    if !suite.wants("write, one client") {
        return;
    }
    let content = text::exactly(1, BYTES);
    let frame = write_request("ours/one.c", &content);
    check(daemon, "ours/one.c", &content);
    for placement in [Placement::OneCpu, Placement::Free] {
        let mut wire = daemon.connect(Encoding::Json);
        placement.apply(&daemon.family());
        let [ours, yardstick] = suite.contest(
            &format!("write, one client, {}", placement.as_str()),
            Effort { turns: 30, operations: 6 },
            [
                Contestant::each("write", || wire.exchange(&frame)),
                Contestant::each("plain loop", || replace(&root.join("loop"), "one.c", content.as_bytes())),
            ],
        );
        suite.row("write 4 KiB, synced, one client", placement, &ours, Some(&yardstick), Aim::AtMost(1.1));
    }
}

fn many_clients(suite: &mut Suite, daemon: &Daemon, root: &Path) {
    if !suite.wants("write, 32 clients") {
        return;
    }
    let content = text::exactly(1, BYTES);
    Placement::Free.apply(&daemon.family());
    let (clients, done) = clients(daemon, &content);
    let mut next = (0..CLIENTS).cycle();
    let [ours, yardstick] = suite.contest(
        "write, 32 clients",
        Effort { turns: 20, operations: 3 * CLIENTS },
        [
            Contestant::batch("32 clients", |count| {
                let each = count.div_ceil(CLIENTS);
                let active = count.min(CLIENTS);
                clients[..active].iter().for_each(|client| client.send(each).unwrap());
                done.iter().take(active).for_each(drop);
            }),
            Contestant::batch("plain loop", |count| {
                for index in next.by_ref().take(count) {
                    replace(&root.join("loop"), &format!("many-{index}.c"), content.as_bytes());
                }
            }),
        ],
    );
    let what = "write 4 KiB, synced, 32 clients, each";
    suite.row(what, Placement::Free, &ours, Some(&yardstick), Aim::Throughput(2.5));
}

/// Threads with a connection and a file each, which do as many writes as they are told and say when they are done.
fn clients(daemon: &Daemon, content: &str) -> (Vec<mpsc::Sender<usize>>, mpsc::Receiver<()>) {
    let (ended, done) = mpsc::channel();
    let clients = (0..CLIENTS).map(|index| {
        let (start, started) = mpsc::channel::<usize>();
        let frame = write_request(&format!("ours/many-{index}.c"), content);
        let (mut wire, ended) = (daemon.connect(Encoding::Json), ended.clone());
        std::thread::spawn(move || {
            for count in started {
                (0..count).for_each(|_| wire.exchange(&frame));
                ended.send(()).unwrap();
            }
        });
        start
    });
    (clients.collect(), done)
}

fn write_request(path: &str, content: &str) -> Vec<u8> {
    let arguments = json!({"path": path, "content": content, "mode": "replace", "overwrite": true});
    request(Encoding::Json, "r1", "write", arguments)
}

fn check(daemon: &Daemon, path: &str, content: &str) {
    let arguments = json!({"path": path, "content": content, "mode": "replace", "overwrite": true});
    let answer = daemon.connect(Encoding::Json).ask("write", arguments);
    assert_eq!(answer["output"]["written_bytes"], BYTES, "{answer}");
}

/// Write, fdatasync, rename, fsync of the folder.
fn replace(folder: &Path, name: &str, content: &[u8]) {
    let temporary = folder.join("temporary");
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary).unwrap();
    file.write_all(content).unwrap();
    file.sync_data().unwrap();
    fs::rename(&temporary, folder.join(name)).unwrap();
    File::open(folder).unwrap().sync_all().unwrap();
}
