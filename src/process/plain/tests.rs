use std::collections::BTreeMap;
use std::io::Read;

use rustix::pipe::{PipeFlags, pipe_with};

use super::*;
use crate::process::{Command, Input};

/// Starts a program and gives its tree, with the end of its stdout that we read.
async fn start(program: &str, arguments: &[&str]) -> Result<(Tree, std::fs::File), StartError> {
    let null = || std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").unwrap().into();
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let command = Command {
        program: program.to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        environment: BTreeMap::from([("PATH".to_owned(), "/nowhere:/usr/bin:/bin".to_owned())]),
        directory: std::fs::File::open("/").unwrap().into(),
        stdin: Input::Null,
    };
    let order = Order::new(command, [null(), write, null()])?;
    let mechanism = Mechanism::start(Preference::Best).unwrap();
    Ok((mechanism.spawn(order).await?, read.into()))
}

#[tokio::test]
async fn the_plain_fallback_runs_a_program() {
    let (mut tree, mut stdout) = start("sh", &["-c", "pwd; env; exit 7"]).await.unwrap();
    assert_eq!(tree.exited().await, ExitStatus::Code(7));
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("/\n") && text.contains("PATH=/nowhere:/usr/bin:/bin\n"), "{text}");
    assert!(!text.contains("HOME="), "{text}");
    assert!(tree.settle().is_none());
}

#[tokio::test]
async fn the_plain_fallback_kills_a_group() {
    let (mut tree, _stdout) = start("sh", &["-c", "sleep 600 & wait"]).await.unwrap();
    assert!(tree.signal(libc::SIGCONT));
    tree.kill();
    tree.dead().await;
    assert_eq!(tree.exited().await, ExitStatus::Signal(libc::SIGKILL));
    assert!(!tree.signal(libc::SIGCONT));
}

#[tokio::test]
async fn the_plain_fallback_lets_no_shell_step_in() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "echo hi\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let refused = start(script.to_str().unwrap(), &[]).await;
    assert!(
        matches!(refused, Err(StartError::Execute(error)) if error.raw_os_error() == Some(libc::ENOEXEC))
    );
    assert!(matches!(start("no-such-tool", &[]).await, Err(StartError::NotInPath)));
    assert!(matches!(start("/no/such", &[]).await, Err(StartError::Execute(..))));
}
