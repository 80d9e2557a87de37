use axlr_protocol::limits;
use tokio::sync::mpsc;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn large_stdin_and_stdout_do_not_deadlock() {
    let text = "0123456789".repeat(90_000);
    for containment in every_mechanism() {
        let mut job = job(command("/bin/cat", &[], "/"));
        job.stdin = text.clone().into_bytes();
        let report = run_job(&containment, job).await.unwrap();
        assert_eq!((report.captured_bytes, report.discarded_bytes, report.truncated), (900_000, 0, false));
        assert!(report.stdout == text);
        // Nobody reads it: EPIPE, which is no fault.
        let mut unread = shell("exec true", "/");
        unread.stdin = text.clone().into_bytes();
        assert_eq!(see(&containment, unread).await.status, ExitStatus::Code(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_beyond_the_limit_is_drained_and_counted() {
    let containment = Containment::start(Preference::Group).unwrap();
    let mut job = shell("head -c 3000000 /dev/zero | tr '\\0' x; echo e >&2", "/");
    job.max_output_bytes = 1_000;
    let report = run_job(&containment, job).await.unwrap();
    let total = report.captured_bytes + report.discarded_bytes;
    assert_eq!((report.captured_bytes, total, report.truncated), (1_000, 3_000_002, true));
    assert_eq!(report.status, ExitStatus::Code(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_in_pieces_is_whole() {
    let containment = Containment::start(Preference::Group).unwrap();
    let script = "printf '\\342'; sleep 0.05; printf '\\211'; sleep 0.05; printf '\\244\\n'";
    assert_eq!(see(&containment, shell(script, "/")).await.stdout, "≤\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_the_output_is_killed_after_a_second() {
    let folder = tempfile::tempdir().unwrap();
    for containment in every_mechanism() {
        let begun = Instant::now();
        let script = "echo started; sleep 600 & echo $! > holder";
        let seen_now = see(&containment, shell(script, folder.path())).await;
        assert_eq!(seen_now, seen(ExitStatus::Code(0), "started\n", "", true));
        let elapsed = begun.elapsed();
        assert!(elapsed > Duration::from_millis(900) && elapsed < Duration::from_secs(4), "{elapsed:?}");
        let holder = read_pids(&folder.path().join("holder"), 1);
        assert_dead_within(Duration::from_secs(1), &holder, containment.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_never_stops_writing_is_cut_off() {
    for containment in every_mechanism() {
        let begun = Instant::now();
        // In its own group, so that only the end of our pipe stops it.
        let report = run_job(&containment, shell("setsid yes & exit 4", "/")).await.unwrap();
        assert_eq!((report.status, report.truncated), (ExitStatus::Code(4), true));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}

fn streaming(mut job: Job, capacity: usize) -> (Job, mpsc::Receiver<EventBody>) {
    let (sender, receiver) = mpsc::channel(capacity);
    job.events = Some(sender);
    (job, receiver)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_all_output_in_order() {
    for containment in every_mechanism() {
        let (mut job, mut events) = streaming(shell("seq 1 200000; echo e >&2", "/"), 2);
        job.max_output_bytes = 10;
        let read = tokio::spawn(async move {
            let (mut pids, mut stdout, mut stderr) = (Vec::new(), Vec::new(), Vec::new());
            while let Some(event) = events.recv().await {
                match event {
                    EventBody::Started { pid } => pids.push(pid),
                    EventBody::Stdout { data } => {
                        assert!((1..=limits::EXEC_CHUNK_MAX_BYTES).contains(&data.len()));
                        stdout.extend(data);
                    }
                    EventBody::Stderr { data } => stderr.extend(data),
                    other => panic!("{other:?}"),
                }
            }
            (pids, stdout, stderr)
        });
        let report = run_job(&containment, job).await.unwrap();
        let (pids, stdout, stderr) = read.await.unwrap();
        let expected: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
        assert_eq!(pids.len(), 1);
        assert!(stdout == expected.as_bytes() && stderr == b"e\n");
        assert_eq!((report.stdout.as_str(), report.stderr.as_str()), ("", ""));
        let sent = (expected.len() + 2) as u64;
        assert_eq!((report.captured_bytes, report.discarded_bytes, report.truncated), (sent, 0, false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_slows_the_program_and_is_no_holder() {
    for containment in tree_mechanisms() {
        // Three pipes full, and a process that detached cleanly.
        let script = "sleep 600 >/dev/null 2>&1 & head -c 200000 /dev/zero";
        let (job, mut events) = streaming(shell(script, "/"), 1);
        let read = tokio::spawn(async move {
            let mut total = 0;
            while let Some(event) = events.recv().await {
                if let EventBody::Stdout { data } = event {
                    total += data.len();
                    tokio::time::sleep(Duration::from_millis(700)).await;
                }
            }
            total
        });
        let report = run_job(&containment, job).await.unwrap();
        assert_eq!(read.await.unwrap(), 200_000);
        assert!(!report.truncated, "{}", containment.name());
        report.detached.expect("it lives on").kill().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listening_is_a_cancellation() {
    for containment in every_mechanism() {
        let (job, events) = streaming(shell("sleep 600", "/"), 1);
        drop(events);
        let result = run_job(&containment, job).await;
        assert!(matches!(result, Err(RunError::Cancelled { .. })));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_quotes_the_end_of_the_output() {
    for containment in every_mechanism() {
        let mut job = shell("seq 1 1000; printf last; exec sleep 600", "/");
        job.timeout = Duration::from_secs(1);
        job.max_output_bytes = 4;
        let Err(RunError::TimedOut { tail }) = run_job(&containment, job).await else { panic!("no timeout") };
        assert_eq!(tail.chars().count(), 1_000);
        assert!(tail.ends_with("999\n1000\nlast"), "{tail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_before_a_timeout_is_sent_whole_to_who_listens() {
    for containment in every_mechanism() {
        let (mut job, mut events) = streaming(shell("seq 1 10000; sleep 600", "/"), 1);
        job.timeout = Duration::from_millis(300);
        let read = tokio::spawn(async move {
            let mut stdout = Vec::new();
            // Late enough to find most of it still in the pipe when the program is killed.
            tokio::time::sleep(Duration::from_millis(310)).await;
            while let Some(event) = events.recv().await {
                if let EventBody::Stdout { data } = event {
                    stdout.extend(data);
                }
            }
            stdout
        });
        let result = run_job(&containment, job).await;
        assert!(matches!(result, Err(RunError::TimedOut { .. })));
        let expected: String = (1..=10_000).map(|number| format!("{number}\n")).collect();
        assert!(read.await.unwrap() == expected.as_bytes(), "{}", containment.name());
    }
}
