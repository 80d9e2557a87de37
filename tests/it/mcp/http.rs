//! `axlrd --mcp-http`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{LEGACY, MODERN, declared, lingering};
use crate::support::plugin::Manifests;
use crate::support::{Daemon, PATIENCE, is_alive, pid_in, wait_until};

/// A daemon with two roots and the door, at a port that the kernel chose.
pub(super) struct Served {
    daemon: Daemon,
    pub(super) address: String,
    pub(super) token: String,
}

impl Served {
    pub(super) fn start(flags: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (token, other) = (path("token"), path("other"));
        for root in [path("root"), other.clone()] {
            std::fs::create_dir(root).unwrap();
        }
        let [token, other] = [token, other].map(|path| path.to_str().unwrap().to_owned());
        let door = ["--mcp-http", "127.0.0.1:0", "--http-token-file", &token, "--root", &other];
        let flags: Vec<&str> = door.iter().chain(flags).copied().collect();
        let daemon = Daemon::start_in(folder, &flags, &[]);
        let mut address = None;
        wait_until("the door says where it is", || {
            let log = daemon.log();
            address = log
                .split("serving MCP on http://")
                .nth(1)
                .and_then(|rest| Some(rest.split_once('/')?.0.to_owned()));
            address.is_some()
        });
        let token = std::fs::read_to_string(token).unwrap_or_default().trim().to_owned();
        Self { daemon, address: address.unwrap(), token }
    }

    fn root(&self) -> PathBuf {
        self.daemon.root()
    }

    fn other(&self) -> String {
        self.daemon.folder().canonicalize().unwrap().join("other").display().to_string()
    }

    /// Sends a request and returns the connection.
    fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        let usual = [
            ("authorization", format!("Bearer {}", self.token)),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        for (name, value) in &usual {
            if !headers.iter().any(|(given, _)| given == name) {
                head += &format!("{name}: {value}\r\n");
            }
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
        stream
    }

    fn ask(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.ask_with(method, headers, &body.to_string())
    }

    fn ask_with(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = String::new();
        self.send(method, headers, body).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        Answer { head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn handshake(&self) -> Session<'_> {
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
        let answer = self.ask("POST", &[], &body);
        assert_eq!(answer.status(), 200, "{}", answer.body);
        let id = answer.header("mcp-session-id").unwrap();
        let session = Session { served: self, id };
        let told = session.ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status(), 202);
        session
    }

    /// A call that stands alone.
    fn call_alone(&self, tool: &str, arguments: Value) -> Value {
        let (headers, body) = alone(tool, arguments);
        self.ask("POST", &headers.each_ref().map(|(name, value)| (*name, value.as_str())), &body).message()
    }
}

fn alone(tool: &str, arguments: Value) -> ([(&'static str, String); 3], Value) {
    let headers = [
        ("mcp-protocol-version", MODERN.to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", tool.to_owned()),
    ];
    let params = json!({"_meta": declared(), "name": tool, "arguments": arguments});
    (headers, json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
}

struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.to_owned()))
    }

    /// The message of an answer with one, as JSON or as a stream of events.
    fn message(&self) -> Value {
        let message =
            |text: &str| serde_json::from_str::<Value>(text).ok().filter(|value| value["id"].is_u64());
        let lines = self.body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        lines.filter_map(message).next().unwrap_or_else(|| panic!("{}\n\n{}", self.head, self.body))
    }
}

struct Session<'s> {
    served: &'s Served,
    id: String,
}

impl Session<'_> {
    fn ask(&self, body: &Value) -> Answer {
        self.served.ask("POST", &[("mcp-session-id", &self.id), ("mcp-protocol-version", LEGACY)], body)
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.ask(&body).message()["result"].clone()
    }
}

