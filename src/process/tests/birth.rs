use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_mechanism_is_named() {
    for (name, expected) in [
        ("best", Ok(Preference::Best)),
        ("cgroup", Ok(Preference::Cgroup)),
        ("keeper", Ok(Preference::Keeper)),
        ("group", Ok(Preference::Group)),
        ("Group", Err("containment \"Group\" must be best, cgroup, keeper or group".to_owned())),
    ] {
        assert_eq!(name.parse(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_with_its_code_or_its_signal() {
    for containment in every_mechanism() {
        let shell = |script| shell(script, "/");
        let ok = see(&containment, shell("printf ok; printf no >&2; exit 7")).await;
        assert_eq!(ok, seen(ExitStatus::Code(7), "ok", "no", false));
        let killed = see(&containment, shell("kill -KILL $$")).await;
        assert_eq!(killed, seen(ExitStatus::Signal(libc::SIGKILL), "", "", false));
        assert_eq!((killed.status.code(), killed.status.signal()), (-1, Some("KILL".to_owned())));
        let shells_own = see(&containment, shell("sh -c 'kill -TERM $$'; exit $?")).await;
        assert_eq!(shells_own.status, ExitStatus::Code(143));
    }
}

#[tokio::test]
async fn a_runtime_with_one_thread_runs_programs_too() {
    for containment in every_mechanism() {
        let seen_now = see(&containment, shell("echo hi", "/")).await;
        assert_eq!(seen_now, seen(ExitStatus::Code(0), "hi\n", "", false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_exactly_what_was_given() {
    for containment in every_mechanism() {
        let mut job = job(command("/usr/bin/env", &[], "/"));
        job.command.environment =
            BTreeMap::from([("A".to_owned(), "1=2".to_owned()), ("B".to_owned(), String::new())]);
        assert_eq!(see(&containment, job).await, seen(ExitStatus::Code(0), "A=1=2\nB=\n", "", false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_literal_and_the_directory_is_real() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    for containment in every_mechanism() {
        let arguments = ["-c", "pwd; printf '%s|' \"$@\"", "x", "a b", "$HOME", ""];
        let seen_now = see(&containment, job(command("/bin/sh", &arguments, folder.path()))).await;
        assert_eq!(seen_now.stdout, format!("{}\na b|$HOME||", real.display()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_argument_lists_arrive_whole() {
    let long = "x".repeat(100_000);
    for containment in every_mechanism() {
        let arguments = ["-c", "printf '%s' \"$*\" | wc -c", "x", &long, &long, &long];
        let seen_now = see(&containment, job(command("/bin/sh", &arguments, "/"))).await;
        assert_eq!(seen_now.stdout.trim(), "300002", "{}", containment.name());
        let too_long = "x".repeat(3 << 20);
        let error = run_job(&containment, job(command("/bin/true", &[&too_long], "/"))).await.err().unwrap();
        assert!(error.to_string().contains("of that size"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_child_has_three_descriptors() {
    // Not close-on-exec, as a careless library might leave it.
    let leak = std::fs::File::open("/dev/null").unwrap();
    // SAFETY: it only clears a flag of a descriptor that this test owns.
    unsafe { libc::fcntl(leak.as_raw_fd(), libc::F_SETFD, 0) };
    for containment in every_mechanism() {
        // The shell's own pathname expansion opens the directory, and is the fourth; so it lists for a child of its.
        let seen_now = see(&containment, shell("ls /proc/$$/fd", "/")).await;
        assert_eq!(seen_now.stdout, "0\n1\n2\n", "{}", containment.name());
        let stdin = see(&containment, shell("readlink /proc/self/fd/0", "/")).await;
        assert_eq!(stdin.stdout, "/dev/null\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_are_at_their_defaults_and_none_is_blocked() {
    for containment in every_mechanism() {
        let seen_now = see(&containment, shell("grep -E '^Sig(Blk|Ign)' /proc/self/status", "/")).await;
        let none = "0000000000000000";
        assert_eq!(seen_now.stdout, format!("SigBlk:\t{none}\nSigIgn:\t{none}\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_child_leads_its_own_group() {
    for containment in every_mechanism() {
        // Fields 1 and 5 of stat: pid and process group.
        let seen_now =
            see(&containment, shell("read pid a b c group rest < /proc/$$/stat; echo $pid $group", "/"));
        let words = seen_now.await.stdout;
        let (pid, group) = words.trim().split_once(' ').unwrap();
        assert_eq!(pid, group);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_child_is_not_protected_from_the_oom_killer() {
    for containment in every_mechanism() {
        assert_eq!(see(&containment, shell("cat /proc/self/oom_score_adj", "/")).await.stdout, "0\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_names_are_looked_up_in_the_childs_path() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, text: &str, mode| {
        std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir(folder.path().join("dir-tool")).unwrap();
    make("plain-tool", "#!/bin/sh\n", 0o644);
    make("tool", "#!/bin/sh\necho found\n", 0o755);
    let start = |program: &str, path: Option<String>| {
        let mut job = job(command(program, &[], folder.path()));
        job.command.environment = path.map(|path| ("PATH".to_owned(), path)).into_iter().collect();
        job
    };
    let here = folder.path().display().to_string();
    for containment in every_mechanism() {
        let found = see(&containment, start("tool", Some(format!("relative::/nowhere:{here}")))).await;
        assert_eq!(found.stdout, "found\n");
        let relative = see(&containment, start("./tool", None)).await;
        assert_eq!(relative.stdout, "found\n");
        for (program, path) in [
            ("tool", None),
            ("tool", Some(".:relative:".to_owned())),
            ("tool", Some("/nowhere:/elsewhere".to_owned())),
            ("plain-tool", Some(format!("/nowhere:{here}"))),
            ("dir-tool", Some(format!("{here}:/nowhere"))),
            ("dir-tool", Some(here.clone())),
        ] {
            let result = run_job(&containment, start(program, path.clone())).await;
            assert!(matches!(result, Err(RunError::Start(_))), "{program} in {path:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_kernel_refuses_is_said_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, text: &str, mode| {
        std::fs::write(folder.path().join(name), text).unwrap();
        std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    make("no-format", "echo a shell stepped in\n", 0o755);
    make("no-interpreter", "#!/no/such/interpreter\n", 0o755);
    make("no-permission", "#!/bin/sh\n", 0o644);
    for containment in every_mechanism() {
        for (program, words) in [
            ("./no-format", "no shell steps in"),
            ("./no-interpreter", "exists, but its interpreter does not"),
            ("./no-permission", "not executable"),
            ("./missing", "does not exist"),
            ("/", "not executable"),
        ] {
            let error = run_job(&containment, job(command(program, &[], folder.path()))).await.err().unwrap();
            let text = error.to_string();
            assert!(matches!(error, RunError::Start(_)) && text.contains(words), "{program}: {text}");
        }
        // A keeper or a cgroup that saw a failed start is as good as new.
        assert_eq!(see(&containment, shell("exit 3", "/")).await.status, ExitStatus::Code(3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_was_just_written_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    for containment in every_mechanism() {
        std::fs::write(&path, "#!/bin/sh\necho hi\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        let release = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            drop(writer);
        });
        assert_eq!(see(&containment, job(command("./script", &[], folder.path()))).await.stdout, "hi\n");
        release.join().unwrap();
        let _ = std::fs::remove_file(&path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_program_that_ended() {
    for containment in every_mechanism() {
        let report = run_job(&containment, shell("true", "/")).await.unwrap();
        assert!(report.detached.is_none(), "{}", containment.name());
        let mut child =
            containment.spawn(command("/bin/sh", &["-c", "sleep 600 & wait"], "/")).await.unwrap();
        let pid = child.pid() as i32;
        child.kill().await;
        assert_eq!(child.exited().await, ExitStatus::Signal(libc::SIGKILL));
        assert!(!child.signal(SignalName::Term), "a signal after the end has nobody to go to");
        drop(child);
        assert_eq!(state(pid), None, "{}: a zombie", containment.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_child_is_killed_and_reaped() {
    for containment in every_mechanism() {
        let child = containment.spawn(command("/bin/sleep", &["600"], "/")).await.unwrap();
        let pid = child.pid() as i32;
        drop(child);
        let begun = Instant::now();
        while state(pid).is_some() {
            assert!(begun.elapsed() < Duration::from_secs(5), "{}: {:?}", containment.name(), state(pid));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
