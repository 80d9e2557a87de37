//! Line by line.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Host, declared, lingering};
use crate::support::{Daemon, is_alive, pid_in, wait_until};

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn every_tool_works_and_tells_it_twice() {
    let mut host = Host::greeted(&[], json!({}));
    let wrote = host.call(
        "write_file",
        json!({"path": "a/b.txt", "content": "one\ntwo\n", "mode": "create", "parents": true}),
    );
    assert_eq!(wrote["structuredContent"]["written_bytes"], 8, "{wrote}");
    let read = host.call("read_file", json!({"path": "a/b.txt"}));
    assert_eq!(read["content"], json!([{"type": "text", "text": "one\ntwo\n"}]));
    assert_eq!(read["structuredContent"]["content_sha256"], wrote["structuredContent"]["content_sha256"]);
    assert_eq!(read["isError"], false);
    let edited = host.call("edit_file", json!({"path": "a/b.txt", "old_text": "two", "new_text": "2"}));
    assert!(text(&edited).starts_with("Edited a/b.txt: now 6 bytes"), "{edited}");
    let found = host.call("search_text", json!({"pattern": "^2$"}));
    assert_eq!(text(&found), "a/b.txt:2: 2\n[1 matches]");
    let listed = host.call("list_files", json!({"recursive": true}));
    assert_eq!(text(&listed), "a/\na/b.txt  6 bytes\n[2 entries]");
    let ran =
        host.call("run_program", json!({"program": "sh", "args": ["-c", "cat a/b.txt; echo e >&2; exit 3"]}));
    assert_eq!(text(&ran), "one\n2\nstderr:\ne\nexit code 3");
    assert_eq!(ran["structuredContent"]["exit_code"], 3);
    assert_eq!(ran["isError"], false);
    let (rest, status) = host.finish();
    assert!(rest.is_empty() && status.success());
}

