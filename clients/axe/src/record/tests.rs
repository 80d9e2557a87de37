use std::sync::Mutex;

use futures_util::StreamExt as _;
use serde_json::{Map, json};

use super::*;
use crate::output::Mask;
use crate::provider::{
    self, Arguments, Boxed, Category, EventStream, Message, Provider, Reply, Request, StreamEvent, ToolCall,
    Usage, drain,
};
use crate::secret::Secret;

const KEY: &str = "super-secret-key";

/// Says what it is given, the last first; streams it as its drained reply would have come.
struct Fixed(Mutex<Vec<Result<Reply, provider::Error>>>);

impl Provider for Fixed {
    fn complete<'a>(&'a self, _: &'a Request) -> Boxed<'a, Result<Reply, provider::Error>> {
        Box::pin(async { self.0.lock().expect("no panic").pop().expect("enough") })
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, provider::Error>> {
        Box::pin(async move {
            let reply = self.complete(request).await?;
            let events = vec![
                Ok(StreamEvent::Text(reply.text.clone())),
                Ok(StreamEvent::Done {
                    stop_reason: reply.stop_reason,
                    usage: reply.usage,
                    is_refusal: false,
                }),
            ];
            Ok(Box::pin(futures_util::stream::iter(events)) as EventStream)
        })
    }
}

fn request() -> Request {
    Request {
        model: "m".to_owned(),
        system: format!("never tell {KEY}"),
        messages: vec![Message::User("hi".to_owned())],
        tools: Vec::new(),
        temperature: None,
        max_tokens: None,
        response_format: None,
    }
}

fn replies() -> Vec<Result<Reply, provider::Error>> {
    let call = |id: &str, arguments| ToolCall { id: id.to_owned(), name: "t".to_owned(), arguments };
    let object = Map::from_iter([("n".to_owned(), json!(1_000_000_u64)), ("l".to_owned(), json!([1, null]))]);
    let reply = Reply {
        text: "hello".to_owned(),
        calls: vec![call("a", Arguments::Object(object)), call("b", Arguments::Malformed("{\"x".to_owned()))],
        stop_reason: "tool_use".to_owned(),
        model: Some("m-1".to_owned()),
        usage: Usage {
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: 3,
            cache_write_tokens: 4,
            cost: Some(0.5),
        },
        is_refusal: true,
    };
    let error = provider::Error {
        category: Category::Overloaded,
        message: "busy".to_owned(),
        status: Some(529),
        retry_after: None,
    };
    vec![Err(error), Ok(reply)]
}

fn mask() -> Mask {
    Mask::new([Secret::new(KEY)])
}

async fn record(directory: &std::path::Path, user: &str, replies: Vec<Result<Reply, provider::Error>>) {
    let count = replies.len();
    let fixed = Fixed(Mutex::new(replies.into_iter().rev().collect()));
    let recorder = Recorder::new(directory.to_owned(), mask()).expect("a directory");
    let provider = recorder.record("agent", "p/m", user, Box::new(fixed)).expect("a file");
    for _ in 0..count {
        let _ = provider.complete(&request()).await;
    }
}

#[tokio::test]
async fn what_was_recorded_is_played_word_for_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("new/recordings");
    record(&directory, &format!("ask with {KEY}"), replies()).await;
    let player = Player::new(directory, mask()).expect("recordings");
    let provider = player.play("agent", &format!("ask with {KEY}")).expect("it is there");
    for expected in replies() {
        assert_eq!(provider.complete(&request()).await, expected);
    }
    let error = provider.complete(&request()).await.expect_err("there are no more");
    assert_eq!(error.category, Category::BadRequest);
}

#[tokio::test]
async fn a_recording_holds_no_key() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), KEY, replies()).await;
    let text = std::fs::read_to_string(folder.path().join("agent-0001.jsonl")).expect("a file");
    assert!(!text.contains(KEY) && text.contains("never tell ***"), "{text}");
    assert_eq!(text.lines().count(), 3);
}

