//! Providers against a server that says exactly what it is told to.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::net::testing::{Script, Server, Step, answer, bytes, read_request, stream};
use crate::provider::testing::request;
use crate::provider::{Category, Error, Provider, Reply, Settings, StreamEvent, connect, drain};
use crate::secret::Secret;

const KEY: &str = "sk-test-0123456789abcdef";

async fn provider(name: &str, server: &Server) -> Box<dyn Provider> {
    let settings = Settings {
        provider: name.to_owned(),
        base_url: Some(server.url()),
        key: (name != "local").then(|| Secret::new(KEY)),
        region: None,
    };
    connect(&settings).await.unwrap()
}

async fn complete(name: &str, script: Script) -> Result<Reply, Error> {
    let server = Server::start([script]).await;
    provider(name, &server).await.complete(&request()).await
}

const REPLY: &str = r#"{"model":"m","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;

#[tokio::test]
async fn requests_carry_their_headers() {
    for (name, line, key_header, key, others) in [
        ("openai", "POST /v1/chat/completions HTTP/1.1", "authorization", format!("Bearer {KEY}"), ""),
        (
            "anthropic",
            "POST /v1/messages HTTP/1.1",
            "x-api-key",
            KEY.to_owned(),
            "anthropic-version: 2023-06-01",
        ),
        ("ollama", "POST /api/chat HTTP/1.1", "authorization", format!("Bearer {KEY}"), ""),
        ("someone", "POST /v1/chat/completions HTTP/1.1", "authorization", format!("Bearer {KEY}"), ""),
    ] {
        let server = Server::start([answer(500, &[], "")]).await;
        provider(name, &server).await.complete(&request()).await.unwrap_err();
        let seen = &server.seen()[0];
        assert_eq!(seen.line, line);
        assert_eq!(seen.headers[key_header], key, "{name}");
        assert_eq!(seen.headers["content-type"], "application/json");
        assert!(seen.headers["user-agent"].starts_with("axe/"));
        if let Some((header, value)) = others.split_once(": ") {
            assert_eq!(seen.headers[header], value);
        }
    }
    let server = Server::start([answer(200, &[], REPLY)]).await;
    assert_eq!(provider("local", &server).await.complete(&request()).await.unwrap().text, "hello");
    assert!(!server.seen()[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn statuses_become_errors_without_keys() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}."}}}}"#);
    let error = complete("openai", answer(401, &[], &body)).await.unwrap_err();
    assert_eq!(error.to_string(), "auth: Incorrect API key provided: ***.");
    assert_eq!(error.status, Some(401));

    let error = complete("openai", answer(429, &[("Retry-After", "7")], "")).await.unwrap_err();
    assert_eq!((error.category, error.retry_after), (Category::RateLimit, Some(Duration::from_secs(7))));

    assert_eq!(complete("openai", answer(529, &[], "")).await.unwrap_err().category, Category::Server);
    assert_eq!(complete("anthropic", answer(529, &[], "")).await.unwrap_err().category, Category::Overloaded);
    assert_eq!(
        complete("ollama", answer(404, &[], r#"{"error":"model 'x' not found"}"#))
            .await
            .unwrap_err()
            .to_string(),
        "bad_request: model 'x' not found"
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::start([answer(200, &[], REPLY)]).await;
    let error = complete("openai", answer(307, &[("Location", &elsewhere.url())], "")).await.unwrap_err();
    assert_eq!((error.category, error.status), (Category::Server, Some(307)));
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn broken_answers_are_the_servers_fault() {
    for (script, expected) in [
        (answer(200, &[], "<html>"), "server: failed to parse response: expected value at line 1 column 1"),
        (
            answer(200, &[], ""),
            "server: failed to parse response: EOF while parsing a value at line 1 column 0",
        ),
        (
            vec![bytes("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"cho")],
            "server: failed to read response: ",
        ),
        (vec![bytes("HTTP/1.1 200 OK\r\nContent-Le")], "server: cannot reach http://127.0.0.1:"),
        (vec![], "server: cannot reach http://127.0.0.1:"),
        (vec![bytes("not http\r\n\r\n")], "server: cannot reach http://127.0.0.1:"),
    ] {
        let error = complete("openai", script).await.unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn an_error_whose_body_breaks_off_is_still_an_error() {
    let cut = vec![bytes("HTTP/1.1 429 Slow\r\nContent-Length: 99\r\nRetry-After: 1\r\n\r\n{\"err")];
    let error = complete("openai", cut).await.unwrap_err();
    assert_eq!(error.to_string(), "rate_limit: Too Many Requests");
}

#[tokio::test]
async fn where_nobody_listens_is_said_without_a_password() {
    let settings = |provider: &str, url: &str| Settings {
        provider: provider.to_owned(),
        base_url: Some(url.to_owned()),
        ..Settings::default()
    };
    let ollama = connect(&settings("ollama", "http://127.0.0.1:1")).await.unwrap();
    assert_eq!(
        ollama.complete(&request()).await.unwrap_err().to_string(),
        "server: cannot reach http://127.0.0.1:1: Connection refused (os error 111) (is Ollama running? `ollama serve` starts it)"
    );
    let local = connect(&settings("local", "http://user:hunter22@127.0.0.1:1/v1")).await.unwrap();
    assert_eq!(
        local.complete(&request()).await.unwrap_err().to_string(),
        "server: cannot reach http://127.0.0.1:1: Connection refused (os error 111)"
    );
}

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The reply of a stream, and what was said before it broke off.
async fn streamed(script: Script) -> Result<Reply, (String, Error)> {
    let server = Server::start([script]).await;
    let provider = provider("openai", &server).await;
    let mut stream = provider.stream(&request()).await.map_err(|error| (String::new(), error))?;
    let mut drain = crate::provider::Drain::default();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => drain.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the end");
                return Err((drain.text().to_owned(), error));
            }
        }
    }
    drain.finish().map_err(|error| (String::new(), error))
}

#[tokio::test]
async fn streams_are_read_to_their_end() {
    let script = stream("text/event-stream", [bytes(&delta("Hel")), bytes(&delta("lo")), bytes(END)]);
    let reply = streamed(script).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop_reason.as_str(), reply.model), ("Hello", "stop", None));
}

#[tokio::test]
async fn slow_drips_make_the_same_reply() {
    let text = delta("drip") + END;
    let drips = text
        .as_bytes()
        .chunks(9)
        .flat_map(|piece| [Step::Bytes(piece.to_vec()), Step::Pause(Duration::from_millis(1))]);
    assert_eq!(streamed(stream("text/event-stream", drips)).await.unwrap().text, "drip");
}

#[tokio::test]
async fn streams_that_break_off_say_so_after_what_they_said() {
    let early = streamed(stream("text/event-stream", [bytes(&delta("half"))])).await;
    assert_eq!(early, Err(("half".to_owned(), Error::server("the stream ended early"))));

    let cut = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = delta("half");
    let chunk = format!("{:x}\r\n{chunk}\r\n", chunk.len());
    let (text, error) = streamed(vec![bytes(cut), bytes(&chunk)]).await.unwrap_err();
    assert_eq!((text.as_str(), error.category), ("half", Category::Server));
    assert!(error.message.starts_with("stream read error: "), "{error}");

    let failing = format!("data: {{\"error\":{{\"message\":\"key {KEY} expired\",\"code\":401}}}}\n\n");
    let (text, error) =
        streamed(stream("text/event-stream", [bytes(&delta("half")), bytes(&failing)])).await.unwrap_err();
    assert_eq!((text.as_str(), error.to_string().as_str()), ("half", "auth: key *** expired"));
}

#[tokio::test]
async fn a_stream_is_refused_like_any_request() {
    let (_, error) = streamed(answer(429, &[("Retry-After", "3")], "")).await.unwrap_err();
    assert_eq!((error.category, error.retry_after), (Category::RateLimit, Some(Duration::from_secs(3))));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let script = answer(200, &[("Content-Type", "application/json; charset=utf-8")], REPLY);
    assert_eq!(streamed(script).await.unwrap().text, "hello");
}

#[tokio::test]
async fn a_line_far_beyond_64_kib_is_no_trouble() {
    let long = "x".repeat(1_000_000);
    let script = stream("text/event-stream", [bytes(&delta(&long)), bytes(END)]);
    assert_eq!(streamed(script).await.unwrap().text.len(), 1_000_000);
}

#[tokio::test]
async fn a_server_that_never_hangs_up_is_not_waited_for() {
    let script = stream("text/event-stream", [bytes(&delta("x")), bytes(END), Step::Hang]);
    let start = Instant::now();
    assert_eq!(streamed(script).await.unwrap().text, "x");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn an_endless_line_is_given_up() {
    let endless = (0..20).map(|_| Step::Bytes(vec![b'x'; 1024 * 1024]));
    let (_, error) = streamed(stream("text/event-stream", endless)).await.unwrap_err();
    assert_eq!(error.to_string(), "server: an event of the stream exceeds 16777216 bytes");
}

#[tokio::test]
async fn ollama_streams_lines() {
    let lines = concat!(
        r#"{"message":{"content":"hi"},"done":false}"#,
        "\n",
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":1}"#,
        "\n",
    );
    for content_type in ["application/x-ndjson", "application/json"] {
        let server = Server::start([stream(content_type, [bytes(lines)])]).await;
        let provider = provider("ollama", &server).await;
        let reply = drain(provider.stream(&request()).await.unwrap()).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.usage.output_tokens), ("hi", 1));
    }
}

#[tokio::test]
async fn dropping_a_stream_closes_its_connection() {
    let server = Server::start([stream("text/event-stream", [bytes(&delta("x")), Step::Hang])]).await;
    let provider = provider("openai", &server).await;
    let mut stream = provider.stream(&request()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(StreamEvent::Text("x".to_owned()))));
    drop(stream);
}

#[tokio::test]
async fn turns_share_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = Some(format!("http://{}", listener.local_addr().unwrap()));
    // One connection and no more; the end of each body comes a little after the end of its reply.
    let serving = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        drop(listener);
        for _ in 0..3 {
            read_request(&mut connection).await.unwrap();
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            let body = delta("x") + END;
            connection.write_all(format!("{head}{:x}\r\n{body}\r\n", body.len()).as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            connection.write_all(b"0\r\n\r\n").await.unwrap();
        }
    });
    let settings = Settings { provider: "local".to_owned(), base_url, ..Settings::default() };
    let provider = connect(&settings).await.unwrap();
    for _ in 0..3 {
        assert_eq!(drain(provider.stream(&request()).await.unwrap()).await.unwrap().text, "x");
    }
    serving.await.unwrap();
}