#[test]
fn what_goes_wrong_is_for_the_model_and_what_is_no_call_for_the_host() {
    let mut host = Host::greeted(&[], json!({}));
    let gone = host.call("read_file", json!({"path": "gone"}));
    assert_eq!(gone["isError"], true);
    assert!(text(&gone).starts_with("not_found: "), "{gone}");
    assert!(gone.get("structuredContent").is_none());
    let typo = host.call("read_file", json!({"pth": "a"}));
    let mistake = "arguments of read_file: unknown member \"pth\" (did you mean \"path\"?)";
    assert!(text(&typo).contains(mistake), "{typo}");
    assert_eq!(text(&host.call("read_file", json!({"path": "../x"})))[..16], *"invalid_request:");
    let long = host.call("run_program", json!({"program": "true", "timeout_ms": 300_001}));
    assert!(text(&long).contains("300000"), "{long}");
    let unknown = host.ask("tools/call", json!({"name": "format_disk"}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(host.ask("tools/call", json!({}))["error"]["code"], -32602);
    assert_eq!(host.ask("tools/sell", json!({}))["error"]["code"], -32601);
    let page = host.ask("tools/list", json!({"cursor": "2"}));
    assert_eq!(page["error"]["code"], -32602, "{page}");
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_bad_line_is_answered_and_nothing_else() {
    let mut host = Host::greeted(&[], json!({}));
    let table = [
        ("garbage".to_owned(), -32700),
        ("[1]".to_owned(), -32600),
        ("{}".to_owned(), -32600),
        ("\0".to_owned(), -32700),
        (format!(r#"{{"jsonrpc":"2.0","id":9,"method":"ping","x":"{}"}}"#, "x".repeat(4 << 20)), -32600),
    ];
    for (line, code) in table {
        host.put(&line);
        let answer = host.receive();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer.get("id").is_none(), "{answer}");
    }
    host.put("\r");
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn a_beginning_that_is_no_good_is_told_why_and_may_be_tried_again() {
    let mut host = Host::start(&[]);
    for params in [json!({}), json!({"protocolVersion": 5, "capabilities": {}, "clientInfo": {}}), json!([])]
    {
        let refused = host.ask("initialize", params);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid params of initialize: "), "{refused}");
    }
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    assert!(host.ask("initialize", params)["result"].is_object());
}

#[test]
fn a_zero_byte_first_is_no_other_protocol() {
    let mut host = Host::start(&[]);
    host.put("\0\0\0\x01x");
    assert_eq!(host.receive()["error"]["code"], -32700);
}

#[test]
fn an_id_that_is_not_answered_yet_can_not_be_used_again() {
    let mut host = Host::greeted(&[], json!({}));
    let call = json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params":
        {"name": "run_program", "arguments": {"program": "sh", "args": ["-c", "until test -e go; do sleep 0.02; done"]}}});
    host.put(&call.to_string());
    host.put(&json!({"jsonrpc": "2.0", "id": "x", "method": "ping"}).to_string());
    let refused = host.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("x"), &json!(-32600)));
    std::fs::write(host.root().join("go"), "").unwrap();
    assert_eq!(host.receive()["result"]["structuredContent"]["exit_code"], 0);
    host.put(&call.to_string());
    assert_eq!(host.receive()["result"]["structuredContent"]["exit_code"], 0);
}

#[test]
fn a_cancelled_call_is_not_answered_and_its_tree_dies() {
    let mut host = Host::greeted(&[], json!({}));
    let id = host.begin_call("run_program", lingering());
    let (parent, child) = (pid_in(&host.root().join("parent")), pid_in(&host.root().join("child")));
    host.tell("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    wait_until("the tree is dead", || !is_alive(parent) && !is_alive(child));
    // What is not ours to cancel does no harm.
    host.tell("notifications/cancelled", json!({"requestId": "nobody"}));
    host.tell("notifications/cancelled", json!({}));
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    let (rest, status) = host.finish();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
}

#[test]
fn requests_that_are_cancelled_leave_no_trace() {
    let mut host = Host::greeted(&[], json!({}));
    // More than are answered at once, none of them a call.
    for id in 0..1_500 {
        host.put(
            &[
                json!({"jsonrpc": "2.0", "id": "same", "method": "tools/list"}),
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "same"}}),
                json!({"jsonrpc": "2.0", "id": id, "method": "ping"}),
            ]
            .map(|message| message.to_string())
            .join("\n"),
        );
        // One that was too late to be cancelled is answered.
        while host.receive()["id"] != id {}
    }
}

#[test]
fn the_end_of_input_lets_calls_finish() {
    let mut host = Host::greeted(&[], json!({}));
    let run =
        host.begin_call("run_program", json!({"program": "sh", "args": ["-c", "sleep 0.3; echo done"]}));
    let read = host.begin_call("list_files", json!({}));
    let (rest, status) = host.finish();
    let answered: BTreeSet<u64> = rest.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(answered, BTreeSet::from([run, read]));
    assert!(status.success());
}

#[test]
fn the_last_line_needs_no_end() {
    use std::io::Write as _;
    let mut host = Host::greeted(&[], json!({}));
    let last = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "list_files"}});
    host.input.as_mut().unwrap().write_all(last.to_string().as_bytes()).unwrap();
    let (rest, _) = host.finish();
    assert_eq!(rest[0]["id"], 77);
}

#[test]
fn the_end_of_the_host_ends_everything() {
    // A host that is gone reads nothing either: no grace then.
    let mut host = Host::greeted(&[], json!({}));
    host.begin_call("run_program", lingering());
    let (parent, child) = (pid_in(&host.root().join("parent")), pid_in(&host.root().join("child")));
    let began = Instant::now();
    host.input = None;
    let (reader, _writer) = std::io::pipe().unwrap();
    let stand_in =
        std::process::Command::new("true").stdin(reader).stdout(std::process::Stdio::piped()).spawn();
    let mut stand_in = stand_in.unwrap();
    drop(std::mem::replace(&mut host.output, std::io::BufReader::new(stand_in.stdout.take().unwrap())));
    stand_in.wait().unwrap();
    assert!(host.wait().success());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert!(!is_alive(parent) && !is_alive(child));
}