#[tokio::test]
async fn stars_and_keys_that_look_like_json_leave_a_recording_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path();
    let mask = || Mask::new([Secret::new("{\"text\":\"an account\"}")]);
    let text = "***bold***, /*** a banner ***/ and a***b";
    let said = |text: &str| Reply { text: text.to_owned(), ..Reply::default() };
    let replies = vec![Ok(said("it is {\"text\":\"an account\"}")), Ok(said(text))];
    let recorder = Recorder::new(directory.to_owned(), mask()).expect("a directory");
    let provider =
        recorder.record("agent", "p/m", text, Box::new(Fixed(Mutex::new(replies)))).expect("a file");
    for _ in 0..2 {
        provider.complete(&request()).await.expect("a reply");
    }
    let player = Player::new(directory.to_owned(), mask()).expect("recordings");
    let provider = player.play("agent", text).expect("it is there");
    assert_eq!(provider.complete(&request()).await, Ok(said(text)));
    assert_eq!(provider.complete(&request()).await, Ok(said("it is ***")));
}

#[tokio::test]
async fn each_recording_is_played_once_and_by_its_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let says = |text: &str| vec![Ok(Reply { text: text.to_owned(), ..Reply::default() })];
    record(folder.path(), "a", says("first")).await;
    record(folder.path(), "b", says("other")).await;
    record(folder.path(), "a", says("second")).await;
    let player = Player::new(folder.path().to_owned(), mask()).expect("recordings");
    for (user, expected) in
        [("b", Some("other")), ("a", Some("first")), ("a", Some("second")), ("a", None), ("c", None)]
    {
        match (player.play("agent", user), expected) {
            (Ok(provider), Some(expected)) => {
                assert_eq!(provider.complete(&request()).await.expect("a reply").text, expected);
            }
            (Err(Error::Missing { agent, .. }), None) => assert_eq!(agent, "agent"),
            (played, _) => panic!("{user}: {:?}", played.is_ok()),
        }
    }
    assert!(player.play("another", "b").is_err());
}

#[tokio::test]
async fn streams_are_recorded_and_played_as_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let reply = Reply { text: "hello".to_owned(), stop_reason: "stop".to_owned(), ..Reply::default() };
    let recorder = Recorder::new(folder.path().to_owned(), mask()).expect("a directory");
    let fixed = Fixed(Mutex::new(vec![Ok(reply.clone())]));
    let provider = recorder.record("agent", "p/m", "u", Box::new(fixed)).expect("a file");
    assert_eq!(drain(provider.stream(&request()).await.expect("a stream")).await, Ok(reply.clone()));
    let player = Player::new(folder.path().to_owned(), mask()).expect("recordings");
    let provider = player.play("agent", "u").expect("it is there");
    let events: Vec<_> = provider.stream(&request()).await.expect("a stream").collect().await;
    assert_eq!(events.first(), Some(&Ok(StreamEvent::Text("hello".to_owned()))));
    assert_eq!(events.len(), 2);
}

#[tokio::test]
async fn calls_of_a_played_stream_are_those_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), "u", replies().into_iter().rev().collect()).await;
    let player = Player::new(folder.path().to_owned(), mask()).expect("recordings");
    let provider = player.play("agent", "u").expect("it is there");
    let reply = drain(provider.stream(&request()).await.expect("a stream")).await.expect("a reply");
    assert_eq!(reply.calls, replies().pop().expect("two").expect("a reply").calls);
}

#[test]
fn what_is_no_recording_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let player = |text: &str| {
        std::fs::write(folder.path().join("x.jsonl"), text).expect("a file");
        Player::new(folder.path().to_owned(), mask()).expect_err("no recording").to_string()
    };
    let head = r#"{"version":1,"agent":"a","model":"m","user":"u"}"#;
    assert!(player("{}").contains("is not a recording: line 1: missing field"));
    assert!(player(&head.replace('1', "2")).contains("line 1: its version is 2"));
    assert!(player(&format!("{head}\nx")).contains("line 2: "));
    let error = Player::new(folder.path().join("gone"), mask()).expect_err("no directory").to_string();
    assert!(error.starts_with("cannot read the recordings in "), "{error}");
}
