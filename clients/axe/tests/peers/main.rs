//! Providers and MCP sessions against servers that others wrote. `tests/peers/run` installs and starts them, and says where they are.
//!
//! Built only when asked for: `cargo test -p axe --test peers`.

#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

use axe::provider::{
    Arguments, Category, Error, Message, Provider, Reply, Request, Settings, ToolResult, ToolSpec, connect,
    drain,
};
use axe::secret::Secret;
use serde_json::{Value, json};

/// An address that the script tells.
fn address(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: use tests/peers/run"))
}

fn request(model: &str) -> Request {
    Request {
        model: model.to_owned(),
        system: "be brief".to_owned(),
        messages: vec![Message::User("hi".to_owned())],
        tools: Vec::new(),
        temperature: Some(0.5),
        max_tokens: Some(100),
        response_format: None,
    }
}

fn with_tool(model: &str) -> Request {
    let input_schema =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tool =
        ToolSpec { name: "read_file".to_owned(), description: "Reads a file.".to_owned(), input_schema };
    Request { tools: vec![tool], ..request(model) }
}

/// The same request after the model's calls were answered.
fn answered(request: &Request, reply: &Reply) -> Request {
    let results = reply.calls.iter().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: format!("content of {}", call.id),
        is_error: false,
    });
    let said = Message::Assistant { text: reply.text.clone(), calls: reply.calls.clone() };
    let mut request = request.clone();
    request.messages.extend([said, Message::ToolResults(results.collect())]);
    request
}

async fn streamed(provider: &dyn Provider, request: &Request) -> Result<Reply, Error> {
    drain(provider.stream(request).await?).await
}

mod mcp {
    //! `mcp_server.py`, made with the official Python SDK.

    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use axe::config::{Environment, McpServer, Transport};
    use axe::mcp::Servers;
    use axe::tools::Outcome;

    use super::*;

    fn environment() -> Environment {
        Environment::new("/", [("PATH", "/usr/bin:/bin"), ("TOKEN", "t0k3n"), ("OPENAI_API_KEY", "sk-1")])
    }

    async fn connect(transport: Transport) -> Servers {
        let server = McpServer { name: "peer".to_owned(), transport };
        Servers::connect(&[server], &environment(), |_| false, |_| {}).await.unwrap()
    }

    fn stdio() -> Transport {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/mcp_server.py");
        Transport::Stdio {
            command: address("AXE_PEERS_PYTHON"),
            args: vec![script.to_str().unwrap().to_owned(), "stdio".to_owned()],
            env: BTreeMap::from([("OWN".to_owned(), "<${TOKEN}>".to_owned())]),
        }
    }

    fn headers() -> BTreeMap<String, String> {
        BTreeMap::from([("X-Token".to_owned(), "Bearer ${TOKEN}".to_owned())])
    }

    fn sse() -> Transport {
        Transport::Sse { url: address("AXE_PEERS_MCP_SSE"), headers: headers() }
    }

    fn streamable_http() -> Transport {
        Transport::StreamableHttp { url: address("AXE_PEERS_MCP_HTTP"), headers: headers() }
    }

    async fn call(servers: &Servers, tool: &str, arguments: Value) -> Outcome {
        servers.call(tool, arguments.as_object().unwrap()).await.unwrap()
    }

    async fn answers(servers: &Servers) {
        let add = servers.specs().iter().find(|spec| spec.name == "add").unwrap();
        assert_eq!(add.input_schema["properties"]["numbers"]["items"], json!({"type": "integer"}));
        let outcome = call(servers, "add", json!({"numbers": [1_000_000, 2], "options": {"a": true}})).await;
        assert_eq!((outcome.content.as_str(), outcome.is_error), ("1000002 {'a': True}", false));
        let outcome = call(servers, "fail", json!({})).await;
        assert!(outcome.is_error && outcome.content.contains("as it should"), "{outcome:?}");
        let outcome = call(servers, "add", json!({"numbers": "x"})).await;
        assert!(outcome.is_error, "{outcome:?}");
        let outcome = call(servers, "draw", json!({})).await;
        assert_eq!(outcome.content, "[image: image/png, 5 bytes, not shown]");
        assert_eq!(call(servers, "large", json!({})).await.content.len(), 200_000);
    }

    #[tokio::test]
    async fn stdio_answers_and_ends_with_its_children() {
        let mut servers = connect(stdio()).await;
        answers(&servers).await;
        assert_eq!(call(&servers, "variable", json!({"name": "OWN"})).await.content, "<t0k3n>");
        assert_eq!(call(&servers, "variable", json!({"name": "OPENAI_API_KEY"})).await.content, "(unset)");
        let child = call(&servers, "leave", json!({})).await.content;
        let start = Instant::now();
        servers.close().await;
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
        tokio::time::sleep(Duration::from_millis(200)).await;
        let stat = std::fs::read_to_string(Path::new("/proc").join(&child).join("stat"));
        // It may wait for a parent that reaps it.
        assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")), "{child} lives");
    }

    #[tokio::test]
    async fn both_http_transports_answer_and_carry_headers() {
        for transport in [sse(), streamable_http()] {
            let name = transport.as_str();
            let mut servers = connect(transport).await;
            answers(&servers).await;
            let outcome = call(&servers, "header", json!({"name": "x-token"})).await;
            assert_eq!(outcome.content, "Bearer t0k3n", "{name}");
            let start = Instant::now();
            servers.close().await;
            assert!(start.elapsed() < Duration::from_secs(2), "{name}: {:?}", start.elapsed());
        }
    }