#[test]
fn a_signal_ends_it_at_once_with_all_that_it_started() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut host = Host::greeted(&[], json!({}));
        host.begin_call("run_program", lingering());
        let (parent, child) = (pid_in(&host.root().join("parent")), pid_in(&host.root().join("child")));
        let began = Instant::now();
        // SAFETY: plain kill(2) of a child that is not reaped yet.
        assert_eq!(unsafe { libc::kill(host.process.id() as i32, signal) }, 0);
        assert!(host.wait().success());
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(!is_alive(parent) && !is_alive(child));
    }
}

#[test]
fn a_killed_server_leaves_no_program_behind() {
    let mut host = Host::greeted(&[], json!({}));
    host.begin_call("run_program", lingering());
    let (parent, child) = (pid_in(&host.root().join("parent")), pid_in(&host.root().join("child")));
    host.process.kill().unwrap();
    wait_until("the tree is dead", || !is_alive(parent) && !is_alive(child));
}

#[test]
fn progress_is_told_to_who_asked_and_ends_with_the_answer() {
    let mut host = Host::greeted(&[], json!({}));
    let program = json!({"program": "sh", "args": ["-c", "echo one; sleep 1.2; echo two >&2"]});
    let id = host.begin(
        "tools/call",
        json!({"_meta": {"progressToken": "p"}, "name": "run_program", "arguments": program}),
    );
    let mut steps = Vec::new();
    let answer = loop {
        let message = host.receive();
        if message["id"] == id {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "p");
        assert_eq!(message["params"]["message"], "one");
        steps.push(message["params"]["progress"].as_f64().unwrap());
    };
    assert!(steps.len() >= 2 && steps.is_sorted_by(|one, next| one < next), "{steps:?}");
    // The output is what it is without progress.
    assert_eq!(answer["result"]["structuredContent"]["stdout"], "one\n");
    assert_eq!(answer["result"]["structuredContent"]["stderr"], "two\n");
    assert_eq!(answer["result"]["structuredContent"]["captured_bytes"], 8);
    std::fs::write(host.root().join("f"), "x").unwrap();
    let found = host.ask(
        "tools/call",
        json!({"_meta": {"progressToken": 1}, "name": "search_text", "arguments": {"pattern": "x"}}),
    );
    assert_eq!(found["result"]["structuredContent"]["matches"].as_array().unwrap().len(), 1);
    let listed =
        host.ask("tools/call", json!({"_meta": {"progressToken": 2}, "name": "list_files", "arguments": {}}));
    assert_eq!(listed["result"]["structuredContent"]["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn many_calls_run_at_once_and_each_is_answered() {
    let mut host = Host::greeted(&[], json!({}));
    std::fs::write(host.root().join("f"), "x".repeat(5_000)).unwrap();
    let mut waiting = BTreeSet::new();
    for round in 0..100 {
        waiting.insert(host.begin_call("read_file", json!({"path": "f"})));
        if round % 10 == 0 {
            waiting.insert(host.begin_call("run_program", json!({"program": "true"})));
        }
    }
    while !waiting.is_empty() {
        let answer = host.receive();
        assert!(waiting.remove(&answer["id"].as_u64().unwrap()), "{answer}");
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[test]
fn read_only_has_three_tools() {
    let mut host = Host::greeted(&["--read-only"], json!({}));
    let listed = host.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["read_file", "search_text", "list_files"]);
    let refused = host.ask("tools/call", json!({"name": "run_program", "arguments": {"program": "true"}}));
    assert_eq!(refused["error"]["code"], -32602);
}

/// Answers the server's question for roots.
fn name_roots(host: &mut Host, uris: &[String]) {
    let asked = host.receive();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots: Vec<Value> = uris.iter().map(|uri| json!({"uri": uri})).collect();
    host.put(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}).to_string());
}

#[test]
fn the_clients_roots_narrow_the_workspace_and_never_widen_it() {
    let mut host = Host::greeted(&[], json!({"roots": {"listChanged": true}}));
    let root = host.root();
    for path in ["a/x", "a/y", "b"] {
        std::fs::create_dir_all(root.join(path)).unwrap();
    }
    std::fs::write(root.join("a/x/f"), "").unwrap();
    let uri = |path: &str| format!("file://{}{path}", root.display());
    // Sent before the roots are known: it waits for them.
    let early = host.begin_call("list_files", json!({}));
    name_roots(&mut host, &[uri("/a/x"), "file:///etc".to_owned()]);
    let answer = host.receive();
    assert_eq!((&answer["id"], text(&answer["result"])), (&json!(early), "f  0 bytes\n[1 entries]"));
    assert!(host.log().contains("a root of the client is passed over"), "{}", host.log());
    // Nothing outside of the folder is reached, the rest of the root included.
    let outside = host.call("read_file", json!({"path": "../../b"}));
    assert_eq!(outside["isError"], true);

    host.tell("notifications/roots/list_changed", json!({}));
    name_roots(&mut host, &[uri("/a/x"), uri("/a/y")]);
    wait_until("the deepest folder of both is the workspace", || {
        text(&host.call("list_files", json!({}))) == "x/\ny/\n[2 entries]"
    });
    host.tell("notifications/roots/list_changed", json!({}));
    name_roots(&mut host, &["file:///".to_owned()]);
    wait_until("the whole root is the workspace", || {
        text(&host.call("list_files", json!({}))) == "a/\nb/\n[2 entries]"
    });
}

#[test]
fn a_daemon_can_do_the_work() {
    let daemon = Daemon::start();
    let socket = daemon.socket();
    let flags = ["--socket", socket.to_str().unwrap(), "--env", "GREETING=hello"];
    let mut host = Host::greeted(&flags, json!({}));
    std::fs::write(host.root().join("f"), "text").unwrap();
    assert_eq!(text(&host.call("read_file", json!({"path": "f"}))), "text");
    let ran = host.call("run_program", json!({"program": "sh", "args": ["-c", "echo $GREETING"]}));
    assert_eq!(text(&ran), "hello\nexit code 0");
    let id = host.begin(
        "tools/call",
        json!({"_meta": {"progressToken": 1}, "name": "run_program", "arguments":
        {"program": "sh", "args": ["-c", "echo a; sleep 0.7; echo b"]}}),
    );
    assert_eq!(host.receive()["method"], "notifications/progress");
    let answer = host.receive();
    assert_eq!((&answer["id"], text(&answer["result"])), (&json!(id), "a\nb\nexit code 0"));
    assert_eq!(host.call("read_file", json!({"path": "gone"}))["isError"], true);

    let id = host.begin_call("run_program", lingering());
    let (parent, child) = (pid_in(&host.root().join("parent")), pid_in(&host.root().join("child")));
    host.tell("notifications/cancelled", json!({"requestId": id}));
    wait_until("the tree is dead", || !is_alive(parent) && !is_alive(child));
    // Without its daemon it can do nothing more.
    daemon.signal(libc::SIGTERM);
    assert_eq!(host.wait().code(), Some(1));
    assert!(host.log().is_empty() || !host.log().contains("panic"), "{}", host.log());
}

#[test]
fn a_root_that_is_none_is_told_before_anything_is_served() {
    for root in ["/nowhere/at/all", "/etc/hostname"] {
        let ended = super::command(root.as_ref()).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{root}");
        assert!(ended.stdout.is_empty());
        assert!(String::from_utf8_lossy(&ended.stderr).contains("--root"), "{ended:?}");
    }
}

#[test]
fn the_revision_without_a_handshake_is_spoken_on_the_same_pipes() {
    let mut host = Host::start(&[]);
    let discovered = host.ask("server/discover", json!({"_meta": declared()}));
    let versions = discovered["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(super::MODERN)) && versions.contains(&json!(super::LEGACY)));
    for _ in 0..2 {
        let answer = host.ask("tools/call", json!({"_meta": declared(), "name": "list_files"}));
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    }
    let bare = host.ask("tools/call", json!({"name": "list_files"}));
    assert_eq!(bare["error"]["code"], -32602, "{bare}");
    let mut future = declared();
    future["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let answer = host.ask("tools/call", json!({"_meta": future, "name": "list_files"}));
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
}

#[test]
fn a_message_before_the_beginning_does_not_end_the_session() {
    let mut host = Host::start(&[]);
    host.tell("notifications/initialized", json!({}));
    host.tell("notifications/cancelled", json!({"requestId": 1}));
    assert_eq!(host.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(host.ask("tools/call", json!({"name": "list_files"}))["error"]["code"], -32602);
    assert!(host.ask("tools/call", json!({"_meta": declared(), "name": "list_files"}))["result"].is_object());
}

#[test]
fn a_host_on_node_gives_sockets_and_a_shell_gives_files() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let ends = [theirs.try_clone().unwrap(), theirs].map(OwnedFd::from);
    let [stdin, stdout] = ends;
    let mut process = super::command(folder.path()).stdin(stdin).stdout(stdout).spawn().unwrap();
    let call = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"_meta": declared(), "name": "list_files"}});
    (&ours).write_all(format!("{}\n{}\n", call(1), call(2)).as_bytes()).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(BufReader::new(ours).lines().count(), 2);
    assert!(process.wait().unwrap().success());

    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, format!("{}\n", call(1))).unwrap();
    let files = (std::fs::File::open(&input).unwrap(), std::fs::File::create(&output).unwrap());
    let status = super::command(folder.path()).stdin(files.0).stdout(files.1).status().unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().count(), 1);
}

