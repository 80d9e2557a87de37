use std::path::PathBuf;
use std::time::Instant;

use axlr_client::tool::ExecArguments;

use super::testing::{daemon, runtime};
use super::*;

#[tokio::test]
async fn a_workspace_is_opened_once_and_the_daemon_ends_with_the_runtime() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let first = runtime.workspace(folder.path()).await.expect("a workspace");
    let second = runtime.workspace(folder.path()).await.expect("the same");
    assert_eq!(first.id(), second.id());
    let pid = first.client().info().await.expect("the daemon answers").pid;
    drop((first, second));
    let start = Instant::now();
    runtime.close().await;
    assert!(start.elapsed().as_millis() < 900, "it was killed, not ended");
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[tokio::test]
async fn what_the_daemon_runs_has_no_environment_of_axe() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let workspace = runtime.workspace(folder.path()).await.expect("a workspace");
    let env = ExecArguments { program: "/usr/bin/env".into(), ..Default::default() };
    let output = workspace.exec(env).await.expect("env runs");
    assert_eq!((output.exit_code, output.stdout.as_str()), (0, ""));
}

#[tokio::test]
async fn a_daemon_that_died_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let workspace = runtime.workspace(folder.path()).await.expect("a workspace");
    workspace.client().stop(Default::default()).await.expect("it stops");
    workspace.client().closed().await;
    let again = runtime.workspace(folder.path()).await.expect("a new daemon");
    again.client().ping().await.expect("it answers");
}

#[tokio::test]
async fn a_missing_daemon_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("axlrd");
    let error = Runtime::new(Daemon::Own(gone.clone())).workspace(folder.path()).await.expect_err("none");
    assert!(error.to_string().starts_with(&format!("cannot start {}", gone.display())), "{error}");
    let socket = folder.path().join("no.sock");
    let error = Runtime::new(Daemon::Listening(socket)).workspace(folder.path()).await.expect_err("none");
    assert!(error.to_string().starts_with("no axlrd to run tools: "), "{error}");
    let missing = folder.path().join("missing");
    let error = Runtime::new(Daemon::Own(daemon())).workspace(&missing).await.expect_err("no such folder");
    assert!(error.to_string().contains("cannot work in"), "{error}");
}

#[test]
fn a_named_socket_comes_first() {
    let socket = PathBuf::from("/run/a.sock");
    assert_eq!(Daemon::find(Some(socket.clone()), None), Daemon::Listening(socket));
    let folder = daemon().parent().expect("it is in a folder").to_owned();
    assert_eq!(Daemon::find(None, folder.to_str()), Daemon::Own(daemon()));
}
