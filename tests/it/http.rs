//! The HTTP bridge: who is let in, what is answered, in the words of its documentation.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::Daemon;
use crate::support::http::{Answer, Bridge, ORIGIN};

fn exit(lines: &[Value]) -> i64 {
    let (last, before) = lines.split_last().unwrap();
    assert!(before.iter().all(|line| line["t"] != "exit"), "{lines:?}");
    assert_eq!(last["t"], "exit", "{lines:?}");
    last["code"].as_i64().unwrap()
}

/// The bytes of a stream, put together.
fn bytes(lines: &[Value], stream: &str) -> Vec<u8> {
    use base64::Engine as _;
    let chunks = lines.iter().filter(|line| line["t"] == stream);
    chunks
        .flat_map(|line| {
            base64::engine::general_purpose::STANDARD.decode(line["b"].as_str().unwrap()).unwrap()
        })
        .collect()
}

fn text(lines: &[Value], stream: &str) -> String {
    String::from_utf8(bytes(lines, stream)).unwrap()
}

/// What a shell prints, run with curl and jq as the documentation has it, the port apart.
fn shell(bridge: &Bridge, script: &str) -> String {
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script.replace("8787", &bridge.port.to_string())])
        .env("AXERONDIR", bridge.daemon.folder())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "curl and jq are needed for this test: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_documented_curl_lines_run_as_they_stand() {
    // Where the documentation looks for the token.
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("root")).unwrap();
    let token_file = folder.path().join("axbridge/token");
    let axerondir = folder.path().to_str().unwrap().to_owned();
    let daemon = Daemon::start_in(folder, &["--http", "127.0.0.1:0"], &[("AXERONDIR", &axerondir)]);
    let bridge = Bridge::of(daemon, token_file);
    let script = r#"
TOKEN=$(cat "$AXERONDIR/axbridge/token")

curl -N -X POST http://127.0.0.1:8787/spawn \
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \
  -d '{"cmd":"sh","args":["-c","echo one; sleep 1; echo two"]}' \
  | jq -r 'select(.t=="out") | .b | @base64d'
"#;
    assert_eq!(shell(&bridge, script), "one\n\ntwo\n\n");
    let script = r#"
TOKEN=$(cat "$AXERONDIR/axbridge/token")
curl -s -X POST http://127.0.0.1:8787/exec \
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \
  -d '{"cmd":"echo hi; echo oops >&2; exit 3","cwd":"/","env":{"A":"1"},"timeout":30}'
