//! Life and death of the daemon: the tests start this very test program again, to be one and be killed.

use std::process::{Command as StdCommand, Stdio};

use super::*;

/// Which mechanism the second program uses; absent in the first.
const VICTIM: &str = "AXLR_TEST_VICTIM";
/// Where it runs its programs.
const FOLDER: &str = "AXLR_TEST_FOLDER";

/// Not a test, but what the tests below start: a daemon with three trees. One runs, one has detached, one streams.
#[tokio::test(flavor = "multi_thread")]
async fn victim() {
    let (Ok(preference), Ok(folder)) = (std::env::var(VICTIM), std::env::var(FOLDER)) else { return };
    match preference.as_str() {
        "starving" => return starve().await,
        "replacing" => return replace().await,
        _ => {}
    }
    raise_descriptor_limit();
    let containment = Containment::start(preference.parse().unwrap()).unwrap();
    let detached = run_job(&containment, shell(ESCAPING_TREE, &folder)).await.unwrap();
    let script = ESCAPING_TREE.replace("-ge 4", "-ge 8");
    let cancel = Cancel::new();
    tokio::spawn({
        let (cancel, folder) = (cancel.clone(), folder.clone());
        async move {
            // An orderly end is asked for by this file.
            while !Path::new(&folder).join("end").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            cancel.cancel();
        }
    });
    let job = shell(&format!("{script} ulimit -n > limit; echo $$ >> pids; exec sleep 600"), &folder);
    let _ = run(&containment, job, &cancel).await;
    drop(detached);
}

fn start_victim(preference: &str, folder: &Path) -> std::process::Child {
    StdCommand::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::tests::daemon::victim", "--nocapture"])
        .env(VICTIM, preference)
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn tree_preferences() -> Vec<&'static str> {
    tree_mechanisms().iter().map(Containment::name).collect()
}

/// Processes of this name whose parent is, or was, this one.
fn processes_named(name: &str) -> Vec<(i32, i32)> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (pid, rest) = stat.split_once(" (")?;
            let rest = rest.strip_prefix(name)?.strip_prefix(") ")?;
            let parent = rest.split(' ').nth(1)?;
            Some((pid.parse().ok()?, parent.parse().ok()?))
        })
        .collect()
}

/// The victim's warden and its keepers.
fn attendants(victim: i32) -> Vec<i32> {
    let wardens: Vec<i32> = processes_named("axlr-warden")
        .into_iter()
        .filter_map(|(pid, parent)| (parent == victim).then_some(pid))
        .collect();
    let keepers = processes_named("axlr-keeper")
        .into_iter()
        .filter_map(|(pid, parent)| wardens.contains(&parent).then_some(pid));
    keepers.chain(wardens.iter().copied()).collect()
}

#[test]
fn nothing_outlives_a_killed_daemon_for_a_second() {
    for preference in tree_preferences() {
        let folder = tempfile::tempdir().unwrap();
        let mut victim = start_victim(preference, folder.path());
        let mut pids = read_pids(&folder.path().join("pids"), 9);
        pids.extend(attendants(victim.id() as i32));
        assert!(pids.len() > 9, "{preference}: a warden");
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert_dead_within(Duration::from_secs(1), &pids, preference);
        assert_no_group_of(victim.id());
    }
}

#[test]
fn a_daemon_that_ends_in_order_leaves_nothing() {
    for preference in tree_preferences() {
        let folder = tempfile::tempdir().unwrap();
        let mut victim = start_victim(preference, folder.path());
        let mut pids = read_pids(&folder.path().join("pids"), 9);
        pids.extend(attendants(victim.id() as i32));
        std::fs::write(folder.path().join("end"), "").unwrap();
        assert!(victim.wait().unwrap().success(), "{preference}");
        assert_dead_within(Duration::from_millis(50), &pids, preference);
        assert_no_group_of(victim.id());
    }
}