#[test]
fn a_session_calls_tools_in_any_root_until_it_is_deleted() {
    let served = Served::start(&[]);
    let session = served.handshake();
    std::fs::write(served.root().join("f"), "one").unwrap();
    let read = session.call("read_file", json!({"path": "f"}));
    assert_eq!(read["structuredContent"]["content"], "one", "{read}");
    let other = served.other();
    let wrote = json!({"root": other, "path": "g", "content": "two", "mode": "create"});
    assert_eq!(session.call("write_file", wrote)["isError"], false);
    assert_eq!(std::fs::read_to_string(format!("{other}/g")).unwrap(), "two");
    let wrong = session.call("read_file", json!({"root": "/", "path": "f"}));
    assert!(wrong["content"][0]["text"].as_str().unwrap().contains("root must be one of"), "{wrong}");
    let deleted = served.ask("DELETE", &[("mcp-session-id", &session.id)], &Value::Null);
    assert_eq!(deleted.status(), 204, "{}", deleted.head);
    assert_eq!(session.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status(), 404);
    let again = served.ask("DELETE", &[("mcp-session-id", &session.id)], &Value::Null);
    assert_eq!(again.status(), 404, "{}", again.head);
}

#[test]
fn a_call_in_a_session_can_be_cancelled() {
    let served = Served::start(&[]);
    let session = served.handshake();
    let params = json!({"name": "run_program", "arguments": lingering()});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let headers = [("mcp-session-id", session.id.as_str())];
    let _waiting = served.send("POST", &headers, &body);
    let (parent, child) = (pid_in(&served.root().join("parent")), pid_in(&served.root().join("child")));
    let told = session
        .ask(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}));
    assert_eq!(told.status(), 202);
    wait_until("the tree is dead", || !is_alive(parent) && !is_alive(child));
}

#[test]
fn a_deleted_session_takes_its_programs_along() {
    let served = Served::start(&[]);
    let session = served.handshake();
    let params = json!({"name": "run_program", "arguments": lingering()});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let headers = [("mcp-session-id", session.id.as_str())];
    let _waiting = served.send("POST", &headers, &body);
    let (parent, child) = (pid_in(&served.root().join("parent")), pid_in(&served.root().join("child")));
    let began = Instant::now();
    assert_eq!(served.ask("DELETE", &headers, &Value::Null).status(), 204);
    wait_until("the tree is dead", || !is_alive(parent) && !is_alive(child));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn a_request_that_stands_alone_dies_with_its_client() {
    let served = Served::start(&[]);
    let answer = served.call_alone("list_files", json!({}));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    for with_progress in [false, true] {
        let (headers, mut body) = alone("run_program", lingering());
        if with_progress {
            body["params"]["_meta"]["progressToken"] = json!("p");
        }
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        let stream = served.send("POST", &headers, &body.to_string());
        let (parent, child) = (pid_in(&served.root().join("parent")), pid_in(&served.root().join("child")));
        if with_progress {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap().contains("notifications/progress")));
        }
        drop(stream);
        wait_until("the tree is dead", || !is_alive(parent) && !is_alive(child));
        std::fs::remove_file(served.root().join("parent")).unwrap();
        std::fs::remove_file(served.root().join("child")).unwrap();
    }
}

#[test]
fn where_requests_stand_alone_a_handshake_is_no_method() {
    let served = Served::start(&[]);
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "initialize")];
    let params = json!({"_meta": declared()});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let answer = served.ask("POST", &headers, &body);
    assert_eq!(
        (answer.status(), &answer.message()["error"]["code"]),
        (404, &json!(-32601)),
        "{}",
        answer.body
    );
}

#[test]
fn the_guard_of_every_door_stands_before_it() {
    let served = Served::start(&["--http-allow-origin", "https://app.example"]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let status = |headers: &[(&str, &str)]| served.ask("POST", headers, &ping).status();
    assert_eq!(status(&[("authorization", "")]), 401);
    assert_eq!(status(&[("authorization", "Bearer wrong")]), 401);
    assert_eq!(status(&[("origin", "https://evil.example")]), 403);
    assert_eq!(status(&[("content-type", "text/plain")]), 415);
    assert_eq!(served.ask("PUT", &[], &ping).status(), 405);
    let preflight =
        served.ask("OPTIONS", &[("origin", "https://app.example"), ("authorization", "")], &Value::Null);
    assert_eq!(preflight.status(), 204);
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("mcp-session-id"));
}

