//! Programs: what the daemon adds to a start and an end.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::path::Path;

use rustix::process::{WaitOptions, waitpid};
use serde_json::json;
use support::wire::request;
use support::{
    Aim, Contestant, Daemon, Effort, Encoding, Measure, Placement, Suite, Wire, daemon, data, text,
};

const PROGRAM: &std::ffi::CStr = c"/bin/true";
const GIBIBYTE: u64 = 1 << 30;
const HELD: &str = "held.c";
const HELD_BYTES: usize = 1_048_576;

fn main() {
    let Some(mut suite) = Suite::start("exec") else { return };
    let root = data::scratch();
    std::fs::write(root.path().join(HELD), text::exactly(1, HELD_BYTES)).unwrap();
    for (containment, most) in [("cgroup", 1.25), ("keeper", 1.5)] {
        if suite.wants(&format!("exec {containment}")) {
            containment_rows(&mut suite, root.path(), containment, most);
        }
    }
    suite.finish();
}

fn containment_rows(suite: &mut Suite, root: &Path, containment: &str, most: f64) {
    let what = format!("exec /bin/true, {containment}");
    let Some(daemon) = Daemon::try_start(root, &[("AXLR_CONTAINMENT", containment)]) else {
        return suite.left_out(&what, "not to be had on this machine");
    };
    let answer = daemon.connect(Encoding::Json).ask("exec", json!({"program": "/bin/true"}));
    if answer["output"]["exit_code"] != 0 {
        return suite.left_out(&what, &answer.to_string());
    }
    for placement in [Placement::OneCpu, Placement::Free] {
        let (ours, yardstick) = rows(suite, &daemon, &format!("{what}, {}", placement.as_str()), placement);
        suite.row(&what, placement, &ours, Some(&yardstick), Aim::AtMost(most));
    }
    let held = fill(&daemon);
    let what = format!("{what}, 1 GiB resident");
    for placement in [Placement::OneCpu, Placement::Free] {
        let (ours, yardstick) = rows(suite, &daemon, &format!("{what}, {}", placement.as_str()), placement);
        suite.row(&what, placement, &ours, Some(&yardstick), Aim::AtMost(most));
    }
    assert!(daemon::resident(daemon.pid()) >= GIBIBYTE);
    drop(held);
}

fn rows(suite: &mut Suite, daemon: &Daemon, group: &str, placement: Placement) -> (Measure, Measure) {
    let frame = request(Encoding::Json, "r1", "exec", json!({"program": "/bin/true"}));
    let mut wire = daemon.connect(Encoding::Json);
    placement.apply(&daemon.family());
    let [ours, yardstick] = suite.contest(
        group,
        Effort { turns: 40, operations: 15 },
        [
            Contestant::each("exec", || wire.exchange(&frame)),
            Contestant::each("posix_spawn, waitpid", spawn_and_wait),
        ],
    );
    (ours, yardstick)
}

/// The least that starts a program and sees its end.
fn spawn_and_wait() {
    let arguments = [PROGRAM.as_ptr().cast_mut(), std::ptr::null_mut()];
    let environment = [std::ptr::null_mut()];
    let mut pid = 0;
    // SAFETY: path, arguments and environment are terminated and outlive the call; the other two may be null.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            PROGRAM.as_ptr(),
            std::ptr::null(),
            std::ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    };
    assert_eq!(error, 0);
    let (_, status) = waitpid(rustix::process::Pid::from_raw(pid), WaitOptions::empty()).unwrap().unwrap();
    assert!(status.exited());
}

/// Makes the daemon hold a gibibyte: answers that wait for clients that do not read. The connections hold it there.
fn fill(daemon: &Daemon) -> Vec<Wire> {
    let mut held = Vec::new();
    let arguments = json!({"path": HELD, "max_bytes": HELD_BYTES});
    // Four megabytes may wait on a connection before the daemon starts nothing more of it.
    let frames: Vec<u8> = (0..4)
        .flat_map(|index| request(Encoding::MessagePack, &format!("r{index}"), "read", arguments.clone()))
        .collect();
    while daemon::resident(daemon.pid()) < GIBIBYTE {
        assert!(held.len() < 900, "the daemon holds less than it was asked for");
        let mut wire = daemon.connect(Encoding::MessagePack);
        wire.send(&frames);
        held.push(wire);
        if held.len() % 16 == 0 {
            // Its reading takes a while.
            let mut control = daemon.connect(Encoding::Json);
            while control.ask("server.stats", json!({}))["output"]["running"] != 0 {}
        }
    }
    held
}
