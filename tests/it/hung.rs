//! A file system that does not answer holds up nobody but those who ask it.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::http::Bridge;
use crate::support::{Daemon, code, wait_until};

/// A mounted FUSE file system whose server, this test, says nothing after the greeting.
struct Hung {
    path: PathBuf,
    _device: File,
}

impl Hung {
    /// `None` where this user may not mount one.
    fn mount(path: &Path) -> Option<Self> {
        let mut device = File::options().read(true).write(true).open("/dev/fuse").ok()?;
        // SAFETY: plain questions.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let options = format!("fd={},rootmode=40000,user_id={user},group_id={group}", device.as_raw_fd());
        let (target, options) = (c_string(path), CString::new(options).unwrap());
        // SAFETY: all strings end with NUL and outlive the call.
        let mounted = unsafe {
            libc::mount(c"hung".as_ptr(), target.as_ptr(), c"fuse".as_ptr(), 0, options.as_ptr().cast())
        };
        if mounted != 0 {
            return None;
        }
        let mut greeting = [0; 65_536];
        assert!(device.read(&mut greeting).unwrap() >= 16);
        // A header (length, error, the greeting's own number), then the version 7.31 and nothing else.
        let mut answer = Vec::from(80_u32.to_ne_bytes());
        answer.extend(0_u32.to_ne_bytes());
        answer.extend(&greeting[8..16]);
        answer.extend(7_u32.to_ne_bytes());
        answer.extend(31_u32.to_ne_bytes());
        answer.resize(80, 0);
        device.write_all(&answer).unwrap();
        Some(Self { path: path.to_owned(), _device: device })
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        let target = c_string(&self.path);
        // SAFETY: the string ends with NUL and outlives the call.
        unsafe { libc::umount2(target.as_ptr(), libc::MNT_FORCE | libc::MNT_DETACH) };
    }
}

fn c_string(path: &Path) -> CString {
    CString::new(path.to_str().unwrap()).unwrap()
}

#[test]
fn requests_that_hang_delay_no_other_and_hear_their_cancel() {
    let mut daemon = Daemon::start();
    let folder = daemon.root().join("h");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(daemon.root().join("f"), "x").unwrap();
    let Some(_hung) = Hung::mount(&folder) else {
        eprintln!("SKIPPED: this user may not mount a file system");
        return;
    };
    let mut other = daemon.connect();
    for (tool, arguments) in [
        ("read", json!({"path": "h/x"})),
        ("list", json!({"path": "h"})),
        ("search", json!({"path": "h", "pattern": "x"})),
        ("exec", json!({"program": "/bin/true", "cwd": "h/x"})),
        ("exec", json!({"program": "h/x"})),
        ("workspace.open", json!({"root": folder.join("x")})),
    ] {
        let mut wire = daemon.connect();
        // More than the daemon has threads for its connections.
        let ids: Vec<String> = (0..6).map(|_| wire.start(tool, arguments.clone())).collect();
        wait_until("they run", || other.output("server.stats", json!({}))["running"] == 6);
        for (tool, arguments) in [
            ("read", json!({"path": "f"})),
            ("list", json!({"path": "f"})),
            ("exec", json!({"program": "/bin/true"})),
        ] {
            assert_eq!(code(&other.call(tool, arguments)), "completed");
        }
        for id in &ids {
            wire.start("request.cancel", json!({"request_id": id}));
        }
        for _ in 0..2 * ids.len() {
            let answer = wire.receive();
            let expected = if answer["tool"] == "request.cancel" { "completed" } else { "cancelled" };
            assert_eq!(code(&answer), expected, "{tool}");
        }
    }
    daemon.signal(libc::SIGTERM);
    assert!(daemon.wait().success());
}

#[test]
fn a_command_that_hangs_is_given_up_with_its_client() {
    let mut bridge = Bridge::start();
    let folder = bridge.daemon.root().join("h");
    std::fs::create_dir(&folder).unwrap();
    let Some(_hung) = Hung::mount(&folder) else {
        eprintln!("SKIPPED: this user may not mount a file system");
        return;
    };
    let mut wire = bridge.daemon.connect();
    let mut running = |number: u64| {
        wait_until("as many run", || wire.output("server.stats", json!({}))["running"] == number)
    };
    for body in [json!({"cmd": "true", "cwd": "h/x"}), json!({"cmd": "h/x", "args": []})] {
        let mut http = bridge.connect();
        http.send(&bridge.request("/spawn", &body));
        running(1);
        assert_eq!(bridge.exec(json!({"cmd": "echo hi"}))["stdout"], "hi\n");
        drop(http);
        running(0);
    }
    bridge.daemon.signal(libc::SIGTERM);
    assert!(bridge.daemon.wait().success());
}
