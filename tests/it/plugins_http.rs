//! Plugins at an address: what is sent, how often, and where to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::plugins_life::{run, worker};
use crate::support::http_server::{Answer, Asked, HttpServer, initialized, result, words};
use crate::support::plugin::{Manifests, call, refused, text};
use crate::support::{Daemon, code, wait_until};

fn daemon(url: &str) -> (Manifests, Daemon) {
    let manifests = Manifests::new();
    let manifest = manifests.http("h", url);
    let daemon = Daemon::start_with(&["--plugin", &manifest], &[]);
    (manifests, daemon)
}

/// A server whose calls this answers.
fn calls(script: impl Fn(&Asked, &mut Answer) + Send + Sync + 'static) -> HttpServer {
    HttpServer::start(move |asked, answer| {
        let is_call = asked.rpc() == "tools/call";
        if is_call {
            script(asked, answer);
        }
        is_call
    })
}

#[test]
fn headers_session_and_revision_go_with_every_request() {
    let server = HttpServer::start(|_, _| false);
    let manifests = Manifests::new();
    let manifest = manifests.http("h", &server.url);
    let key = manifests.folder().join("key");
    std::fs::write(&key, "Bearer secret-in-a-file\n").unwrap();
    let authorization = format!("h:Authorization=@{}", key.display());
    let flags = ["--plugin", &manifest, "--plugin-header", &authorization, "--plugin-header", "h:X-Key=$KEY"];
    let mut daemon =
        Daemon::start_with(&[&flags[..], &["--log", "debug"]].concat(), &[("KEY", "secret-in-a-variable")]);
    let mut wire = daemon.connect();
    assert_eq!(text(&wire.call("plugins.call", call("h", "echo", json!({"a": 1})))), "called");
    assert_eq!(wire.output("plugins.list", json!({}))["tools"][0]["tool_name"], "echo");
    daemon.signal(libc::SIGTERM);
    daemon.wait();
    // The SDK asks for a stream of changes whenever there is a session; here it is told that there is none.
    let asked: Vec<Asked> = server.asked().into_iter().filter(|asked| asked.method != "GET").collect();
    let methods: Vec<&str> = asked.iter().map(|asked| asked.rpc()).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/list", "tools/call", ""]);
    for (place, asked) in asked.iter().enumerate() {
        assert_eq!(asked.header("authorization"), Some("Bearer secret-in-a-file"));
        assert_eq!(asked.header("x-key"), Some("secret-in-a-variable"));
        assert_eq!(asked.header("mcp-session-id"), (place > 0).then_some("s1"));
        assert_eq!(asked.header("mcp-protocol-version"), (place > 0).then_some("2025-11-25"));
        assert_eq!(asked.header("mcp-method"), None);
        assert_eq!(asked.path, "/mcp");
    }
    assert_eq!(asked[4].method, "DELETE");
    assert_eq!(asked[3].header("content-type"), Some("application/json"));
    assert!(asked[3].header("accept").unwrap().contains("text/event-stream"));
    assert!(!daemon.log().contains("secret-in"), "{}", daemon.log());
}

#[test]
fn an_answer_may_be_a_stream_with_progress_and_questions() {
    let server = calls(|asked, answer| {
        answer.stream();
        answer.raw(": hello\n\n");
        let token = &asked.body["params"]["_meta"]["progressToken"];
        for step in 0..3 {
            let params = json!({"progressToken": token, "progress": step});
            answer.event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        }
        answer.event(&json!({"jsonrpc": "2.0", "id": "q", "method": "ping"}));
        answer.event(&result(asked, words("streamed")));
        answer.until_closed();
    });
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    let id = wire.start_with("plugins.call", call("h", "echo", json!({})), json!({"stream": true}));
    let messages = wire.until_response(&id);
    assert_eq!(text(&messages[3]), "streamed");
    assert!(messages[..3].iter().enumerate().all(|(step, event)| event["progress"] == json!(step as f64)));
    wait_until("the ping is answered", || {
        server.asked().iter().any(|asked| asked.body == json!({"jsonrpc": "2.0", "id": "q", "result": {}}))
    });
}

