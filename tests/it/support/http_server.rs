//! A scripted MCP server at an address. It speaks just enough HTTP to break it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method of a POST.
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// Where answers go.
pub(crate) struct Answer(TcpStream);

impl Answer {
    /// A whole answer.
    pub(crate) fn reply(&mut self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        self.raw(&format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ));
    }

    pub(crate) fn json(&mut self, body: &Value) {
        self.reply("200 OK", "Content-Type: application/json\r\n", &body.to_string());
    }

    /// The beginning of a stream of events; it ends with the connection.
    pub(crate) fn stream(&mut self) {
        self.raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    }

    pub(crate) fn event(&mut self, data: &Value) {
        self.raw(&format!("event: message\ndata: {data}\n\n"));
    }

    pub(crate) fn raw(&mut self, text: &str) {
        // Whoever gave up does not read it.
        let _ = self.0.write_all(text.as_bytes());
    }

    /// Waits until the other end has closed.
    pub(crate) fn until_closed(&mut self) {
        let _ = self.0.read(&mut [0]);
    }
}

type Script = dyn Fn(&Asked, &mut Answer) -> bool + Send + Sync;

/// The server. It lives as long as the test's process.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HttpServer {
    /// Starts one. `script` answers what it wants to; the rest is a well-behaved server of 2025-11-25.
    pub(crate) fn start(script: impl Fn(&Asked, &mut Answer) -> bool + Send + Sync + 'static) -> Self {
        Self::listen(Arc::new(script), Box::new(|| false))
    }

    /// Starts one that stops to listen once it is told to, and then poked.
    pub(crate) fn start_until(
        has_ended: impl Fn() -> bool + Send + 'static,
        script: impl Fn(&Asked, &mut Answer) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self::listen(Arc::new(script), Box::new(has_ended))
    }

    /// Connects and leaves; returns when nobody listens any more.
    pub(crate) fn poke(&self) {
        let address = self.url.trim_start_matches("http://").trim_end_matches("/mcp");
        crate::support::wait_until("nobody listens", || TcpStream::connect(address).is_err());
    }

    fn listen(script: Arc<Script>, has_ended: Box<dyn Fn() -> bool + Send>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if has_ended() {
                    return;
                }
                let (script, seen) = (script.clone(), seen.clone());
                std::thread::spawn(move || serve(stream, &*script, &seen));
            }
        });
        Self { url, asked }
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Those with this JSON-RPC method.
    pub(crate) fn posts(&self, method: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.rpc() == method).collect()
    }
}

fn serve(stream: TcpStream, script: &Script, seen: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let Some(asked) = read(&mut reader) else { return };
    seen.lock().unwrap().push(asked.clone());
    let mut answer = Answer(stream);
    if !script(&asked, &mut answer) {
        behave(&asked, &mut answer);
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Asked { method, path, headers, body })
}

/// An answer to a request.
pub(crate) fn result(asked: &Asked, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result})
}

/// The result of a call that says this.
pub(crate) fn words(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// The result of a handshake.
pub(crate) fn initialized(version: &str, capabilities: Value) -> Value {
    let server = json!({"name": "scripted", "version": "1"});
    json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": server})
}

fn behave(asked: &Asked, answer: &mut Answer) {
    let tools = json!({"tools": [
        {"name": "echo", "inputSchema": {"type": "object"}},
        {"name": "region", "inputSchema": {"properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}},
    ]});
    match (asked.method.as_str(), asked.rpc()) {
        ("POST", "initialize") => {
            let result = result(asked, initialized("2025-11-25", json!({"tools": {}})));
            let headers = "Content-Type: application/json\r\nMcp-Session-Id: s1\r\n";
            answer.reply("200 OK", headers, &result.to_string());
        }
        ("POST", "tools/list") => answer.json(&result(asked, tools)),
        ("POST", "tools/call") => answer.json(&result(asked, words("called"))),
        ("POST", _) if asked.body.get("id").is_none() => answer.reply("202 Accepted", "", ""),
        ("DELETE", _) => answer.reply("204 No Content", "", ""),
        _ => answer.reply("405 Method Not Allowed", "", ""),
    }
}
