//! The connection against a daemon that is the other end of a pair.

use std::io::BufRead as _;
use std::time::SystemTime;

use axlr_protocol::decode::{self, Door};
use axlr_protocol::tool::{ExecArguments, ReadArguments};
use axlr_protocol::{Event, EventBody, Output, Response, tool::Empty};

use super::*;

fn connected() -> (Daemon, UnixStream, UnixStream) {
    let (stream, other) = UnixStream::pair().unwrap();
    let (signals, handler) = UnixStream::pair().unwrap();
    (Daemon { stream, decoder: Decoder::new(limits::FRAME_LENGTH_END as usize), signals }, other, handler)
}

fn request(call: Call) -> Request {
    Request { request_id: "r".to_owned(), workspace: None, stream: false, call }
}

fn read_a() -> Call {
    Call::Read(ReadArguments { path: "a".to_owned(), ..Default::default() })
}

fn response(request_id: &str, outcome: Result<Output, ErrorBody>) -> Vec<u8> {
    let now = SystemTime::UNIX_EPOCH;
    let response = Response {
        request_id: request_id.to_owned(),
        tool: Some(axlr_protocol::Tool::Read),
        started_at: now,
        finished_at: now,
        duration_ms: 0,
        outcome,
    };
    let mut line = Vec::new();
    codec::response(Encoding::Json, &response, &mut line);
    line
}

fn next(lines: &mut impl Iterator<Item = io::Result<String>>) -> Request {
    let line = lines.next().unwrap().unwrap();
    decode::request(Encoding::Json, line.as_bytes(), Door::Socket).unwrap()
}

#[test]
fn the_response_is_handed_on_as_it_came() {
    let (mut daemon, mut other, _handler) = connected();
    let mut event = Vec::new();
    let body = EventBody::Started { pid: 1 };
    codec::event(Encoding::Json, &Event { request_id: "r".to_owned(), seq: 0, body }, &mut event);
    let wanted = response("r", Ok(Output::Empty(Empty {})));
    other.write_all(&event).unwrap();
    other.write_all(&response("another", Ok(Output::Empty(Empty {})))).unwrap();
    other.write_all(&wanted).unwrap();
    let (answer, line) = daemon.answer_to("r").unwrap();
    assert_eq!((answer.request_id.as_str(), line), ("r", wanted));
}

#[test]
fn an_answer_without_id_is_ours() {
    let (mut daemon, mut other, _handler) = connected();
    let error = ErrorBody { code: Code::InvalidRequest, message: "no".to_owned() };
    other.write_all(&response("", Err(error))).unwrap();
    let (answer, _) = daemon.answer_to("r").unwrap();
    assert_eq!(worker::exit_status(answer.error.as_ref()), crate::EXIT_MALFORMED);
}

#[test]
fn a_signal_cancels_and_the_response_still_comes() {
    for id in ["r", "cancel"] {
        let (mut daemon, mut other, mut handler) = connected();
        let received = other.try_clone().unwrap();
        handler.write_all(&[0]).unwrap();
        let answering = std::thread::spawn(move || {
            let mut lines = io::BufReader::new(received).lines();
            let cancel = next(&mut lines);
            assert_ne!(cancel.request_id, id);
            assert_eq!(
                cancel.call,
                Call::RequestCancel(RequestCancelArguments { request_id: id.to_owned() })
            );
            let error = ErrorBody { code: Code::Cancelled, message: "cancelled".to_owned() };
            other.write_all(&response(&cancel.request_id, Ok(Output::Empty(Empty {})))).unwrap();
            other.write_all(&response(id, Err(error))).unwrap();
        });
        let (answer, _) = daemon.answer_to(id).unwrap();
        assert_eq!(answer.error.map(|error| error.code), Some(Code::Cancelled));
        answering.join().unwrap();
    }
}

#[test]
fn the_end_of_the_connection_is_no_answer() {
    let (mut daemon, other, _handler) = connected();
    drop(other);
    let error = daemon.answer_to("r").unwrap_err();
    assert_eq!(error.to_string(), "axlrd ended the connection without an answer");
}

#[test]
fn a_request_names_its_workspace_where_there_is_room() {
    let (mut daemon, other, _handler) = connected();
    let reading = std::thread::spawn(move || {
        let mut lines = io::BufReader::new(other).lines();
        [next(&mut lines).workspace, next(&mut lines).workspace]
    });
    daemon.send_within(request(read_a()), "w1".to_owned()).unwrap();
    let exec = |size| {
        let stdin = Some("x".repeat(size));
        request(Call::Exec(ExecArguments { program: "cat".to_owned(), stdin, ..Default::default() }))
    };
    // The largest request that the worker takes has no room for one more member.
    let mut line = Vec::new();
    codec::request(Encoding::Json, &exec(0), &mut line).unwrap();
    let envelope = line.len() - 1;
    daemon.send_within(exec(limits::REQUEST_MAX_BYTES - envelope), "w1".to_owned()).unwrap();
    assert_eq!(reading.join().unwrap(), [Some("w1".to_owned()), None]);
}
