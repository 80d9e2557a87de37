//! The client against a daemon made of paper.

use std::os::fd::AsFd;
use std::time::{Duration, SystemTime};

use axlr_protocol::decode::{self, Door};
use axlr_protocol::frame::{Decoder, Frame};
use axlr_protocol::tool::{
    Empty, ExecArguments, ReadArguments, ReadOutput, RequestCancelArguments, ServerStopArguments, SignalName,
};
use axlr_protocol::{
    Call, Code, Encoding, ErrorBody, Event, EventBody, Output, Request, Response, Status, codec, limits,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::timeout;

use crate::{CallError, Client, ConnectError, EVENTS_WAITING, Workspace};

const BOTH: [Encoding; 2] = [Encoding::Json, Encoding::MessagePack];
/// A stream that is stuck is found out after so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// What does not happen is not waited for longer.
const SILENCE: Duration = Duration::from_millis(50);

/// The daemon's end of a connection.
struct Paper {
    stream: DuplexStream,
    decoder: Decoder,
    encoding: Encoding,
}

fn connected(encoding: Encoding) -> (Client, Paper) {
    with_room(encoding, 64 * 1024)
}

fn with_room(encoding: Encoding, bytes: usize) -> (Client, Paper) {
    let (ours, stream) = tokio::io::duplex(bytes);
    let (reader, writer) = tokio::io::split(ours);
    let decoder = Decoder::new(limits::REQUEST_MAX_BYTES);
    (Client::over(reader, writer, encoding), Paper { stream, decoder, encoding })
}

impl Paper {
    /// The next request; `None` at the end.
    async fn request(&mut self) -> Option<Request> {
        let received = async {
            loop {
                if let Some(frame) = self.decoder.next() {
                    let Frame::Request(document) = frame else { panic!("{frame:?}") };
                    return Some(decode::request(self.encoding, document, Door::Socket).unwrap());
                }
                if self.stream.read_buf(self.decoder.buffer()).await.unwrap() == 0 {
                    return None;
                }
            }
        };
        timeout(PATIENCE, received).await.expect("a request")
    }

    async fn respond(&mut self, request: &Request, outcome: Result<Output, ErrorBody>) {
        let bytes = self.response(request, outcome);
        self.stream.write_all(&bytes).await.unwrap();
    }

    fn response(&self, request: &Request, outcome: Result<Output, ErrorBody>) -> Vec<u8> {
        let response = Response {
            request_id: request.request_id.clone(),
            tool: Some(request.call.tool()),
            started_at: SystemTime::UNIX_EPOCH,
            finished_at: SystemTime::UNIX_EPOCH,
            duration_ms: 0,
            outcome,
        };
        let mut bytes = Vec::new();
        codec::response(self.encoding, &response, &mut bytes);
        bytes
    }

    fn event(&self, request: &Request, seq: u64, body: EventBody) -> Vec<u8> {
        let mut bytes = Vec::new();
        codec::event(self.encoding, &Event { request_id: request.request_id.clone(), seq, body }, &mut bytes);
        bytes
    }
}

fn page(content: &str) -> Output {
    Output::Read(ReadOutput {
        content: content.to_owned(),
        start_offset_bytes: 0,
        returned_bytes: content.len() as u64,
        next_offset_bytes: content.len() as u64,
        truncated: false,
        content_sha256: None,
    })
}

async fn read(workspace: Workspace, path: &str) -> Result<String, CallError> {
    let arguments = ReadArguments { path: path.to_owned(), ..Default::default() };
    workspace.read(arguments).await.map(|output| output.content)
}

fn path_of(request: &Request) -> String {
    match &request.call {
        Call::Read(arguments) => arguments.path.clone(),
        other => panic!("{other:?}"),
    }
}

fn stdout(text: &str) -> EventBody {
    EventBody::Stdout { data: text.as_bytes().to_vec() }
}

fn cat() -> Call {
    Call::Exec(ExecArguments { program: "cat".to_owned(), stdin_open: Some(true), ..Default::default() })
}

#[tokio::test]
async fn responses_find_their_requests_in_any_order() {
    for encoding in BOTH {
        let (client, mut paper) = connected(encoding);
        let names = ["a", "b", "c"];
        let calls = names.map(|name| tokio::spawn(read(client.workspace("w1"), name)));
        let mut requests = Vec::new();
        for _ in names {
            requests.push(paper.request().await.unwrap());
        }
        for request in requests.iter().rev() {
            assert_eq!(request.workspace.as_deref(), Some("w1"));
            assert!(!request.stream);
            let content = format!("content of {}", path_of(request));
            paper.respond(request, Ok(page(&content))).await;
        }
        for (name, call) in names.iter().zip(calls) {
            assert_eq!(call.await.unwrap().unwrap(), format!("content of {name}"));
        }
    }
}

#[tokio::test]
async fn a_message_may_come_a_byte_at_a_time_and_several_at_once() {
    for encoding in BOTH {
        let (client, mut paper) = connected(encoding);
        let first = tokio::spawn(read(client.default_workspace(), "a"));
        let request = paper.request().await.unwrap();
        assert_eq!(request.workspace, None);
        for byte in paper.response(&request, Ok(page("α"))) {
            paper.stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(first.await.unwrap().unwrap(), "α");

        let calls = ["b", "c"].map(|name| tokio::spawn(read(client.default_workspace(), name)));
        let (second, third) = (paper.request().await.unwrap(), paper.request().await.unwrap());
        let mut bytes = paper.response(&second, Ok(page("two")));
        bytes.extend(paper.response(&third, Ok(page("three"))));
        paper.stream.write_all(&bytes).await.unwrap();
        let [second, third] = calls;
        assert_eq!(
            (second.await.unwrap().unwrap(), third.await.unwrap().unwrap()),
            ("two".into(), "three".into())
        );
    }
}

#[tokio::test]
async fn a_refusal_keeps_its_status_code_and_message() {
    let (client, mut paper) = connected(Encoding::Json);
    let call = tokio::spawn(read(client.default_workspace(), "gone"));
    let request = paper.request().await.unwrap();
    let error = ErrorBody { code: Code::NotFound, message: "gone does not exist".to_owned() };
    paper.respond(&request, Err(error)).await;
    match call.await.unwrap() {
        Err(CallError::Refused { status, code, message }) => {
            assert_eq!(
                (status, code, message.as_str()),
                (Status::Failed, Code::NotFound, "gone does not exist")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_output_of_the_wrong_shape_is_told() {
    let (client, mut paper) = connected(Encoding::Json);
    let call = tokio::spawn(read(client.default_workspace(), "a"));
    let request = paper.request().await.unwrap();
    paper.respond(&request, Ok(Output::Empty(Empty {}))).await;
    let error = call.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "the output of read is not understood: missing field `content`");
}

#[tokio::test]
async fn everybody_who_waits_learns_of_the_end() {
    for encoding in BOTH {
        let (client, mut paper) = connected(encoding);
        let calls = ["a", "b"].map(|name| tokio::spawn(read(client.default_workspace(), name)));
        paper.request().await.unwrap();
        paper.request().await.unwrap();
        drop(paper);
        for call in calls {
            let error = call.await.unwrap().unwrap_err();
            assert_eq!(error.to_string(), "the connection to axlrd is broken: axlrd ended it");
        }
        assert_eq!(&*client.closed().await, "axlrd ended it");
        let error = client.ping().await.unwrap_err();
        assert!(matches!(error, CallError::Broken { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn what_is_no_message_breaks_the_connection() {
    let cases: [(Encoding, &[u8], &str); 4] = [
        (Encoding::Json, b"hello\n", "axlrd sent what is no message"),
        (Encoding::MessagePack, b"{}\n", "axlrd answers in another encoding"),
        (Encoding::Json, b"{\"protocol_version\":1", "axlrd ended it in the middle of a message"),
        (Encoding::MessagePack, &[1, 0, 0, 0], "axlrd answers in another encoding"),
    ];
    for (encoding, bytes, expected) in cases {
        let (client, mut paper) = connected(encoding);
        paper.stream.write_all(bytes).await.unwrap();
        paper.stream.shutdown().await.unwrap();
        let reason = client.closed().await;
        assert!(reason.starts_with(expected), "{reason}");
    }
}

#[tokio::test]
async fn a_rejection_without_id_breaks_the_connection_with_its_message() {
    let (client, mut paper) = connected(Encoding::Json);
    let error = ErrorBody { code: Code::InvalidRequest, message: "no frame can be this long".to_owned() };
    let request = Request { request_id: String::new(), workspace: None, stream: false, call: cat() };
    paper.respond(&request, Err(error)).await;
    assert_eq!(&*client.closed().await, "axlrd could not read a request: no frame can be this long");
}

#[tokio::test]
async fn events_come_in_order_and_before_the_response() {
    for encoding in BOTH {
        let (client, mut paper) = connected(encoding);
        let mut running = client.workspace("w").start(cat()).await.unwrap();
        let request = paper.request().await.unwrap();
        assert!(request.stream);
        assert_eq!(request.request_id, running.request_id());
        let mut bytes = paper.event(&request, 0, EventBody::Started { pid: 7 });
        bytes.extend(paper.event(&request, 1, stdout("one")));
        bytes.extend(paper.event(&request, 2, stdout("two")));
        bytes.extend(paper.response(&request, Ok(Output::Empty(Empty {}))));
        paper.stream.write_all(&bytes).await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = running.next_event().await {
            events.push(event);
        }
        assert_eq!(events, [EventBody::Started { pid: 7 }, stdout("one"), stdout("two")]);
        assert_eq!(running.response().await.unwrap().status, Status::Completed);
    }
}

#[tokio::test]
async fn what_a_later_version_says_is_passed_over() {
    let (client, mut paper) = connected(Encoding::Json);
    let mut running = client.default_workspace().start(cat()).await.unwrap();
    let request = paper.request().await.unwrap();
    let id = &request.request_id;
    let unknown = format!(
        "{{\"protocol_version\":1,\"request_id\":\"{id}\",\"event\":\"weather\",\"seq\":0,\"sky\":\"clear\"}}\n"
    );
    paper.stream.write_all(unknown.as_bytes()).await.unwrap();
    let known = paper.event(&request, 1, stdout("x"));
    paper.stream.write_all(&known).await.unwrap();
    assert_eq!(running.next_event().await, Some(stdout("x")));
    // An event of nobody's.
    let stranger = Request { request_id: "not-ours".to_owned(), ..request.clone() };
    let bytes = paper.event(&stranger, 0, stdout("y"));
    paper.stream.write_all(&bytes).await.unwrap();
    paper.respond(&request, Ok(Output::Empty(Empty {}))).await;
    assert_eq!(running.next_event().await, None);
}

#[tokio::test]
async fn dropping_what_runs_cancels_it() {
    let (client, mut paper) = connected(Encoding::MessagePack);
    let running = client.default_workspace().start(cat()).await.unwrap();
    let started = paper.request().await.unwrap();
    drop(running);
    let cancel = paper.request().await.unwrap();
    let wanted = RequestCancelArguments { request_id: started.request_id.clone() };
    assert_eq!(cancel.call, Call::RequestCancel(wanted));
    // Late answers are nobody's, and harm nobody.
    paper.respond(&started, Ok(Output::Empty(Empty {}))).await;
    paper.respond(&cancel, Ok(Output::Empty(Empty {}))).await;

    // The same with the future of a call.
    let call = read(client.default_workspace(), "slow");
    assert!(timeout(SILENCE, call).await.is_err());
    let slow = paper.request().await.unwrap();
    let cancel = paper.request().await.unwrap();
    assert_eq!(cancel.call, Call::RequestCancel(RequestCancelArguments { request_id: slow.request_id }));
}

#[tokio::test]
async fn what_was_answered_is_not_cancelled() {
    let (client, mut paper) = connected(Encoding::Json);
    let running = client.default_workspace().start(cat()).await.unwrap();
    let request = paper.request().await.unwrap();
    paper.respond(&request, Ok(Output::Empty(Empty {}))).await;
    running.response().await.unwrap();
    drop(client);
    assert_eq!(paper.request().await.map(|request| request.call), None);
}

#[tokio::test]
async fn a_stream_that_is_not_taken_stops_the_connection_and_no_memory_grows() {
    let (client, mut paper) = with_room(Encoding::MessagePack, 1024);
    let mut running = client.default_workspace().start(cat()).await.unwrap();
    let request = paper.request().await.unwrap();
    let mut sent = 0;
    // Somewhere behind the waiting events and the pipe's own room this stops.
    loop {
        let bytes = paper.event(&request, sent, stdout("x"));
        match timeout(SILENCE, paper.stream.write_all(&bytes)).await {
            Ok(written) => written.unwrap(),
            Err(_) => break,
        }
        sent += 1;
        assert!(sent < 1_000, "the stream is never held up");
    }
    assert!(sent as usize > EVENTS_WAITING);
    // Taking events sets it going again.
    for _ in 0..sent {
        assert_eq!(timeout(PATIENCE, running.next_event()).await.unwrap(), Some(stdout("x")));
    }
}

#[tokio::test]
async fn dropping_a_stream_that_holds_the_connection_up_sets_it_going() {
    let (client, mut paper) = connected(Encoding::Json);
    let running = client.default_workspace().start(cat()).await.unwrap();
    let request = paper.request().await.unwrap();
    let other = tokio::spawn(read(client.default_workspace(), "a"));
    let read = paper.request().await.unwrap();
    for seq in 0..2 * EVENTS_WAITING as u64 {
        let bytes = paper.event(&request, seq, stdout("x"));
        paper.stream.write_all(&bytes).await.unwrap();
    }
    paper.respond(&read, Ok(page("a"))).await;
    assert!(timeout(SILENCE, client.closed()).await.is_err());
    assert!(!other.is_finished());
    drop(running);
    assert_eq!(timeout(PATIENCE, other).await.unwrap().unwrap().unwrap(), "a");
}

#[tokio::test]
async fn a_signal_is_answered_although_events_wait() {
    let (client, mut paper) = connected(Encoding::MessagePack);
    let mut running = client.default_workspace().start(cat()).await.unwrap();
    let request = paper.request().await.unwrap();
    let events = 2 * EVENTS_WAITING as u64;
    for seq in 0..events {
        let bytes = paper.event(&request, seq, stdout("x"));
        paper.stream.write_all(&bytes).await.unwrap();
    }
    let daemon = tokio::spawn(async move {
        let signal = paper.request().await.unwrap();
        paper.respond(&signal, Ok(Output::Empty(Empty {}))).await;
        paper
    });
    timeout(PATIENCE, running.signal(SignalName::Int)).await.unwrap().unwrap();
    for _ in 0..events {
        assert_eq!(running.next_event().await, Some(stdout("x")));
    }
    let _paper = daemon.await.unwrap();
}

#[tokio::test]
async fn stdin_is_sent_in_pieces_that_a_request_can_hold() {
    let (client, mut paper) = with_room(Encoding::MessagePack, 8 * 1024 * 1024);
    let mut running = client.default_workspace().start(cat()).await.unwrap();
    let started = paper.request().await.unwrap();
    let daemon = tokio::spawn(async move {
        let mut sizes = Vec::new();
        loop {
            let request = paper.request().await.unwrap();
            let Call::ExecWrite(write) = &request.call else { panic!("{request:?}") };
            assert_eq!(write.request_id, started.request_id);
            sizes.push(write.base64.as_ref().map_or(0, String::len));
            let ends = write.eof == Some(true);
            paper.respond(&request, Ok(Output::Empty(Empty {}))).await;
            if ends {
                return sizes;
            }
        }
    });
    running.write_stdin(vec![b'x'; 3 * 1024 * 1024 / 2]).await.unwrap();
    running.close_stdin().await.unwrap();
    assert_eq!(daemon.await.unwrap(), [1_398_104, 699_052, 0]);
}

#[tokio::test]
async fn a_request_that_is_too_large_is_not_sent() {
    let (client, mut paper) = connected(Encoding::Json);
    let error = read(client.default_workspace(), &"x".repeat(limits::REQUEST_MAX_BYTES)).await.unwrap_err();
    assert!(matches!(error, CallError::Unsendable(_)), "{error:?}");
    let ping = tokio::spawn(async move { client.ping().await });
    let request = paper.request().await.unwrap();
    assert_eq!(request.call, Call::ServerPing(Empty {}));
    paper.respond(&request, Ok(Output::Empty(Empty {}))).await;
    ping.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_daemon_that_does_not_read_is_not_sent_without_bound() {
    let (client, mut paper) = with_room(Encoding::Json, 1024);
    let large = "x".repeat(1024 * 1024);
    let calls: Vec<_> = (0..16)
        .map(|_| {
            let (workspace, path) = (client.default_workspace(), large.clone());
            tokio::spawn(async move { read(workspace, &path).await })
        })
        .collect();
    tokio::time::sleep(SILENCE).await;
    // Those beyond the bound go out as there is room; none is lost.
    for _ in &calls {
        let request = paper.request().await.unwrap();
        paper.respond(&request, Ok(page("ok"))).await;
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "ok");
    }
}

#[tokio::test]
async fn a_broken_pipe_to_the_daemon_ends_the_connection_although_it_can_be_read() {
    let (reader, _kept) = tokio::io::duplex(64);
    let (writer, gone) = tokio::io::duplex(64);
    drop(gone);
    let client = Client::over(reader, writer, Encoding::Json);
    let error = timeout(PATIENCE, client.ping()).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("it can't be written"), "{error}");
}

#[tokio::test]
async fn stop_is_followed_by_the_end() {
    let (client, mut paper) = connected(Encoding::Json);
    let daemon = tokio::spawn(async move {
        let request = paper.request().await.unwrap();
        assert_eq!(request.call, Call::ServerStop(ServerStopArguments { drain_ms: Some(0) }));
        paper.respond(&request, Ok(Output::Empty(Empty {}))).await;
    });
    client.stop(ServerStopArguments { drain_ms: Some(0) }).await.unwrap();
    assert_eq!(&*timeout(PATIENCE, client.closed()).await.unwrap(), "axlrd ended it");
    daemon.await.unwrap();
}

#[tokio::test]
async fn a_socket_of_ours_is_connected_to_and_nobody_at_home_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let error = Client::connect(&path, Encoding::Json).await.unwrap_err();
    assert!(matches!(error, ConnectError::Connect { .. }), "{error:?}");
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let (connected, accepted) = tokio::join!(Client::connect(&path, Encoding::Json), listener.accept());
    connected.unwrap();
    accepted.unwrap();
}

#[test]
fn a_listener_of_another_user_is_a_stranger() {
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let (path, own) = (std::path::Path::new("/run/s"), crate::socket::own_uid());
    assert_eq!(crate::socket::judge_listener(path, one.as_fd(), own), Ok(()));
    let verdict = crate::socket::judge_listener(path, one.as_fd(), own + 1).unwrap_err();
    assert_eq!(verdict, format!("its listener is user {own}, and you are user {}", own + 1));
}

#[test]
fn the_socket_is_where_the_contract_says() {
    let path = |named: Option<&str>, runtime: Option<&str>| {
        crate::socket::socket_path(named.map(Into::into), runtime.map(Into::into)).display().to_string()
    };
    let fallback = format!("/tmp/axlr-{}/axlr.sock", crate::socket::own_uid());
    assert_eq!(path(Some("/a/b"), Some("/run/user/1")), "/a/b");
    assert_eq!(path(Some(""), Some("/run/user/1")), "/run/user/1/axlr/axlr.sock");
    assert_eq!(path(None, Some("relative")), fallback);
    assert_eq!(path(None, None), fallback);
}