#[test]
fn a_call_is_sent_once_whatever_becomes_of_its_connection() {
    for (breaks, reason) in [
        ("at once", "the connection to it broke"),
        ("in the header", "the connection to it broke"),
        ("in the body", "the connection to it broke"),
        ("in the stream", "ended the stream before its answer"),
        ("with 500", "HTTP status 500 Internal Server Error: sorry"),
        ("with 503", "HTTP status 503"),
        (
            "with a redirect",
            "redirects to /other (HTTP status 307 Temporary Redirect), which is not followed",
        ),
        ("with nothing", "answered nothing"),
        ("with html", "the media type \"text/html\""),
        ("with garbage", "no JSON-RPC"),
        ("with another answer", "to another request"),
    ] {
        let server = calls(move |asked, answer| match breaks {
            "in the header" => answer.raw("HTTP/1.1 200 OK\r\nContent-Ty"),
            "in the body" => {
                answer.raw(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"json",
                );
            }
            "in the stream" => {
                answer.stream();
                answer.raw("data: {\"jsonrpc\":");
            }
            "with 500" => answer.reply("500 Internal Server Error", "", "sorry"),
            "with 503" => answer.reply("503 Service Unavailable", "Retry-After: 0\r\n", ""),
            "with a redirect" => answer.reply("307 Temporary Redirect", "Location: /other\r\n", ""),
            "with nothing" => answer.reply("202 Accepted", "", ""),
            "with html" => answer.reply("200 OK", "Content-Type: text/html\r\n", "<p>hello"),
            "with garbage" => answer.reply("200 OK", "Content-Type: application/json\r\n", "{"),
            "with another answer" => {
                let mut other = result(asked, words("other"));
                other["id"] = json!(999);
                answer.json(&other);
            }
            _ => {}
        });
        let (_manifests, daemon) = daemon(&server.url);
        let mut wire = daemon.connect();
        let response = wire.call("plugins.call", call("h", "echo", json!({})));
        let message = refused(&response, "plugin_failed");
        assert!(message.contains(reason) && message.contains("effects may remain"), "{breaks}: {message}");
        // The server still stands.
        assert_eq!(wire.output("plugins.list", json!({}))["tools"][0]["tool_name"], "echo", "{breaks}");
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(server.posts("tools/call").len(), 1, "{breaks}");
    }
}

#[test]
fn a_session_that_has_ended_fails_the_call_and_the_next_one_begins_anew() {
    let has_ended = AtomicBool::new(false);
    let server = calls(move |asked, answer| {
        if has_ended.swap(true, Ordering::AcqRel) {
            answer.json(&result(asked, words("again")));
        } else {
            answer.reply("404 Not Found", "Content-Type: application/json\r\n", "{}");
        }
    });
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    let response = wire.call("plugins.call", call("h", "echo", json!({})));
    assert!(refused(&response, "plugin_failed").contains("HTTP session has ended"), "{response}");
    assert_eq!((server.posts("initialize").len(), server.posts("tools/call").len()), (1, 1));
    assert_eq!(text(&wire.call("plugins.call", call("h", "echo", json!({})))), "again");
    assert_eq!((server.posts("initialize").len(), server.posts("tools/call").len()), (2, 2));
}

#[test]
fn a_server_that_was_restarted_is_found_again() {
    let starts = Arc::new(AtomicUsize::new(1));
    let now = starts.clone();
    let server = HttpServer::start(move |asked, answer| {
        let session = format!("s{}", now.load(Ordering::Acquire));
        match asked.rpc() {
            "initialize" => {
                let result = result(asked, initialized("2025-11-25", json!({"tools": {}})));
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: {session}\r\n");
                answer.reply("200 OK", &headers, &result.to_string());
                true
            }
            // Not 404, as it should be: servers made after the TypeScript SDK's example do this.
            _ if asked.header("mcp-session-id") != Some(session.as_str()) => {
                let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
                let body = json!({"jsonrpc": "2.0", "error": error, "id": null}).to_string();
                answer.reply("400 Bad Request", "Content-Type: application/json\r\n", &body);
                true
            }
            _ => false,
        }
    });
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    for _ in 0..3 {
        assert_eq!(text(&wire.call("plugins.call", call("h", "echo", json!({})))), "called");
        starts.fetch_add(1, Ordering::AcqRel);
        let response = wire.call("plugins.call", call("h", "echo", json!({})));
        assert!(refused(&response, "plugin_failed").contains("No valid session ID"), "{response}");
        assert_eq!(text(&wire.call("plugins.call", call("h", "echo", json!({})))), "called");
    }
}

