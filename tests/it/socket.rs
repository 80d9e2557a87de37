//! Where the socket is, and who may connect.

use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::support::{Daemon, code, request, wait_until};

/// Starts a daemon that must not start, and returns what it says.
fn refusal(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

fn folder_with_root() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("root")).unwrap();
    folder
}

#[test]
fn the_socket_is_for_its_user_alone_and_gone_after_the_stop() {
    let mut daemon = Daemon::start();
    let metadata = std::fs::metadata(daemon.socket()).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    daemon.signal(libc::SIGTERM);
    assert!(daemon.wait().success());
    assert!(!daemon.socket().exists());
}

#[test]
fn a_missing_folder_is_made_private() {
    let folder = folder_with_root();
    let socket = folder.path().join("a/b/axlr.sock");
    let mut process = Command::new(env!("CARGO_BIN_EXE_axlrd"))
        .arg("--socket")
        .arg(&socket)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("it listens", || UnixStream::connect(&socket).is_ok());
    let mode = std::fs::metadata(socket.parent().unwrap()).unwrap().permissions().mode();
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_folder_that_others_may_write_is_refused() {
    let folder = folder_with_root();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(refusal(&mut Daemon::command(folder.path())).contains("has mode 0777"));
}

#[test]
fn a_second_daemon_is_refused_and_a_dead_ones_socket_replaced() {
    let daemon = Daemon::start();
    assert!(refusal(&mut Daemon::command(daemon.folder())).contains("already listening"));
    assert_eq!(daemon.connect().output("server.ping", json!({})), json!({}));
    let folder = daemon.kill();
    assert!(folder.path().join("axlr.sock").exists());
    let daemon = Daemon::start_in(folder, &[], &[]);
    assert_eq!(daemon.connect().output("server.ping", json!({})), json!({}));
}

#[test]
fn of_many_daemons_started_at_once_one_serves() {
    let folder = folder_with_root();
    let start = || {
        let mut command = Daemon::command(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut processes: Vec<_> = (0..6).map(|_| start()).collect();
    wait_until("all but one have ended", || {
        processes.iter_mut().filter_map(|process| process.try_wait().unwrap()).count() == 5
    });
    let statuses: Vec<_> = processes.iter_mut().filter_map(|process| process.try_wait().unwrap()).collect();
    assert!(statuses.iter().all(|status| status.code() == Some(1)), "{statuses:?}");
    assert!(UnixStream::connect(folder.path().join("axlr.sock")).is_ok());
    for process in &mut processes {
        let _ = process.kill();
        process.wait().unwrap();
    }
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let folder = folder_with_root();
    let path = folder.path().join("axlr.sock");
    std::fs::write(&path, "precious").unwrap();
    assert!(refusal(&mut Daemon::command(folder.path())).contains("is no socket"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn a_path_that_the_kernel_does_not_take_is_refused_with_its_length() {
    let folder = folder_with_root();
    let long = folder.path().join("x".repeat(108));
    let said = refusal(Command::new(env!("CARGO_BIN_EXE_axlrd")).arg("--socket").arg(&long));
    assert!(said.contains("at most 107"), "{said}");
}

#[test]
fn a_root_that_is_missing_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    assert!(refusal(&mut Daemon::command(folder.path())).contains("root"));
}

#[test]
fn a_passed_socket_is_used() {
    use std::os::fd::AsRawFd as _;
    let folder = folder_with_root();
    let path = folder.path().join("passed.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // systemd passes descriptor 3 and names the process that it is for; a shell can do both.
    let script =
        format!("exec 3<&{} LISTEN_FDS=1 LISTEN_PID=$$; exec \"$0\" --root \"$1\"", listener.as_raw_fd());
    // SAFETY: clears close-on-exec of a descriptor that this test owns.
    unsafe { libc::fcntl(listener.as_raw_fd(), libc::F_SETFD, 0) };
    let script =
        script.replace("LISTEN_FDS", ";export LISTEN_FDS").replace(" LISTEN_PID", "; export LISTEN_PID");
    let mut process = Command::new("/bin/bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_axlrd")])
        .arg(folder.path().join("root"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut wire = crate::support::Wire::new(UnixStream::connect(&path).unwrap());
    assert_eq!(wire.output("server.ping", json!({})), json!({}));
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn a_connection_too_many_has_its_first_frame_refused_and_is_closed() {
    // SAFETY: getrlimit(2) and setrlimit(2) on a structure of our own.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
    let daemon = Daemon::start();
    let mut first = daemon.connect();
    wait_until("the first connection is counted", || {
        first.output("server.stats", json!({}))["connections"] == 1
    });
    let mut others: Vec<UnixStream> =
        (1..1024).map(|_| UnixStream::connect(daemon.socket()).unwrap()).collect();
    wait_until("all are counted", || first.output("server.stats", json!({}))["connections"] == 1024);
    let ping = request("p", "server.ping", json!({})).to_string();
    for end in ["\n", ""] {
        let mut excess = daemon.connect();
        excess.stream.write_all(format!("{ping}{end}").as_bytes()).unwrap();
        if end.is_empty() {
            excess.stream.shutdown(std::net::Shutdown::Write).unwrap();
        }
        let answer = excess.receive();
        assert_eq!((&answer["request_id"], code(&answer)), (&json!("p"), "overloaded"));
        assert!(excess.is_closed());
    }
    // One that says nothing is closed without a byte.
    assert!(daemon.connect().is_closed());
    others.pop();
    wait_until("there is room again", || first.output("server.stats", json!({}))["connections"] == 1023);
    assert_eq!(daemon.connect().output("server.ping", json!({})), json!({}));
}
