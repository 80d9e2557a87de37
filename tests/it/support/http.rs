//! A daemon with an HTTP bridge, and a client that writes what it likes.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use serde_json::Value;

use super::{Daemon, PATIENCE, wait_until};

pub(crate) const ORIGIN: &str = "https://app.example";

/// `axlrd --http` at a free port.
pub(crate) struct Bridge {
    pub(crate) daemon: Daemon,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Bridge {
    pub(crate) fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// The same with more flags and variables.
    pub(crate) fn start_with(flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        let token_file = folder.path().join("token");
        let mut all = vec!["--http", "127.0.0.1:0", "--http-token-file", token_file.to_str().unwrap()];
        all.extend(["--http-allow-origin", ORIGIN]);
        all.extend(flags);
        Self::of(Daemon::start_in(folder, &all, variables), token_file)
    }

    /// A daemon that was started with `--http`.
    pub(crate) fn of(daemon: Daemon, token_file: PathBuf) -> Self {
        let mut port = None;
        wait_until("the daemon says where it serves HTTP", || {
            let log = daemon.log();
            let address = log.split("http://127.0.0.1:").nth(1);
            port = address.and_then(|rest| rest.split(',').next()).and_then(|port| port.parse().ok());
            port.is_some()
        });
        let token = std::fs::read_to_string(token_file).unwrap().trim_end().to_owned();
        Self { daemon, port: port.unwrap(), token }
    }

    pub(crate) fn connect(&self) -> Http {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Http { reader: BufReader::new(stream) }
    }

    /// The head of a good request for a path, without an end: more headers may follow.
    pub(crate) fn head(&self, path: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
            self.port, self.token
        )
    }

    /// A whole good request.
    pub(crate) fn request(&self, path: &str, body: &Value) -> String {
        let body = body.to_string();
        format!("{}Content-Length: {}\r\n\r\n{body}", self.head(path), body.len())
    }

    /// The answer to a request on a connection of its own.
    pub(crate) fn post(&self, path: &str, body: Value) -> Answer {
        self.say(&self.request(path, &body))
    }

    /// The JSON of an answer that must be 200.
    pub(crate) fn exec(&self, body: Value) -> Value {
        let answer = self.post("/exec", body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// The lines of a stream to its end.
    pub(crate) fn spawn(&self, body: Value) -> Vec<Value> {
        let answer = self.post("/spawn", body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The answer to bytes on a connection of their own.
    pub(crate) fn say(&self, request: &str) -> Answer {
        let mut http = self.connect();
        http.send(request);
        http.answer()
    }
}

/// One connection.
pub(crate) struct Http {
    reader: BufReader<TcpStream>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn error(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/json");
        let json = self.json();
        assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
        json["error"].as_str().unwrap().to_owned()
    }
}

impl Http {
    pub(crate) fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).expect("an answer in time");
        assert!(line.ends_with('\n'), "the connection ended: {line:?}");
        line.trim_end().to_owned()
    }

    /// Status and headers.
    pub(crate) fn begin(&mut self) -> (u16, BTreeMap<String, String>) {
        let line = self.line();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            let repeated = headers.insert(name.to_ascii_lowercase(), value.to_owned());
            assert_eq!(repeated, None, "{name} twice");
        }
        (status.unwrap(), headers)
    }

    /// One chunk of a body that comes in chunks; none is the end.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).unwrap();
        assert_eq!(self.line(), "");
        (length > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    /// A whole answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let (status, headers) = self.begin();
        let mut body = String::new();
        if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            while let Some(chunk) = self.chunk() {
                body += &chunk;
            }
        } else if let Some(length) = headers.get("content-length") {
            let mut bytes = vec![0; length.parse().unwrap()];
            self.reader.read_exact(&mut bytes).unwrap();
            body = String::from_utf8(bytes).unwrap();
        } else if status != 204 {
            self.reader.read_to_string(&mut body).unwrap();
        }
        Answer { status, headers, body }
    }

    /// Whether the daemon has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.reader.read(&mut [0]), Ok(0) | Err(_))
    }
}
