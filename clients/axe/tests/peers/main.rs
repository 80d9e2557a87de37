//! Providers against servers that others wrote. `tests/peers/run` installs and starts them, and says where they are.
//!
//! Built only when asked for: `cargo test -p axe --test peers`.

use axe::provider::{
    Arguments, Category, Error, Message, Provider, Reply, Request, Settings, ToolResult, ToolSpec, connect,
    drain,
};
use axe::secret::Secret;
use serde_json::json;

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
