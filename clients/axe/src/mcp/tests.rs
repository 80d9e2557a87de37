use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, json};

use super::*;
use crate::config::{Environment, McpServer, Transport};
use crate::tools::Outcome;

/// A server on stdio in a few lines of shell, which answers the first requests by their ids.
const SERVER: &str = r#"
read line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
read line; read line
echo '{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"more","tools":[{"name":"one","description":"D","inputSchema":{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}}}}]}}'
read line
echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"two","inputSchema":{"type":"object"}},{"name":"read_file","inputSchema":{"type":"object"}}]}}'
read line; printf '%s' "$line" > "$OUT"
echo '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"'"$SECRET"'"}]}}'
"#;

fn server(name: &str, script: &str, env: &[(&str, &str)]) -> McpServer {
    let env: BTreeMap<_, _> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let args = vec!["-c".to_owned(), script.to_owned()];
    McpServer { name: name.to_owned(), transport: Transport::Stdio { command: "sh".to_owned(), args, env } }
}

fn environment() -> Environment {
    Environment::new("/", [("PATH", "/usr/bin:/bin"), ("TOKEN", "t0k3n"), ("OPENAI_API_KEY", "sk-1")])
}

async fn connect(servers: &[McpServer]) -> Result<Servers, Error> {
    Servers::connect(servers, &environment(), |name| name == "read_file", |_| {}).await
}

#[tokio::test]
async fn a_server_on_stdio_is_started_asked_and_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let out = out.to_str().expect("text");
    let one = server("s", SERVER, &[("SECRET", "<${TOKEN}>$TOKEN"), ("OUT", out)]);
    let mut servers = connect(&[one]).await.expect("it starts");
    let names: Vec<_> = servers.specs().iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["x"]}}}});
    assert_eq!((servers.specs()[0].description.as_str(), &servers.specs()[0].input_schema), ("D", &schema));
    assert_eq!((servers.server_of("two"), servers.server_of("read_file")), (Some("s"), None));
    let arguments = json!({"a": ["x"], "n": 1_000_000, "o": {"b": null}});
    let outcome = servers.call("one", arguments.as_object().expect("an object")).await.expect("it is there");
    assert_eq!((outcome.content.as_str(), outcome.is_error), ("<t0k3n>$TOKEN", false));
    let sent: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(out).expect("the request")).expect("JSON");
    assert_eq!(sent["params"]["arguments"], arguments);
    servers.close().await;
}

#[tokio::test]
async fn a_server_that_does_not_want_to_end_is_killed_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let pids = folder.path().join("pids");
    let stubborn = SERVER.replace(
        "read line; printf",
        "trap '' TERM HUP; sleep 300 & echo $$ $! > \"$OUT\"; while :; do sleep 1; done; printf",
    );
    let stubborn = server("s", &stubborn, &[("OUT", pids.to_str().expect("text"))]);
    for is_closed in [true, false] {
        let mut servers = connect(std::slice::from_ref(&stubborn)).await.expect("it starts");
        let start = Instant::now();
        let arguments = Map::new();
        let call = servers.call("one", &arguments);
        assert!(tokio::time::timeout(Duration::from_millis(300), call).await.is_err());
        match is_closed {
            true => servers.close().await,
            false => drop(servers),
        }
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        let pids = std::fs::read_to_string(&pids).expect("pids");
        for pid in pids.split_whitespace() {
            let stat = format!("/proc/{pid}/stat");
            let is_gone = || {
                std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "))
                    || !std::path::Path::new(&stat).exists()
            };
            for _ in 0..100 {
                if is_gone() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(is_gone(), "{pid} lives");
        }
    }
}

#[tokio::test]
async fn a_server_that_quotes_its_secrets_in_errors_is_masked() {
    let refusal = SERVER.replace(
        "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"'\"$SECRET\"'\"}]}",
        "\"error\":{\"code\":-32000,\"message\":\"'\"$SECRET\"' is no token in '\"$OUT\"'\"}",
    );
    assert_ne!(refusal, SERVER);
    let refusal = server("s", &refusal, &[("SECRET", "Bearer ${LONG}"), ("OUT", "/dev/null")]);
    let environment = Environment::new("/", [("PATH", "/usr/bin:/bin"), ("LONG", "t0k3n-of-many-letters")]);
    let mut servers = Servers::connect(&[refusal], &environment, |_| false, |_| {}).await.expect("it starts");
    let outcome = servers.call("one", &Map::new()).await.expect("it is there");
    assert_eq!(outcome.content, "MCP tool \"one\" failed: *** is no token in /dev/null");
    assert!(outcome.is_error);
    servers.close().await;
}

#[tokio::test]
async fn faults_are_told_apart() {
    for (servers, start, is_config) in [
        (
            vec![server("s", SERVER, &[("X", "${UNSET}")])],
            "MCP server \"s\": environment variable \"UNSET\" is not set or empty",
            true,
        ),
        (
            vec![server("s", "exit 1", &[])],
            "MCP server \"s\" cannot be used: it ended the connection before it was ready",
            false,
        ),
        (
            vec![server("a", SERVER, &[("OUT", "/dev/null")]), server("b", SERVER, &[("OUT", "/dev/null")])],
            "MCP servers \"a\" and \"b\" both have a tool \"one\"",
            true,
        ),
        (
            vec![McpServer {
                name: "s".to_owned(),
                transport: Transport::Stdio {
                    command: "no-such-program".to_owned(),
                    args: Vec::new(),
                    env: BTreeMap::new(),
                },
            }],
            "MCP server \"s\": cannot start no-such-program: ",
            true,
        ),
        (vec![http("http://127.0.0.1:9/mcp", &[])], "MCP server \"s\" cannot be used: ", false),
        (
            vec![http("http://127.0.0.1:9/mcp", &[("bad name", "x")])],
            "MCP server \"s\": header \"bad name\" ",
            true,
        ),
    ] {
        let error = match connect(&servers).await {
            Ok(_) => panic!("{start}"),
            Err(error) => error,
        };
        assert!(error.to_string().starts_with(start), "{error}");
        assert_eq!(error.is_config(), is_config, "{error}");
    }
}

fn http(url: &str, headers: &[(&str, &str)]) -> McpServer {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    McpServer { name: "s".to_owned(), transport: Transport::StreamableHttp { url: url.to_owned(), headers } }
}

#[test]
fn results_become_text() {
    let check = |content: Vec<ContentBlock>,
                 structured: Option<serde_json::Value>,
                 expected: &str,
                 is_error: bool| {
        let mut result = CallToolResult::success(content);
        result.structured_content = structured;
        let expected = Outcome { content: expected.to_owned(), is_error, summary: "s".to_owned() };
        assert_eq!(result::outcome(&result, "s".to_owned()), expected);
    };
    let text = || ContentBlock::text("a");
    check(vec![text(), ContentBlock::text("b")], None, "a\nb", false);
    check(vec![], None, "MCP tool returned no text content", true);
    check(vec![], Some(json!({"x": 1})), "{\"x\":1}", false);
    check(vec![text()], Some(json!({"x": 1})), "a", false);
    let image = || ContentBlock::image("aGVsbG8=", "image/png");
    check(vec![image()], None, "[image: image/png, 5 bytes, not shown]", false);
    check(vec![image(), text()], None, "[image: image/png, 5 bytes, not shown]\na", false);
    check(vec![image()], Some(json!([1])), "[1]\n[image: image/png, 5 bytes, not shown]", false);
    let mut result = CallToolResult::error(vec![text()]);
    result.is_error = Some(true);
    assert!(result::outcome(&result, String::new()).is_error);
}
