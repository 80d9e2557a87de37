//! A server that says exactly what a test tells it to, byte by byte, and a resolver that lies on demand.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::resolver::{Answer, Resolver};

/// One step of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    Pause(Duration),
    /// Says no more and keeps the connection.
    Hang,
}

/// A whole answer; after it the connection is closed.
pub(crate) type Script = Vec<Step>;

/// An answer with a length, as most are.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Script {
    let mut text = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    vec![Step::Bytes((text + "Connection: close\r\n\r\n" + body).into_bytes())]
}

/// An answer whose end is the end of the connection.
pub(crate) fn stream(content_type: &str, steps: impl IntoIterator<Item = Step>) -> Script {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nConnection: close\r\n\r\n");
    std::iter::once(Step::Bytes(head.into_bytes())).chain(steps).collect()
}

pub(crate) fn bytes(text: &str) -> Step {
    Step::Bytes(text.as_bytes().to_vec())
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Answers its nth connection with its nth script, and the rest with the last one.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), scripts).await
    }

    pub(crate) async fn start_at(address: SocketAddr, scripts: impl IntoIterator<Item = Script>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut scripts: VecDeque<Script> = scripts.into_iter().collect();
        let task = tokio::spawn({
            let seen = seen.clone();
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let script =
                        if scripts.len() > 1 { scripts.pop_front().unwrap() } else { scripts[0].clone() };
                    tokio::spawn(serve(stream, script, seen.clone()));
                }
            }
        });
        Self { address, seen, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, script: Script, seen: Arc<Mutex<Vec<Seen>>>) {
    let Ok(request) = read_request(&mut stream).await else { return };
    seen.lock().unwrap().push(request);
    for step in script {
        match step {
            Step::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
            }
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Hang => std::future::pending().await,
        }
    }
    let _ = stream.shutdown().await;
}

pub(crate) async fn read_request(stream: &mut TcpStream) -> io::Result<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Seen { line, headers, body })
}

/// Answers each name with its nth list of addresses at the nth question, and then with the last one.
#[derive(Default)]
pub(crate) struct FakeResolver {
    names: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
}

impl FakeResolver {
    pub(crate) fn new(names: &[(&str, &[&[&str]])]) -> Arc<Self> {
        let names = names
            .iter()
            .map(|(name, answers)| {
                let answers = answers
                    .iter()
                    .map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect())
                    .collect();
                ((*name).to_owned(), answers)
            })
            .collect();
        Arc::new(Self { names: Mutex::new(names) })
    }
}

impl Resolver for FakeResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Answer<'a> {
        let mut names = self.names.lock().unwrap();
        let answer = match names.get_mut(host) {
            None => Err(io::Error::other("no such name")),
            Some(answers) if answers.len() > 1 => Ok(answers.pop_front().unwrap()),
            Some(answers) => Ok(answers[0].clone()),
        };
        Box::pin(std::future::ready(answer))
    }
}