#[test]
fn a_server_that_can_not_be_reached_any_more_has_nothing_of_the_call() {
    let goes = Arc::new(AtomicBool::new(false));
    let gone = goes.clone();
    let server = HttpServer::start_until(move || gone.load(Ordering::Acquire), |_, _| false);
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    assert_eq!(text(&wire.call("plugins.call", call("h", "echo", json!({})))), "called");
    goes.store(true, Ordering::Release);
    server.poke();
    let response = wire.call("plugins.call", call("h", "echo", json!({})));
    let message = refused(&response, "plugin_failed");
    assert!(message.contains("nothing was sent") && !message.contains("effects"), "{message}");
    let response = wire.call("plugins.call", call("h", "echo", json!({})));
    assert!(refused(&response, "plugin_unavailable").contains("can't be connected to"), "{response}");
}

#[test]
fn a_server_that_dies_in_a_stream_that_could_be_resumed_fails_the_call_at_once() {
    let goes = Arc::new(AtomicBool::new(false));
    let (listens, dies) = (goes.clone(), goes.clone());
    let server = HttpServer::start_until(
        move || listens.load(Ordering::Acquire),
        move |asked, answer| {
            let is_call = asked.rpc() == "tools/call";
            if is_call {
                answer.stream();
                answer.raw("id: e1\ndata:\n\n");
                wait_until("it dies", || dies.load(Ordering::Acquire));
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            is_call
        },
    );
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    wire.start("plugins.call", call("h", "echo", json!({})));
    wait_until("the server has the call", || server.posts("tools/call").len() == 1);
    let began = std::time::Instant::now();
    goes.store(true, Ordering::Release);
    server.poke();
    let response = wire.receive();
    assert!(refused(&response, "plugin_failed").contains("effects may remain"), "{response}");
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(server.posts("tools/call").len(), 1);
}

#[test]
fn a_redirect_of_the_handshake_is_followed_within_the_origin_only() {
    let other = HttpServer::start(|_, _| false);
    let elsewhere = other.url.clone();
    let strangers = HttpServer::start(move |_, answer| {
        answer.reply("307 Temporary Redirect", &format!("Location: {elsewhere}\r\n"), "");
        true
    });
    let (_manifests, one) = daemon(&strangers.url);
    let response = one.connect().call("plugins.call", call("h", "echo", json!({})));
    assert!(refused(&response, "plugin_unavailable").contains("redirects to another origin"), "{response}");
    assert!(other.asked().is_empty());

    let own = HttpServer::start(|asked, answer| {
        let is_old = asked.path == "/mcp";
        if is_old {
            answer.reply("307 Temporary Redirect", "Location: /mcp/\r\n", "");
        }
        is_old
    });
    let (_manifests, one) = daemon(&own.url);
    assert_eq!(text(&one.connect().call("plugins.call", call("h", "echo", json!({})))), "called");
    assert_eq!(
        own.posts("tools/call").iter().map(|asked| asked.path.as_str()).collect::<Vec<_>>(),
        ["/mcp/"]
    );

    let round = HttpServer::start(|_, answer| {
        answer.reply("308 Permanent Redirect", "Location: /mcp\r\n", "");
        true
    });
    let (_manifests, one) = daemon(&round.url);
    let response = one.connect().call("plugins.call", call("h", "echo", json!({})));
    assert!(refused(&response, "plugin_unavailable").contains("again and again"), "{response}");
    assert_eq!(round.asked().len(), 4);
}

#[test]
fn a_server_that_wants_no_stranger_is_unavailable() {
    for (status, reason) in [
        ("401 Unauthorized", "401 Unauthorized (does it need a header with a key?): who are you"),
        ("403 Forbidden", "403 Forbidden (does it need"),
        ("404 Not Found", "404 Not Found"),
    ] {
        let server = HttpServer::start(move |_, answer| {
            answer.reply(status, "WWW-Authenticate: Bearer\r\nContent-Type: text/plain\r\n", "who are you");
            true
        });
        let (_manifests, daemon) = daemon(&server.url);
        let response = daemon.connect().call("plugins.list", json!({}));
        assert!(refused(&response, "plugin_unavailable").contains(reason), "{response}");
        assert_eq!(server.asked().len(), 1);
    }
    let (_manifests, nobody) = daemon("http://127.0.0.1:1/mcp");
    let response = nobody.connect().call("plugins.list", json!({}));
    assert!(refused(&response, "plugin_unavailable").contains("can't be connected to"), "{response}");
}

#[test]
fn a_secret_that_a_server_says_back_is_not_shown_and_not_logged() {
    let echo = |asked: &Asked| format!("not {}", asked.header("authorization").unwrap_or_default());
    let greeting = HttpServer::start(move |asked, answer| {
        answer.reply("401 Unauthorized", "Content-Type: text/plain\r\n", &echo(asked));
        true
    });
    let moving = HttpServer::start(|_, answer| {
        answer.reply("301 Moved Permanently", "Location: /k1k2k3k4\r\n", "");
        true
    });
    let status = calls(move |asked, answer| {
        answer.reply("500 Internal Server Error", "Content-Type: text/plain\r\n", &echo(asked));
    });
    let error = calls(move |asked, answer| {
        let error = json!({"code": -3, "message": echo(asked)});
        answer.json(&json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": error}));
    });
    let manifests = Manifests::new();
    let key = manifests.folder().join("key");
    std::fs::write(&key, "Bearer k1k2k3k4\n").unwrap();
    for server in [greeting, moving, status, error] {
        let manifest = manifests.http("h", &server.url);
        let header = format!("h:Authorization=@{}", key.display());
        let output = run(
            &mut worker(manifests.folder(), &["--plugin", &manifest, "--plugin-header", &header]),
            "plugins.call",
            call("h", "echo", json!({})),
        );
        let (said, logged) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("[hidden]"), "{said}");
        assert!(!said.contains("k1k2k3k4") && !logged.contains("k1k2k3k4"), "{said}{logged}");
    }
}

#[test]
fn a_call_that_is_given_up_is_taken_back_in_the_way_of_the_revision() {
    let closed = Arc::new(AtomicUsize::new(0));
    let seen = closed.clone();
    let server = calls(move |_, answer| {
        answer.stream();
        answer.until_closed();
        seen.fetch_add(1, Ordering::AcqRel);
    });
    let (_manifests, daemon) = daemon(&server.url);
    give_up(&daemon, &server);
    wait_until("it is taken back", || server.posts("notifications/cancelled").len() == 1);
    let id = server.posts("tools/call")[0].body["id"].clone();
    assert_eq!(server.posts("notifications/cancelled")[0].body["params"]["requestId"], id);
    wait_until("the connection is closed", || closed.load(Ordering::Acquire) == 1);
}

/// Calls the server, and cancels the call once it is there.
fn give_up(daemon: &Daemon, server: &HttpServer) {
    let mut wire = daemon.connect();
    let before = server.posts("tools/call").len();
    let id = wire.start("plugins.call", call("h", "echo", json!({})));
    wait_until("the server has the call", || server.posts("tools/call").len() > before);
    wire.start("request.cancel", json!({"request_id": id}));
    let answers = [wire.receive(), wire.receive()];
    let answer = answers.iter().find(|answer| answer["request_id"] == id).unwrap();
    refused(answer, "cancelled");
}

/// A server of 2026-07-28, which knows no sessions.
fn modern(closed: Arc<AtomicUsize>) -> HttpServer {
    HttpServer::start(move |asked, answer| {
        if asked.header("mcp-protocol-version") != Some("2026-07-28") {
            let error = json!({"code": -32020, "message": "MCP-Protocol-Version is missing"});
            let body = json!({"jsonrpc": "2.0", "error": error}).to_string();
            answer.reply("400 Bad Request", "Content-Type: application/json\r\n", &body);
            return true;
        }
        assert_eq!(asked.header("mcp-method"), Some(asked.rpc()));
        match asked.rpc() {
            "server/discover" => {
                let capabilities = json!({"tools": {"listChanged": true}});
                let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"});
                answer.json(&result(asked, found));
            }
            "subscriptions/listen" => {
                answer.stream();
                let params = json!({"notifications": {"toolsListChanged": true}});
                answer.event(&json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}));
                answer.until_closed();
            }
            "tools/call" if asked.body["params"]["name"] == "echo" => {
                answer.stream();
                answer.until_closed();
                closed.fetch_add(1, Ordering::AcqRel);
            }
            "tools/call" => {
                let headers =
                    json!({"name": asked.header("mcp-name"), "region": asked.header("mcp-param-region")});
                let said = json!({"content": [], "structuredContent": headers, "resultType": "complete"});
                answer.json(&result(asked, said));
            }
            _ => return false,
        }
        true
    })
}

