use std::collections::BTreeMap;

use axum::http::Method;
use axum::routing::post;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::capacity::Capacity;
use crate::listen::http::{Admission, Endpoint};
use crate::runtime::{Config, Containment, Durability, PluginSetup};

const SHORT: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(60);

/// A server whose one bound is short, with an endpoint that answers with as many bytes as its body has, times 64.
async fn serve(bounds: Bounds) -> (Runtime, SocketAddr) {
    let config = Config {
        roots: Vec::new(),
        env: BTreeMap::new(),
        plugins: PluginSetup::default(),
        durability: Durability::Synced,
        drain: Duration::ZERO,
        containment: Arc::new(Containment::group()),
        capacity: Capacity::default(),
    };
    let runtime = Runtime::start(config).await.unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let mut listener = HttpListener::bind(address, Reach::Loopback).await.unwrap();
    listener.bounds = bounds;
    let address = listener.address();
    let endpoint = Endpoint {
        path: "/",
        methods: &[Method::POST],
        needs_token: false,
        takes_json: false,
        allow_headers: "",
        expose_headers: None,
    };
    let admission = Arc::new(Admission::new(Vec::new(), Vec::new()).unwrap());
    let guard = Guard::new(admission, address.port(), vec![endpoint]);
    let large = async |request: axum::extract::Request| match body::read(request.into_body()).await {
        Ok(bytes) => Response::new(axum::body::Body::from(bytes.repeat(64))),
        Err(refused) => *refused,
    };
    let served = runtime.clone();
    tokio::spawn(async move { listener.serve(&served, guard, Router::new().route("/", post(large))).await });
    (runtime, address)
}

fn patient() -> Bounds {
    Bounds { connections: 2, excess: 2, head: LONG, body: LONG, idle: LONG, stall: LONG }
}

/// What the server answers until it closes.
async fn answer(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let _ = tokio::time::timeout(Duration::from_secs(10), read).await.expect("the connection is closed");
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_connection_that_asks_nothing_is_closed() {
    let (_runtime, address) = serve(Bounds { idle: SHORT, ..patient() }).await;
    assert_eq!(answer(address, "").await, "");
    let answered = answer(address, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").await;
    assert!(answered.starts_with("HTTP/1.1 200 OK"), "{answered}");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let (_runtime, address) = serve(Bounds { head: SHORT, ..patient() }).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let begun = Instant::now();
    let drip = async {
        loop {
            if stream.write_all(b"P").await.is_err() || begun.elapsed() > Duration::from_secs(5) {
                return begun.elapsed();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let took = drip.await;
    assert!(took < Duration::from_secs(2), "a byte now and then kept the connection open for {took:?}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_answered_with_408() {
    let (_runtime, address) = serve(Bounds { body: SHORT, ..patient() }).await;
    let answered =
        answer(address, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nfive!").await;
    assert!(answered.starts_with("HTTP/1.1 408 Request Timeout"), "{answered}");
    assert!(answered.ends_with("{\"error\":\"the body did not come within 0.15 s\"}"), "{answered}");
}

#[tokio::test]
async fn an_answer_that_nobody_takes_is_given_up() {
    let (runtime, address) = serve(Bounds { stall: SHORT, ..patient() }).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = "x".repeat(1_000_000);
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let closed = async {
        while runtime.traffic().connections() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("the connection is given up");
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let (runtime, address) = serve(patient()).await;
    let request = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    let held = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    let answered = answer(address, request).await;
    assert!(answered.starts_with("HTTP/1.1 503 "), "{answered}");
    assert!(answered.ends_with("\r\n\r\n{\"error\":\"overloaded\"}"), "{answered}");
    drop(held);
    while runtime.traffic().connections() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
}

#[tokio::test]
async fn a_flood_is_not_held() {
    let (runtime, address) = serve(patient()).await;
    let mut held = Vec::new();
    for number in 1..=4 {
        held.push(TcpStream::connect(address).await.unwrap());
        while runtime.traffic().connections() < number {
            tokio::task::yield_now().await;
        }
    }
    let begun = Instant::now();
    let mut more = TcpStream::connect(address).await.unwrap();
    assert!(matches!(more.read(&mut [0]).await, Ok(0) | Err(_)));
    assert!(begun.elapsed() < LINGER, "it was held for {:?}", begun.elapsed());
}

#[tokio::test]
async fn only_loopback_may_be_bound_unless_more_was_asked_for() {
    let any = "0.0.0.0:0".parse().unwrap();
    assert!(matches!(HttpListener::bind(any, Reach::Loopback).await, Err(HttpBindError::Remote { .. })));
    HttpListener::bind(any, Reach::Remote).await.unwrap();
    HttpListener::bind("127.9.9.9:0".parse().unwrap(), Reach::Loopback).await.unwrap();
}