#[test]
fn the_tree_of_a_killed_keeper_dies() {
    let folder = tempfile::tempdir().unwrap();
    let mut victim = start_victim("keeper", folder.path());
    let pids = read_pids(&folder.path().join("pids"), 9);
    for pid in attendants(victim.id() as i32) {
        if std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "axlr-keeper\n") {
            // SAFETY: a plain system call.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
    assert_dead_within(Duration::from_secs(1), &pids, "keepers killed");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn the_warden_heeds_no_signal_of_a_terminal() {
    for preference in tree_preferences() {
        let folder = tempfile::tempdir().unwrap();
        let mut victim = start_victim(preference, folder.path());
        read_pids(&folder.path().join("pids"), 9);
        let attendants = attendants(victim.id() as i32);
        assert!(!attendants.is_empty());
        for pid in &attendants {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                // SAFETY: a plain system call.
                unsafe { libc::kill(*pid, signal) };
            }
        }
        std::thread::sleep(Duration::from_millis(20));
        assert!(attendants.iter().all(|pid| is_alive(*pid)), "{preference}");
        victim.kill().unwrap();
        victim.wait().unwrap();
        assert_dead_within(Duration::from_secs(1), &attendants, preference);
    }
}

#[test]
fn a_killed_warden_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    assert!(start_victim("replacing", folder.path()).wait().unwrap().success());
}

async fn replace() {
    let me = std::process::id() as i32;
    for containment in tree_mechanisms() {
        let wardens = || processes_named("axlr-warden").into_iter().filter(move |(_, parent)| *parent == me);
        let killed: Vec<i32> = wardens().map(|(pid, _)| pid).collect();
        for pid in &killed {
            // SAFETY: a plain system call.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        assert_dead_within(Duration::from_secs(1), &killed, containment.name());
        // The second of two at once needs a new keeper, and so the warden.
        let (one, two) = tokio::join!(
            see(&containment, shell("sleep 0.1; echo hi", "/")),
            see(&containment, shell("sleep 0.1; echo hi", "/"))
        );
        assert_eq!((one.stdout.as_str(), two.stdout.as_str()), ("hi\n", "hi\n"));
        assert!(wardens().any(|(pid, _)| is_alive(pid)), "{}", containment.name());
    }
}

#[test]
fn children_get_the_old_descriptor_limit() {
    let before = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap();
    for preference in tree_preferences() {
        let folder = tempfile::tempdir().unwrap();
        let mut victim = start_victim(preference, folder.path());
        read_pids(&folder.path().join("pids"), 9);
        let limit = std::fs::read_to_string(folder.path().join("limit")).unwrap();
        assert_eq!(limit.trim(), before.to_string());
        victim.kill().unwrap();
        victim.wait().unwrap();
    }
}

#[test]
fn running_out_of_descriptors_is_a_failed_start_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let status = start_victim("starving", folder.path()).wait().unwrap();
    assert!(status.success());
}

async fn starve() {
    for containment in every_mechanism() {
        assert!(run_job(&containment, shell("true", "/")).await.is_ok());
        let mut hoard = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            hoard.push(file);
        }
        // One fewer each time, so that every step of a birth lacks its descriptor once.
        let mut failures = 0;
        loop {
            hoard.pop();
            let Ok(directory) = rustix::fs::open("/", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty())
            else {
                continue;
            };
            let mut job = job(Command {
                program: "/bin/cat".to_owned(),
                arguments: Vec::new(),
                environment: BTreeMap::new(),
                directory,
                stdin: Input::Null,
            });
            job.stdin = b"x".to_vec();
            match run_job(&containment, job).await {
                Ok(_) => break,
                Err(RunError::Start(_)) => failures += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(failures > 3, "{}: {failures}", containment.name());
        drop(hoard);
        assert!(run_job(&containment, shell("true", "/")).await.is_ok());
    }
}

/// The cgroup of a daemon that is gone is gone too, within a moment.
fn assert_no_group_of(pid: u32) {
    let begun = Instant::now();
    while let Some(group) = group_of(pid) {
        assert!(begun.elapsed() < Duration::from_secs(2), "{group} is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn group_of(pid: u32) -> Option<String> {
    let prefix = format!("axlr-{pid}-");
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].iter().find_map(|root| {
        let names = std::fs::read_dir(root).ok()?.flatten();
        names.filter_map(|entry| entry.file_name().into_string().ok()).find(|name| name.starts_with(&prefix))
    })
}