#[test]
fn the_later_revision_has_its_headers_and_its_way_to_cancel() {
    let closed = Arc::new(AtomicUsize::new(0));
    let server = modern(closed.clone());
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    let output = wire.output("plugins.call", call("h", "region", json!({"r": "Zürich"})));
    assert_eq!(output["structured_content"], json!({"name": "region", "region": "=?base64?WsO8cmljaA==?="}));
    give_up(&daemon, &server);
    wait_until("the connection is closed", || closed.load(Ordering::Acquire) == 1);
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.method == "POST" && asked.body.get("id").is_some()), "{asked:?}");
    assert!(asked.iter().all(|asked| asked.header("mcp-session-id").is_none()));
    wait_until("it listens", || server.posts("subscriptions/listen").len() == 1);
}

#[test]
fn a_stream_that_an_older_server_ends_is_taken_up_without_another_call() {
    let server = HttpServer::start(|asked, answer| {
        match (asked.method.as_str(), asked.rpc(), asked.header("last-event-id")) {
            ("POST", "tools/call", _) => {
                answer.stream();
                let id = &asked.body["id"];
                answer.raw(&format!("id: e{id}\nretry: 60\ndata:\n\n"));
            }
            ("GET", _, Some(last)) => {
                let id: u64 = last[1..].parse().unwrap();
                answer.stream();
                answer.event(&json!({"jsonrpc": "2.0", "id": id, "result": words("resumed")}));
            }
            _ => return false,
        }
        true
    });
    let (_manifests, daemon) = daemon(&server.url);
    assert_eq!(text(&daemon.connect().call("plugins.call", call("h", "echo", json!({})))), "resumed");
    assert_eq!(server.posts("tools/call").len(), 1);
}