#[test]
fn a_change_of_roots_holds_from_the_next_call_on_and_ends_none() {
    let mut host = Host::greeted(&[], json!({"roots": {"listChanged": true}}));
    let uris = ["one", "two"].map(|name| format!("file://{}/{name}", host.root().display()));
    let [one, two] = uris;
    for name in ["one", "two"] {
        std::fs::create_dir(host.root().join(name)).unwrap();
    }
    name_roots(&mut host, std::slice::from_ref(&one));
    let wait = "touch here; until test -e go; do sleep 0.02; done";
    let run = host.begin_call("run_program", json!({"program": "sh", "args": ["-c", wait]}));
    let (here, go) = (host.root().join("one/here"), host.root().join("one/go"));
    wait_until("it runs", || here.exists());
    // Both questions are open; the first is out of date.
    host.tell("notifications/roots/list_changed", json!({}));
    let stale = host.receive();
    host.tell("notifications/roots/list_changed", json!({}));
    let write = host.begin_call("write_file", json!({"path": "f", "content": "", "mode": "create"}));
    name_roots(&mut host, &[two]);
    assert_eq!(host.receive()["id"], write);
    assert!(host.root().join("two/f").exists());
    let roots = json!({"roots": [{"uri": one}]});
    host.put(&json!({"jsonrpc": "2.0", "id": stale["id"], "result": roots}).to_string());
    host.call("write_file", json!({"path": "g", "content": "", "mode": "create"}));
    assert!(host.root().join("two/g").exists());
    std::fs::write(go, "").unwrap();
    let ran = host.receive();
    assert_eq!(ran["id"], run);
    assert_eq!(ran["result"]["structuredContent"]["exit_code"], 0, "{ran}");
}