#[test]
fn without_a_token_only_on_loopback() {
    let served = Served::start(&["--mcp-http-no-token"]);
    assert_eq!(served.token, "");
    let (headers, body) = alone("list_files", json!({}));
    let mut headers = headers.each_ref().map(|(name, value)| (*name, value.as_str())).to_vec();
    headers.push(("authorization", ""));
    assert_eq!(served.ask("POST", &headers, &body).status(), 200);
    let refuse = |flags: &[&str]| {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("root")).unwrap();
        let ended = Daemon::command(folder.path()).args(flags).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{flags:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    assert!(refuse(&["--mcp-http", "0.0.0.0:0", "--mcp-http-no-token"]).contains("loopback"));
    let remote = ["--mcp-http", "127.0.0.1:0", "--mcp-http-no-token", "--http-allow-remote"];
    assert!(refuse(&remote).contains("--http-allow-remote"));
    assert!(refuse(&["--mcp-read-only"]).contains("--mcp-http"));
}

#[test]
fn a_stop_ends_streams_and_programs() {
    let mut served = Served::start(&["--drain", "0"]);
    let session = served.handshake();
    let id = session.id.clone();
    let news = served.send("GET", &[("mcp-session-id", &id)], "");
    let params = json!({"name": "run_program", "arguments": lingering()});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let _call = served.send("POST", &[("mcp-session-id", &id)], &body);
    let (parent, child) = (pid_in(&served.root().join("parent")), pid_in(&served.root().join("child")));
    served.daemon.signal(libc::SIGTERM);
    assert!(served.daemon.wait().success());
    assert!(!is_alive(parent) && !is_alive(child));
    drop(news);
}

#[test]
fn a_bad_message_is_answered_as_on_stdio() {
    let served = Served::start(&[]);
    let session = served.handshake();
    let send = |body: &str| served.ask_with("POST", &[("mcp-session-id", &session.id)], body);
    let table = [
        ("", -32700),
        ("garbage", -32700),
        ("[]", -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
    ];
    for (body, code) in table {
        let answer = send(body);
        let kind = answer.header("content-type");
        assert_eq!((answer.status(), kind.as_deref()), (400, Some("application/json")), "{body}");
        let error: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(error["error"]["code"], code, "{body}: {error}");
        assert!(error.get("id").is_none(), "{error}");
    }
    let table = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#, -32602),
    ];
    for (body, code) in table {
        let answer = send(body).message();
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
    }
}

#[test]
fn a_mistake_in_the_arguments_is_for_the_model_over_http_too() {
    let served = Served::start(&[]);
    let session = served.handshake();
    let table = [
        ("[]".to_owned(), "arguments must be an object"),
        ("\"x\"".to_owned(), "arguments must be an object"),
        (r#"{"path":"a","path":"b"}"#.to_owned(), "path"),
        (
            format!(r#"{{"root":{:?},"pth":"a"}}"#, served.other()),
            "arguments of read_file: unknown member \"pth\"",
        ),
    ];
    for (arguments, expected) in table {
        let params = format!(r#"{{"name":"read_file","arguments":{arguments}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let result = served.ask_with("POST", &[("mcp-session-id", &session.id)], &body).message();
        let result = &result["result"];
        assert_eq!(result["isError"], true, "{arguments}: {result}");
        let told = result["content"][0]["text"].as_str().unwrap();
        assert!(told.starts_with("invalid_request: ") && told.contains(expected), "{arguments}: {told}");
    }
}

#[test]
fn a_plugins_argument_may_be_called_root() {
    let manifests = Manifests::new();
    let served = Served::start(&["--mcp-with-plugins", "--plugin", &manifests.stdio("demo", "plain")]);
    let echoed = served.handshake().call("demo__echo", json!({"root": "/mine"}));
    assert_eq!(echoed["structuredContent"], json!({"root": "/mine"}), "{echoed}");
}