#[test]
fn an_older_server_tells_of_changes_on_a_stream_of_its_own() {
    let (has_changed, grown) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (tell, is_grown) = (has_changed.clone(), grown.clone());
    let server = HttpServer::start(move |asked, answer| {
        match (asked.method.as_str(), asked.rpc()) {
            ("POST", "initialize") => {
                let capabilities = json!({"tools": {"listChanged": true}});
                let result = result(asked, initialized("2025-06-18", capabilities));
                let headers = "Content-Type: application/json\r\nMcp-Session-Id: s1\r\n";
                answer.reply("200 OK", headers, &result.to_string());
            }
            ("GET", _) => {
                answer.stream();
                answer.raw(": open\n\n");
                while !tell.load(Ordering::Acquire) {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                answer.event(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                answer.until_closed();
            }
            ("POST", "tools/list") if is_grown.load(Ordering::Acquire) => {
                answer.json(&result(asked, json!({"tools": [{"name": "grown", "inputSchema": {}}]})));
            }
            _ => return false,
        }
        true
    });
    let (_manifests, daemon) = daemon(&server.url);
    let mut wire = daemon.connect();
    wire.output("plugins.list", json!({}));
    wait_until("a list is kept", || {
        wire.output("plugins.list", json!({}));
        let before = server.posts("tools/list").len();
        wire.output("plugins.list", json!({}));
        server.posts("tools/list").len() == before
    });
    grown.store(true, Ordering::Release);
    has_changed.store(true, Ordering::Release);
    wait_until("the change is heard", || {
        wire.output("plugins.list", json!({}))["tools"][0]["tool_name"] == "grown"
    });
}

#[test]
fn what_is_too_large_is_not_kept() {
    let server = calls(|_, answer| {
        answer.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[");
        for _ in 0..40 {
            answer.raw(&"1,".repeat(512 * 1024));
        }
    });
    let (_manifests, daemon) = daemon(&server.url);
    let response = daemon.connect().call("plugins.call", call("h", "echo", json!({})));
    assert!(refused(&response, "plugin_failed").contains("more than 16777216 bytes"), "{response}");
    assert!(daemon.peak() < 80 * 1024, "{} KiB", daemon.peak());
}

#[test]
fn a_workspace_brings_headers_of_its_own_and_a_proxy_is_never_asked() {
    let server = HttpServer::start(|_, _| false);
    let manifests = Manifests::new();
    let manifest = manifests.http("h", &server.url);
    let proxies = [("http_proxy", "http://127.0.0.1:1"), ("HTTP_PROXY", "http://127.0.0.1:1")];
    let daemon = Daemon::start_with(&[], &proxies);
    let mut wire = daemon.connect();
    let headers = json!({"h": {"X-Key": "k"}});
    let open =
        json!({"root": daemon.root(), "plugins": [manifest], "plugin_headers": headers, "default": true});
    wire.output("workspace.open", open);
    let answer: Value = wire.call("plugins.call", call("h", "echo", json!({})));
    assert_eq!(code(&answer), "completed");
    assert!(server.asked().iter().all(|asked| asked.header("x-key") == Some("k")));
}