    #[tokio::test]
    async fn calls_run_at_once_over_each_transport() {
        for transport in [stdio(), sse(), streamable_http()] {
            let mut servers = connect(transport).await;
            let calls = (0..20).map(|n| {
                let servers = &servers;
                async move { call(servers, "add", json!({"numbers": [n]})).await.content }
            });
            let answers = futures_util::future::join_all(calls).await;
            let expected: Vec<_> = (0..20).map(|n| format!("{n} None")).collect();
            assert_eq!(answers, expected);
            servers.close().await;
        }
    }
}

mod litellm {
    use super::*;

    async fn provider(name: &str) -> Box<dyn Provider> {
        let settings = Settings {
            provider: name.to_owned(),
            base_url: Some(address("AXE_PEERS_LITELLM")),
            key: Some(Secret::new("sk-master-0123456789")),
            region: None,
        };
        connect(&settings).await.unwrap()
    }

    #[tokio::test]
    async fn both_shapes_answer_whole_and_streamed() {
        for name in ["openai", "anthropic", "litellm"] {
            let provider = provider(name).await;
            let whole = provider.complete(&request("mock")).await.unwrap();
            assert_eq!(whole.text, "Hello from a mock.", "{name}");
            assert!(
                whole.usage.input_tokens > 0 && whole.usage.output_tokens > 0,
                "{name}: {:?}",
                whole.usage
            );
            let streamed = streamed(&*provider, &request("mock")).await.unwrap();
            assert_eq!(streamed.text, "Hello from a mock.", "{name}");
            assert_eq!(streamed.stop_reason, whole.stop_reason, "{name}");
            assert!(streamed.usage.input_tokens > 0, "{name}");
        }
    }

    #[tokio::test]
    async fn tools_are_called_and_answered() {
        let provider = provider("openai").await;
        let request = with_tool("tooling");
        let path = |reply: &Reply, at: usize| reply.calls[at].arguments.clone();
        let whole = provider.complete(&request).await.unwrap();
        assert_eq!(path(&whole, 0), Arguments::from_text(r#"{"path": "a.txt"}"#));
        assert_eq!(path(&whole, 1), Arguments::from_text(r#"{"path": "b.txt"}"#));
        provider.complete(&answered(&request, &whole)).await.unwrap();
        // Its mock streams leave calls out; the request for one is taken all the same.
        streamed(&*provider, &answered(&request, &whole)).await.unwrap();
    }

    #[tokio::test]
    async fn errors_have_their_categories() {
        // Wrong keys are not among them: without a database the proxy answers those with 400 or 500.
        for name in ["openai", "anthropic"] {
            let provider = provider(name).await;
            for (model, expected) in [
                ("limited", Category::RateLimit),
                ("broken", Category::Server),
                ("nonesuch", Category::BadRequest),
            ] {
                for error in [
                    provider.complete(&request(model)).await.unwrap_err(),
                    streamed(&*provider, &request(model)).await.unwrap_err(),
                ] {
                    assert_eq!(error.category, expected, "{name} {model}: {error}");
                }
            }
        }
    }
}

mod bedrock {
    use super::*;

    async fn provider() -> Box<dyn Provider> {
        let base_url = Some(address("AXE_PEERS_CONVERSE"));
        let region = std::env::var("AWS_REGION").ok();
        let settings = Settings { provider: "bedrock".to_owned(), base_url, key: None, region };
        connect(&settings).await.unwrap()
    }

    const MODEL: &str = "anthropic.claude-3-5-sonnet-20241022-v2:0";

    #[tokio::test]
    async fn aws_accepts_what_is_sent() {
        let provider = provider().await;
        let plain = request(MODEL);
        assert_eq!(provider.complete(&plain).await.unwrap().text, "echo: hi");
        assert_eq!(streamed(&*provider, &plain).await.unwrap().text, "echo: hi");

        let request = with_tool("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x");
        let whole = provider.complete(&request).await.unwrap();
        assert_eq!(whole.calls[0].arguments, Arguments::from_text(r#"{"path": "a.txt"}"#));
        let streamed_reply = streamed(&*provider, &request).await.unwrap();
        assert_eq!((&streamed_reply.calls, streamed_reply.usage), (&whole.calls, whole.usage));
        let after = answered(&request, &whole);
        assert_eq!(provider.complete(&after).await.unwrap().text, "echo: content of tooluse_1");
        assert_eq!(streamed(&*provider, &after).await.unwrap().text, "echo: content of tooluse_1");
    }

    #[tokio::test]
    async fn a_stranger_is_not_trusted() {
        let error = provider().await.complete(&request(MODEL)).await.unwrap_err();
        assert_eq!(error.category, Category::Server);
        assert!(error.message.contains("invalid peer certificate: UnknownIssuer"), "{error}");
    }

    #[tokio::test]
    async fn a_role_is_taken_on() {
        // The keys that STS gave are nobody's at the server, which is proof enough that there are some.
        let error = provider().await.complete(&request(MODEL)).await.unwrap_err();
        assert_eq!(error.to_string(), "auth: no credentials that are known");
    }

    #[tokio::test]
    async fn without_credentials_it_says_what_to_set() {
        let error = provider().await.complete(&request(MODEL)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "auth: no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        );
        let nowhere = Settings { provider: "bedrock".to_owned(), ..Settings::default() };
        assert!(connect(&nowhere).await.err().unwrap().to_string().starts_with("no AWS region for bedrock"));
    }
}