"#;
    assert_eq!(shell(&bridge, script), r#"{"errno":3,"stdout":"hi\n","stderr":"oops\n"}"#);
    assert_eq!(shell(&bridge, "curl -s http://127.0.0.1:8787/health"), r#"{"ok":true}"#);
}

#[test]
fn the_documented_stream_is_what_is_sent() {
    let bridge = Bridge::start();
    let answer = bridge.post("/spawn", json!({"cmd": "echo", "args": ["a; echo injected", "$HOME"]}));
    let line = "{\"t\":\"out\",\"b\":\"YTsgZWNobyBpbmplY3RlZCAkSE9NRQo=\"}\n{\"t\":\"exit\",\"code\":0}\n";
    assert_eq!((answer.status, answer.body.as_str()), (200, line));
    assert_eq!(answer.headers["content-type"], "application/x-ndjson");
}

#[test]
fn refusals_come_in_the_documented_order() {
    let bridge = Bridge::start();
    let (port, token) = (bridge.port, &bridge.token);
    let host = format!("Host: 127.0.0.1:{port}");
    let bearer = format!("Authorization: Bearer {token}");
    let origin = format!("Origin: {ORIGIN}");
    let (json, length) = ("Content-Type: application/json", "Content-Length: 2");
    let check = |line: &str, headers: &[&str], status: u16| -> Answer {
        let request = format!("{line} HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
        let answer = bridge.say(&(request + "{}"));
        assert_eq!(answer.status, status, "{line} {headers:?}: {}", answer.body);
        assert!(!answer.error().is_empty());
        answer
    };
    let evil = "Origin: https://evil.example";
    check("PUT /nothing", &["Host: evil.example", evil, length], 403);
    check("PUT /nothing", &[&host, &host, evil, length], 403);
    check("PUT http://evil.example/exec", &[&host, evil, length], 403);
    check("PUT /nothing", &[&host, evil, length], 404);
    let answer = check("PUT /exec", &[&host, evil, length], 405);
    assert_eq!(answer.headers["allow"], "POST, OPTIONS");
    let answer = check("POST /exec", &[&host, evil, length], 403);
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    let answer = check("POST /exec", &[&host, &origin, length], 401);
    assert_eq!(answer.headers["www-authenticate"], "Bearer");
    assert_eq!(
        (answer.headers["access-control-allow-origin"].as_str(), answer.headers["vary"].as_str()),
        (ORIGIN, "Origin")
    );
    check("POST /exec", &[&host, &origin, &bearer, length], 415);
    let answer = check("POST /exec", &[&host, &origin, &bearer, json, length], 400);
    assert!(answer.error().contains("missing member \"cmd\""), "{}", answer.body);
    assert!(!bridge.daemon.log().contains(token), "the token is in the log");
}

#[test]
fn preflights_are_answered_without_a_token() {
    let bridge = Bridge::start();
    let preflight = |path: &str, origin: &str| {
        bridge.say(&format!(
            "OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\n{origin}Access-Control-Request-Method: POST\r\n\r\n"
        ))
    };
    for path in ["/exec", "/spawn"] {
        let answer = preflight(path, &format!("Origin: {ORIGIN}\r\n"));
        assert_eq!((answer.status, answer.body.as_str()), (204, ""));
        for (name, value) in [
            ("access-control-allow-origin", ORIGIN),
            ("access-control-allow-headers", "Authorization, Content-Type"),
            ("access-control-allow-methods", "POST"),
            ("access-control-allow-private-network", "true"),
            ("vary", "Origin"),
        ] {
            assert_eq!(answer.headers[name], value);
        }
        assert_eq!(preflight(path, "Origin: null\r\n").status, 403);
        let answer = preflight(path, "");
        assert_eq!((answer.status, answer.headers["allow"].as_str()), (204, "POST, OPTIONS"));
        assert!(answer.headers.keys().all(|name| !name.starts_with("access-control")));
    }
}

#[test]
fn a_command_says_how_it_ended() {
    let bridge = Bridge::start();
    let root = std::fs::canonicalize(bridge.daemon.root()).unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    for (body, errno, stdout) in [
        (json!({"cmd": "true"}), 0, ""),
        (json!({"cmd": "exit 7"}), 7, ""),
        (json!({"cmd": "kill -TERM $$"}), 143, ""),
        (json!({"cmd": "kill -9 $$"}), 137, ""),
        (json!({"cmd": "no-such-command-xyz"}), 127, ""),
        (json!({"cmd": "pwd", "cwd": "/usr"}), 0, "/usr\n"),
        (json!({"cmd": "pwd"}), 0, &format!("{}\n", root.display())),
        (json!({"cmd": "pwd", "cwd": "sub"}), 0, &format!("{}/sub\n", root.display())),
        (json!({"cmd": "pwd", "cwd": ".."}), 0, &format!("{}\n", root.parent().unwrap().display())),
        (json!({"cmd": "pwd", "cwd": "none"}), -1, ""),
        (json!({"cmd": "pwd", "cwd": "/etc/passwd"}), -1, ""),
        (json!({"cmd": "cat; echo done"}), 0, "done\n"),
        (json!({"cmd": "printf %s \"$A\"", "env": {"A": "$(id)"}}), 0, "$(id)"),
        (json!({"cmd": "echo a; sleep 20", "timeout": 0.3}), 124, "a\n"),
    ] {
        let answer = bridge.exec(body.clone());
        assert_eq!(
            (answer["errno"].as_i64(), answer["stdout"].as_str()),
            (Some(errno), Some(stdout)),
            "{body}"
        );
        let lines = bridge.spawn(body.clone());
        assert_eq!((exit(&lines), text(&lines, "out").as_str()), (errno, stdout), "{body}");
        assert_eq!(lines.len() == 1, stdout.is_empty() && errno != 127, "{lines:?}");
    }
}

#[test]
fn a_timeout_of_a_stream_is_told_in_a_line_of_its_own() {
    let bridge = Bridge::start();
    let lines = bridge.spawn(json!({"cmd": "printf warning >&2; sleep 20", "timeout": 0.5}));
    assert_eq!((exit(&lines), text(&lines, "err").as_str()), (124, "warning\n[timeout after 0.5s]\n"));
    let lines = bridge.spawn(json!({"cmd": "sleep", "args": ["20"], "timeout": 1}));
    assert_eq!((exit(&lines), text(&lines, "err").as_str()), (124, "[timeout after 1s]\n"));
}

#[test]
fn bytes_survive_a_stream_and_become_text_in_an_answer() {
    let bridge = Bridge::start();
    // 200 000 bytes of no UTF-8 at all.
    let cmd = "head -c 200000 /dev/zero | tr '\\0' '\\377'";
    assert_eq!(bytes(&bridge.spawn(json!({"cmd": cmd})), "out"), vec![0xff; 200_000]);
    assert_eq!(bridge.exec(json!({"cmd": cmd}))["stdout"], "\u{fffd}".repeat(200_000));
    let cmd = "printf '\\303'; sleep 0.2; printf '\\251'";
    let lines = bridge.spawn(json!({"cmd": cmd}));
    assert_eq!((lines.len(), text(&lines, "out").as_str()), (3, "é"));
    assert_eq!(bridge.exec(json!({"cmd": cmd}))["stdout"], "é");
    let answer = bridge.exec(json!({"cmd": "yes 1234567 | head -c 3000000; yes abc | head -c 1000000 >&2"}));
    assert_eq!(answer["stdout"].as_str().unwrap().len(), 1_000_000);
    assert_eq!(answer["stderr"].as_str().unwrap().len(), 1_000_000);
    let lines = bridge.spawn(json!({"cmd": "head -c 3000000 /dev/zero"}));
    assert_eq!(bytes(&lines, "out").len(), 3_000_000);
    let longest = lines.iter().filter_map(|line| line["b"].as_str()).map(str::len).max();
    assert!(longest <= Some(65_536_usize.div_ceil(3) * 4), "{longest:?}");
}

#[test]
fn commands_get_the_environment_of_the_flags_or_the_ordinary_one() {
    let secret = [("SECRET", "x"), ("HOME", "/h"), ("LC_TIME", "C"), ("PATH", "/usr/bin:/bin")];
    let bridge = Bridge::start_with(&["--env", "A=1", "--env-pass", "HOME"], &secret);
    let run = |bridge: &Bridge, env: Value| -> Vec<String> {
        let answer = bridge.exec(json!({"cmd": "exec env", "env": env}));
        let mut lines: Vec<_> = answer["stdout"].as_str().unwrap().lines().map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("PWD="));
        lines.sort();
        lines
    };
    assert_eq!(run(&bridge, json!({"B": "2"})), ["A=1", "B=2", "HOME=/h", "PATH=/usr/bin:/bin"]);
    // Without one of the flags, which the usual daemon of these tests has.
    let folder = tempfile::TempDir::new().unwrap();
    let token_file = folder.path().join("token");
    let mut command = Command::new(env!("CARGO_BIN_EXE_axlrd"));
    command.env_clear().envs(secret).arg("--socket").arg(folder.path().join("axlr.sock"));
    command.args(["--http", "127.0.0.1:0", "--http-token-file"]).arg(&token_file).current_dir("/usr");
    let bridge = Bridge::of(Daemon::from_command(command, folder), token_file);
    assert_eq!(run(&bridge, json!({"HOME": "/mine"})), ["HOME=/mine", "LC_TIME=C", "PATH=/usr/bin:/bin"]);
    assert_eq!(bridge.exec(json!({"cmd": "pwd"}))["stdout"], "/usr\n");
}

#[test]
fn commands_are_counted_as_execs() {
    let bridge = Bridge::start();
    bridge.exec(json!({"cmd": "true"}));
    bridge.exec(json!({"cmd": "pwd", "cwd": "none"}));
    bridge.exec(json!({"cmd": "sleep 9", "timeout": 0.05}));
    let mut wire = bridge.daemon.connect();
    let stats = wire.output("server.stats", json!({}));
    let exec = &stats["tools"]["exec"];
    assert_eq!(
        (&exec["completed"], &exec["failed"], &exec["timed_out"]),
        (&json!(1), &json!(1), &json!(1)),
        "{stats}"
    );
    assert_eq!(
        (&exec["in_flight"], &stats["children"], &stats["running"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert!(stats["bytes_out"].as_u64() > Some(0), "{stats}");
}

#[test]
fn a_flag_that_cannot_be_refuses_the_start() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("root")).unwrap();
    let open = folder.path().join("open");
    std::fs::write(&open, "a".repeat(64)).unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let token = folder.path().join("token");
    let token = ["--http-token-file", token.to_str().unwrap()];
    let http = ["--http", "127.0.0.1:0"];
    for (flags, says) in [
        (vec!["--http", "0.0.0.0:0"], "--http-allow-remote"),
        (vec!["--http", "8787"], "--http"),
        (vec!["--http", "localhost:8787"], "--http"),
        ([&http[..], &["--http-allow-origin", "null"]].concat(), "null"),
        ([&http[..], &["--http-allow-origin", "https://app.example/"]].concat(), "https://app.example/"),
        ([&http[..], &["--http-allow-origin", "*"]].concat(), "wildcard"),
        ([&http[..], &["--http-host", "http://box.lan"]].concat(), "http://box.lan"),
        ([&http[..], &["--http-token-file", open.to_str().unwrap()]].concat(), "0644"),
        (vec!["--http-allow-remote"], "need --http"),
    ] {
        let mut command = Daemon::command(folder.path());
        if !flags.contains(&"--http-token-file") && flags.contains(&"--http") {
            command.args(token);
        }
        let output = command.args(&flags).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {errors}");
        assert!(errors.contains(says), "{flags:?}: {errors}");
    }
    assert!(!folder.path().join("token").exists(), "a token was made for a daemon that did not start");
}

#[test]
fn the_flags_are_keys_of_the_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let token_file = folder.path().join("token");
    std::fs::create_dir(folder.path().join("root")).unwrap();
    let config = folder.path().join("config.toml");
    let text = format!(
        "http = \"127.0.0.1:0\"\nhttp-token-file = \"{}\"\nhttp-host = [\"box.lan\"]\nhttp-allow-origin = [\"{ORIGIN}\"]\nhttp-allow-remote = false\n",
        token_file.display()
    );
    std::fs::write(&config, text).unwrap();
    let flags = ["--config", config.to_str().unwrap()];
    let bridge = Bridge::of(Daemon::start_in(folder, &flags, &[]), token_file);
    let answer = bridge.say(&format!("GET /health HTTP/1.1\r\nHost: BOX.lan\r\nOrigin: {ORIGIN}\r\n\r\n"));
    assert_eq!((answer.status, answer.body.as_str()), (200, "{\"ok\":true}"));
}

#[test]
fn the_console_is_there_only_when_it_was_asked_for() {
    let get = |bridge: &Bridge, path: &str, more: &str| {
        bridge.say(&format!("GET {path} HTTP/1.1\r\nHost: localhost:{}\r\n{more}\r\n", bridge.port))
    };
    let bridge = Bridge::start();
    assert_eq!([get(&bridge, "/", "").status, get(&bridge, "/stats", "").status], [404, 404]);
    let bridge = Bridge::start_with(&["--http-console"], &[]);
    let page = get(&bridge, "/", "");
    assert_eq!((page.status, page.headers["content-type"].as_str()), (200, "text/html; charset=utf-8"));
    assert!(page.headers["content-security-policy"].starts_with("default-src 'none'; connect-src 'self';"));
    assert!(!page.body.contains(&bridge.token));
    assert_eq!(get(&bridge, "/stats", "").status, 401);
    let bearer = format!("Authorization: Bearer {}\r\n", bridge.token);
    assert_eq!(bridge.exec(json!({"cmd": "true"}))["errno"], 0);
    let stats = get(&bridge, "/stats", &bearer).json();
    assert_eq!(
        (&stats["tools"]["exec"]["completed"], &stats["version"]),
        (&json!(1), &json!(env!("CARGO_PKG_VERSION")))
    );
    // Its own pages may ask, those of others may not, be they of this machine.
    let own = format!("localhost:{}", bridge.port);
    for (origin, status) in [(own.as_str(), 200), ("localhost", 403), ("evil.example", 403)] {
        let origin = format!("{bearer}Origin: http://{origin}\r\n");
        assert_eq!(get(&bridge, "/stats", &origin).status, status, "{origin}");
    }
}
