use crate::net::testing::{Server, answer};
use crate::provider::testing::request;
use crate::provider::{Category, Request, Settings, connect};
use crate::secret::Secret;

#[tokio::test]
async fn models_are_routed_by_their_prefix() {
    for (model, line, cap, overload) in [
        ("claude-sonnet-4", "POST /zen/v1/messages HTTP/1.1", "max_tokens", Category::Overloaded),
        ("gpt-5", "POST /zen/v1/responses HTTP/1.1", "max_output_tokens", Category::Server),
        ("qwen3-coder", "POST /zen/v1/chat/completions HTTP/1.1", "max_tokens", Category::Server),
        ("gptless", "POST /zen/v1/chat/completions HTTP/1.1", "max_tokens", Category::Server),
    ] {
        let server = Server::start([answer(529, &[], "")]).await;
        let settings = Settings {
            provider: "opencode".to_owned(),
            base_url: Some(server.url() + "/zen"),
            key: Some(Secret::new("key")),
            region: None,
        };
        let request = Request { model: model.to_owned(), max_tokens: Some(7), ..request() };
        let provider = connect(&settings).await.unwrap();
        assert_eq!(provider.complete(&request).await.unwrap_err().category, overload, "{model}");
        assert!(provider.stream(&request).await.is_err());
        let seen = &server.seen()[0];
        assert_eq!(seen.line, line);
        assert_eq!(seen.headers["authorization"], "Bearer key");
        assert_eq!(seen.headers.contains_key("anthropic-version"), model.starts_with("claude-"));
        assert_eq!(seen.json()[cap], 7);
        assert_eq!(server.seen()[1].json()["stream"], true);
    }
}
