use super::{ConnectError, Settings, below, connect};
use crate::provider::openai;
use crate::secret::Secret;

fn settings(provider: &str, base_url: Option<&str>, key: Option<&str>) -> Settings {
    Settings {
        provider: provider.to_owned(),
        base_url: base_url.map(str::to_owned),
        key: key.map(Secret::new),
        region: None,
    }
}

async fn refusal(settings: &Settings) -> String {
    connect(settings).await.err().expect("a refusal").to_string()
}

#[tokio::test]
async fn what_cannot_be_spoken_to_is_said_with_what_to_do() {
    assert_eq!(
        refusal(&settings("openai", None, None)).await,
        "no API key for openai: set OPENAI_API_KEY, or api_key in [providers.openai]"
    );
    assert_eq!(
        refusal(&settings("anthropic", Some("http://localhost:1"), Some(""))).await,
        "no API key for anthropic: set ANTHROPIC_API_KEY, or api_key in [providers.anthropic]"
    );
    let unknown = refusal(&settings("nobody", None, Some("key"))).await;
    assert!(
        unknown.starts_with(r#"unsupported provider "nobody": supported are anthropic, openai, ollama"#),
        "{unknown}"
    );
    assert_eq!(
        refusal(&settings("local", Some("ftp://x"), None)).await,
        r#"invalid base_url "ftp://x" for local: ftp is neither http nor https"#
    );
    assert_eq!(
        refusal(&settings("local", Some("localhost"), None)).await,
        r#"invalid base_url "localhost" for local: relative URL without a base"#
    );
    assert_eq!(
        refusal(&settings("local", Some("http://user:hunter2@host:port/v1"), None)).await,
        r#"invalid base_url "http://host:port/v1" for local: invalid port number"#
    );
    let error = connect(&settings("openai", None, Some("two\nlines"))).await.err();
    assert!(matches!(error, Some(ConnectError::UnusableKey { .. })));
}

#[test]
fn bases_with_and_without_a_path_lead_to_the_endpoint() {
    for (base, expected) in [
        ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://x.example/deep?api-version=7", "https://x.example/deep/chat/completions?api-version=7"),
    ] {
        let settings = settings("openai", Some(base), Some("key"));
        let base = settings.base(openai::DEFAULT_BASE_URL).unwrap();
        assert_eq!(openai::connect(&settings, base).unwrap().url.as_str(), expected);
    }
    let base = "https://opencode.ai/zen/".parse().unwrap();
    assert_eq!(below(&base, "/v1/messages").as_str(), "https://opencode.ai/zen/v1/messages");
}

#[tokio::test]
async fn the_cap_is_named_by_the_address() {
    use crate::provider::Request;
    use crate::provider::testing::request;
    for (base, name) in [(None, "max_completion_tokens"), (Some("http://localhost:1/v1"), "max_tokens")] {
        let settings = settings("openai", base, Some("key"));
        let endpoint = openai::connect(&settings, settings.base(openai::DEFAULT_BASE_URL).unwrap()).unwrap();
        let body = endpoint.wire.body(&Request { max_tokens: Some(7), ..request() }, false);
        assert_eq!(body[name], 7);
    }
}

#[test]
fn settings_show_no_key() {
    let shown = format!("{:?}", settings("openai", None, Some("sk-secret")));
    assert!(!shown.contains("sk-secret"), "{shown}");
}
