use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_kills_the_whole_tree() {
    for containment in tree_mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = shell(&format!("{ESCAPING_TREE} sleep 600"), folder.path());
        job.timeout = Duration::from_secs(2);
        let result = run_job(&containment, job).await;
        assert!(matches!(result, Err(RunError::TimedOut { .. })));
        let pids = read_pids(&folder.path().join("pids"), ESCAPING_TREE_SIZE);
        assert_dead_within(Duration::from_millis(20), &pids, containment.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_kills_the_whole_tree_at_once() {
    for containment in every_mechanism() {
        let folder = tempfile::tempdir().unwrap();
        // It would not heed a gentle end.
        let script = "trap '' TERM INT HUP; sleep 600 & echo $! > pids; echo $$ >> pids; wait";
        let cancel = Cancel::new();
        let stop = std::thread::spawn({
            let (cancel, pids) = (cancel.clone(), folder.path().join("pids"));
            move || {
                let pids = read_pids(&pids, 2);
                cancel.cancel();
                (pids, Instant::now())
            }
        });
        let result = run(&containment, shell(script, folder.path()), &cancel).await;
        let ended = Instant::now();
        assert!(matches!(result, Err(RunError::Cancelled { .. })));
        let (pids, begun) = stop.join().unwrap();
        assert!(ended - begun < Duration::from_secs(2), "{:?}", ended - begun);
        assert_dead_within(Duration::from_millis(20), &pids, containment.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_harms_none_that_is_born_later() {
    for containment in every_mechanism() {
        for _ in 0..3 {
            let mut job = shell("sleep 600", "/");
            job.timeout = Duration::from_millis(20);
            assert!(run_job(&containment, job).await.is_err());
            drop(containment.spawn(command("/bin/sleep", &["600"], "/")).await.unwrap());
            for _ in 0..6 {
                let later = see(&containment, shell("echo hi", "/")).await;
                assert_eq!(later, seen(ExitStatus::Code(0), "hi\n", "", false), "{}", containment.name());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_up_run_kills_the_whole_tree() {
    for containment in tree_mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let job = shell(&format!("{ESCAPING_TREE} sleep 600"), folder.path());
        let name = containment.name();
        let running = tokio::spawn(async move {
            let _ = run_job(&containment, job).await;
        });
        let pids = tokio::task::spawn_blocking({
            let file = folder.path().join("pids");
            move || read_pids(&file, ESCAPING_TREE_SIZE)
        });
        let pids = pids.await.unwrap();
        running.abort();
        let _ = running.await;
        assert_dead_within(Duration::from_secs(1), &pids, name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_detached_cleanly_lives_until_the_workspace_ends() {
    for containment in tree_mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let report = run_job(&containment, shell(ESCAPING_TREE, folder.path())).await.unwrap();
        assert_eq!((report.status, report.truncated), (ExitStatus::Code(0), false), "nobody held the output");
        let pids = read_pids(&folder.path().join("pids"), ESCAPING_TREE_SIZE);
        let detached = report.detached.expect("it left processes");

        // Another exec's death is not theirs.
        let mut other = shell("sleep 600", "/");
        other.timeout = Duration::from_millis(50);
        assert!(run_job(&containment, other).await.is_err());
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{}", containment.name());

        detached.kill().await;
        assert_dead_within(Duration::from_millis(50), &pids, containment.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_detached_is_noticed() {
    for containment in tree_mechanisms() {
        let report = run_job(&containment, shell("setsid sleep 0.3 >/dev/null 2>&1 &", "/")).await.unwrap();
        let begun = Instant::now();
        let detached = report.detached.expect("it left a process");
        let end = tokio::time::timeout(Duration::from_secs(5), detached.ended()).await;
        assert!(end.is_ok() && begun.elapsed() > Duration::from_millis(200), "{}", containment.name());
        assert!(run_job(&containment, shell("true", "/")).await.unwrap().detached.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_detached_tree_is_killed() {
    for containment in tree_mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let report = run_job(&containment, shell(ESCAPING_TREE, folder.path())).await.unwrap();
        let pids = read_pids(&folder.path().join("pids"), ESCAPING_TREE_SIZE);
        drop(report.detached);
        assert_dead_within(Duration::from_secs(1), &pids, containment.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_storm_ends() {
    // Each generation leaves the group and dies at once, having made two of the next; bounded, should the kill fail.
    let script = "
        storm() { [ $1 -gt 0 ] || return; setsid sh -c \"$body\" sh $(($1 - 1)) & setsid sh -c \"$body\" sh $(($1 - 1)) & }
        body='storm() { [ $1 -gt 0 ] || exec sleep 600; setsid sh -c \"$body\" sh $(($1 - 1)) & setsid sh -c \"$body\" sh $(($1 - 1)) & }; storm $1'
        export body
        storm 7
        sleep 600";
    for containment in tree_mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().canonicalize().unwrap();
        let mut job = shell(script, folder.path());
        job.timeout = Duration::from_millis(400);
        let begun = Instant::now();
        assert!(matches!(run_job(&containment, job).await, Err(RunError::TimedOut { .. })));
        assert!(begun.elapsed() < Duration::from_secs(5), "{}: {:?}", containment.name(), begun.elapsed());
        let begun = Instant::now();
        while let Some(pid) = somebody_in(&marker) {
            assert!(begun.elapsed() < Duration::from_secs(1), "{}: {pid} lives", containment.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_daemon_kills_all_and_starts_nothing() {
    for containment in tree_mechanisms() {
        let containment = std::sync::Arc::new(containment);
        let folder = tempfile::tempdir().unwrap();
        let report = run_job(&containment, shell(ESCAPING_TREE, folder.path())).await.unwrap();
        let running = tokio::spawn({
            let containment = std::sync::Arc::clone(&containment);
            async move { run_job(&containment, shell("sleep 600", "/")).await.map(|report| report.status) }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        containment.kill_all();
        let pids = read_pids(&folder.path().join("pids"), ESCAPING_TREE_SIZE);
        assert_dead_within(Duration::from_millis(50), &pids, containment.name());
        assert_eq!(running.await.unwrap().unwrap(), ExitStatus::Signal(libc::SIGKILL));
        drop(report.detached);
        let late = run_job(&containment, shell("true", "/")).await;
        assert!(matches!(late, Err(RunError::Start(StartError::Resources(_)))), "{}", containment.name());
    }
}

/// A living process whose working directory this is.
fn somebody_in(directory: &Path) -> Option<i32> {
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
        (cwd == directory && is_alive(pid)).then_some(pid)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_held_apart() {
    for containment in every_mechanism() {
        let containment = std::sync::Arc::new(containment);
        let runs: Vec<_> = (0..40)
            .map(|number| {
                let containment = std::sync::Arc::clone(&containment);
                tokio::spawn(async move {
                    let mut job =
                        shell(&format!("echo {number}; [ $(({number} % 2)) = 0 ] || sleep 600"), "/");
                    job.timeout = if number % 2 == 1 { Duration::from_millis(300) } else { job.timeout };
                    run_job(&containment, job).await.map(|report| report.stdout)
                })
            })
            .collect();
        for (number, run) in runs.into_iter().enumerate() {
            match run.await.unwrap() {
                Ok(stdout) => assert_eq!((number % 2, stdout), (0, format!("{number}\n"))),
                Err(error) => {
                    assert!(number % 2 == 1 && matches!(error, RunError::TimedOut { .. }), "{error}")
                }
            }
        }
    }
}
