use axlr_protocol::limits;

use super::*;

fn open_job(script: &str) -> (Job, ExecHandle) {
    let (handle, controls) = controls();
    let mut job = shell(script, "/");
    job.stdin_open = true;
    job.controls = Some(controls);
    (job, handle)
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_arrive_in_order_until_the_end() {
    for containment in every_mechanism() {
        let (mut job, handle) = open_job("cat");
        job.stdin = b"first ".to_vec();
        let write = tokio::spawn(async move {
            handle.write(b"second ".to_vec(), false).await.unwrap();
            handle.write(Vec::new(), false).await.unwrap();
            handle.write(b"third".to_vec(), true).await.unwrap();
            handle.write(b"late".to_vec(), false).await
        });
        assert_eq!(see(&containment, job).await, seen(ExitStatus::Code(0), "first second third", "", false));
        assert_eq!(write.await.unwrap(), Err(ControlError::NotRunning));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stdin_ends_with_the_last_handle() {
    let containment = Containment::start(Preference::Group).unwrap();
    let (job, handle) = open_job("cat; echo end");
    drop(handle);
    assert_eq!(see(&containment, job).await.stdout, "end\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_waiting_is_refused() {
    let containment = Containment::start(Preference::Group).unwrap();
    let (job, handle) = open_job("sleep 600");
    let cancel = Cancel::new();
    let running = tokio::spawn({
        let cancel = cancel.clone();
        async move { run(&containment, job, &cancel).await.err().unwrap() }
    });
    let waiting = handle.write(vec![0; limits::EXEC_STDIN_WAITING_MAX_BYTES], false);
    tokio::pin!(waiting);
    tokio::select! {
        biased;
        result = &mut waiting => panic!("{result:?}"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(handle.write(vec![0], false).await, Err(ControlError::Overloaded));
    cancel.cancel();
    assert!(matches!(running.await.unwrap(), RunError::Cancelled { .. }));
    assert_eq!(waiting.await, Err(ControlError::NotRunning));
    assert_eq!(handle.write(vec![0], false).await, Err(ControlError::NotRunning));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_to_a_closed_stdin_is_told() {
    let containment = Containment::start(Preference::Group).unwrap();
    let (job, handle) = open_job("exec <&-; exec sleep 0.5");
    let write = tokio::spawn(async move {
        loop {
            if let Err(error) = handle.write(b"x".to_vec(), false).await {
                return error;
            }
        }
    });
    assert_eq!(see(&containment, job).await.status, ExitStatus::Code(0));
    assert_eq!(write.await.unwrap(), ControlError::NotRunning);
    // Without `stdin_open` there is nothing to write to.
    let (mut job, handle) = open_job("exec sleep 0.2");
    job.stdin_open = false;
    let write = tokio::spawn(async move { handle.write(b"x".to_vec(), false).await });
    see(&containment, job).await;
    assert_eq!(write.await.unwrap(), Err(ControlError::NotRunning));
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_reach_the_group() {
    for containment in every_mechanism() {
        let (handle, controls) = controls();
        let script = "trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.02; done";
        let mut job = shell(script, "/");
        let (sender, mut events) = tokio::sync::mpsc::channel(16);
        job.events = Some(sender);
        job.controls = Some(controls);
        let signal = tokio::spawn(async move {
            let mut output = Vec::new();
            while let Some(event) = events.recv().await {
                if let EventBody::Stdout { data } = event {
                    output.extend(data);
                    if output == b"ready\n" {
                        handle.signal(SignalName::Stop).await.unwrap();
                        handle.signal(SignalName::Cont).await.unwrap();
                        handle.signal(SignalName::Usr1).await.unwrap();
                    }
                }
            }
            (output, handle.signal(SignalName::Term).await)
        });
        let report = run_job(&containment, job).await.unwrap();
        let (output, late) = signal.await.unwrap();
        assert_eq!(report.status, ExitStatus::Code(5), "{}", containment.name());
        assert_eq!(output, b"ready\ngot\n");
        assert_eq!(late, Err(ControlError::NotRunning));
    }
}
