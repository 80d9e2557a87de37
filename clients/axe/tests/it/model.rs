//! A model behind HTTP that follows a script, in the words of Chat Completions.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Home;

/// What the model answers to its n-th request.
type Script = dyn Fn(usize, &Value) -> Answer + Send + Sync;

/// A server on this machine. Its threads end with the test's process.
pub(crate) struct Model {
    port: u16,
    log: Arc<Mutex<Vec<Request>>>,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What is sent back, in pieces with pauses between them.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: String,
    pieces: Vec<String>,
    pause: Duration,
    is_cut: bool,
}

impl Model {
    pub(crate) fn start(script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let model = Self { port: listener.local_addr().unwrap().port(), log: Arc::default() };
        let (script, log): (Arc<Script>, _) = (Arc::new(script), model.log.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, log) = (script.clone(), log.clone());
                // A client that leaves in the middle is no fault here.
                std::thread::spawn(move || drop(serve(stream, &*script, &log)));
            }
        });
        model
    }

    /// One that answers each request with the next of these, and the last again and again.
    pub(crate) fn saying(answers: Vec<Answer>) -> Self {
        Self::start(move |n, _| answers[n.min(answers.len() - 1)].clone())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Makes it the provider `local`, which needs no key.
    pub(crate) fn configure(&self, home: &Home) {
        home.write("config/axe/config.toml", &format!("[providers.local]\nbase_url = \"{}\"\n", self.url()));
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }
}

impl Answer {
    fn new(status: u16, kind: &str, pieces: Vec<String>) -> Self {
        let headers = format!("Content-Type: {kind}\r\n");
        Self { status, headers, pieces, pause: Duration::ZERO, is_cut: false }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", vec![body.to_string()])
    }

    /// A reply of text alone, of 7 and 3 tokens.
    pub(crate) fn says(text: &str) -> Self {
        Self::reply(json!({ "content": text }), "stop")
    }

    /// A reply that asks for tools.
    pub(crate) fn calls(text: &str, calls: &[(&str, Value)]) -> Self {
        let calls: Vec<_> = calls.iter().enumerate().map(|(n, (name, arguments))| {
            json!({ "id": format!("c{n}"), "type": "function", "function": { "name": name, "arguments": arguments.to_string() } })
        }).collect();
        Self::reply(json!({ "content": text, "tool_calls": calls }), "tool_calls")
    }

    fn reply(message: Value, reason: &str) -> Self {
        Self::json(
            200,
            &json!({
                "model": "m-1",
                "choices": [{ "message": message, "finish_reason": reason }],
                "usage": { "prompt_tokens": 7, "completion_tokens": 3 },
            }),
        )
    }

    /// A stream of these chunks, whole.
    pub(crate) fn stream(chunks: &[Value]) -> Self {
        let mut pieces: Vec<_> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        pieces.push("data: [DONE]\n\n".to_owned());
        Self::new(200, "text/event-stream", pieces)
    }

    /// A stream of these words, of 7 and 3 tokens.
    pub(crate) fn streams(words: &[&str]) -> Self {
        let mut chunks: Vec<_> =
            words.iter().map(|word| json!({ "choices": [{ "delta": { "content": word } }] })).collect();
        chunks.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
        chunks.push(json!({ "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 3 } }));
        Self::stream(&chunks)
    }

    pub(crate) fn header(mut self, line: &str) -> Self {
        self.headers += &format!("{line}\r\n");
        self
    }

    /// Waits before each piece.
    pub(crate) fn slowly(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Ends the connection after so many pieces.
    pub(crate) fn cut_after(mut self, pieces: usize) -> Self {
        self.pieces.truncate(pieces);
        self.is_cut = true;
        self
    }
}

fn serve(stream: TcpStream, script: &Script, log: &Mutex<Vec<Request>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let number = {
            let mut log = log.lock().unwrap();
            log.push(Request { head, body: body.clone() });
            log.len() - 1
        };
        let answer = script(number, &body);
        let stream = reader.get_mut();
        write!(
            stream,
            "HTTP/1.1 {} X\r\n{}Transfer-Encoding: chunked\r\n\r\n",
            answer.status, answer.headers
        )?;
        for piece in &answer.pieces {
            std::thread::sleep(answer.pause);
            write!(stream, "{:x}\r\n{piece}\r\n", piece.len())?;
            stream.flush()?;
        }
        if answer.is_cut {
            return Ok(());
        }
        write!(stream, "0\r\n\r\n")?;
    }
}
