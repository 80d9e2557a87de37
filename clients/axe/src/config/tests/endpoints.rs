//! Providers: who is known, where they are, and which key they get.

use super::Home;
use crate::config::{Global, known_secrets, provider_settings};
use crate::provider::Settings;
use crate::secret::Secret;

fn resolve(config: &str, provider: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
    let home = Home::new();
    home.write(".config/axe/config.toml", config);
    let place = home.place(&[]);
    let environment = home.environment(variables);
    provider_settings(provider, &place.global, &environment).map_err(|error| error.to_string())
}

#[test]
fn environment_goes_over_config_goes_over_what_is_built_in() {
    let config = "[providers.openai]\napi_key = \"file\"\nbase_url = \"http://file\"\n";
    for (config, variables, key, base_url) in [
        ("", &[("OPENAI_API_KEY", "env")][..], "env", None),
        (config, &[], "file", Some("http://file")),
        (config, &[("OPENAI_API_KEY", ""), ("AXE_OPENAI_BASE_URL", "")], "file", Some("http://file")),
        (
            config,
            &[("OPENAI_API_KEY", "env"), ("AXE_OPENAI_BASE_URL", "http://env")],
            "env",
            Some("http://env"),
        ),
    ] {
        let endpoint = resolve(config, "openai", variables).unwrap();
        assert_eq!(endpoint.key, Some(Secret::new(key)));
        assert_eq!(endpoint.base_url.as_deref(), base_url);
    }
}

#[test]
fn built_in_providers_need_a_key_or_not() {
    let keys = [("ANTHROPIC_API_KEY", "k"), ("OPENCODE_API_KEY", "k"), ("AWS_REGION", "eu-west-1")];
    for (provider, key) in
        [("anthropic", Some("k")), ("ollama", None), ("opencode", Some("k")), ("bedrock", None)]
    {
        let endpoint = resolve("", provider, &keys).unwrap();
        assert_eq!((endpoint.key, endpoint.base_url), (key.map(Secret::new), None), "{provider}");
    }
}

#[test]
fn a_base_url_makes_any_other_name_a_provider_and_a_key_is_not_needed() {
    let config = "[providers.my-llm]\nbase_url = \"http://h/v1\"\n";
    let endpoint = resolve(config, "my-llm", &[]).unwrap();
    assert_eq!((endpoint.base_url.as_deref(), endpoint.key), (Some("http://h/v1"), None));
    let endpoint = resolve(config, "my-llm", &[("MY_LLM_API_KEY", "k")]).unwrap();
    assert_eq!(endpoint.key, Some(Secret::new("k")));
    let endpoint = resolve("", "other", &[("AXE_OTHER_BASE_URL", "http://h")]).unwrap();
    assert_eq!(endpoint.base_url.as_deref(), Some("http://h"));
}

#[test]
fn what_is_missing_is_named_with_what_to_set() {
    for (provider, message) in [
        ("anthropic", "no API key for provider \"anthropic\": set ANTHROPIC_API_KEY, or "),
        ("openai", "no API key for provider \"openai\": set OPENAI_API_KEY, or "),
        ("opencode", "no API key for provider \"opencode\": set OPENCODE_API_KEY, or "),
        ("bedrock", "no region for provider \"bedrock\": set AWS_REGION, or "),
        (
            "nobody",
            "unsupported provider \"nobody\": supported are anthropic, bedrock, ollama, openai, opencode; ",
        ),
    ] {
        let error = resolve("", provider, &[]).unwrap_err();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn regions_come_from_the_first_that_says_one() {
    let config = "[providers.bedrock]\nregion = \"file\"\n";
    for (variables, region) in [
        (&[("AWS_REGION", "a"), ("AWS_DEFAULT_REGION", "b")][..], "a"),
        (&[("AWS_DEFAULT_REGION", "b"), ("AXE_BEDROCK_REGION", "c")], "b"),
        (&[("AXE_BEDROCK_REGION", "c")], "c"),
        (&[], "file"),
    ] {
        assert_eq!(resolve(config, "bedrock", variables).unwrap().region.as_deref(), Some(region));
    }
}

#[test]
fn the_profiles_region_comes_last() {
    let home = Home::new();
    home.write(
        ".aws/config",
        "[default]\nregion = d\n[profile p]\noutput = json\nregion=q # no comment\n; no\n",
    );
    home.write("aws", "[default]\nregion = e\n");
    let region = |variables: &[(&str, &str)]| {
        provider_settings("bedrock", &Global::default(), &home.environment(variables))
            .unwrap()
            .region
            .unwrap()
    };
    assert_eq!(region(&[]), "d");
    assert_eq!(region(&[("AWS_PROFILE", "p")]), "q");
    assert_eq!(region(&[("AWS_CONFIG_FILE", home.path().join("aws").to_str().unwrap())]), "e");
}

#[track_caller]
fn broken(config: &str, message: &str) {
    let home = Home::new();
    home.write(".config/axe/config.toml", config);
    let path = home.path().join(".config/axe/config.toml");
    let error = Global::load(&path).unwrap_err().to_string();
    assert!(error.starts_with("failed to parse config file ") && error.ends_with(message), "{error}");
    assert!(!error.contains("sk-") && !error.contains('\n'), "{error}");
}

#[test]
fn a_broken_config_file_says_where_and_never_quotes_a_value() {
    broken("providers = \"sk-1\"", "providers must be a table, not string");
    broken("[providers]\nopenai = \"sk-1\"", "providers.openai must be a table, not string");
    broken(
        "[providers.openai]\napi_key = [\"sk-1\"]",
        "providers.openai.api_key must be a string, not array",
    );
    let home = Home::new();
    home.write("c.toml", "[providers.openai]\napi_key = \"sk-1\nbase_url = 3");
    let error = Global::load(&home.path().join("c.toml")).unwrap_err().to_string();
    assert!(error.contains("line 2: ") && !error.contains("sk-1"), "{error}");
}

#[test]
fn unknown_keys_warn_and_a_missing_file_says_nothing() {
    let home = Home::new();
    let path = home.path().join("c.toml");
    assert_eq!(Global::load(&path).unwrap(), Global::default());
    home.write("c.toml", "x = 1\n[providers.openai]\napikey = \"sk-1\"\n");
    let warnings = Global::load(&path).unwrap().warnings;
    assert!(warnings[0].ends_with("c.toml:1: unknown key \"x\" is ignored"), "{warnings:?}");
    let second = "c.toml:3: unknown key \"providers.openai.apikey\" is ignored; did you mean \"providers.openai.api_key\"?";
    assert!(warnings[1].ends_with(second), "{warnings:?}");
}

#[test]
fn secrets_are_known_and_never_shown() {
    let home = Home::new();
    home.write(".config/axe/config.toml", "[providers.x]\napi_key = \"filekey\"\nbase_url = \"http://h\"\n");
    let place = home.place(&[
        ("OPENAI_API_KEY", "openaikey"),
        ("X_API_KEY", "xkey"),
        ("TAVILY_API_KEY", "t"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("GH_TOKEN", "gh"),
        ("PATH", "/bin"),
    ]);
    let secrets = known_secrets(&place.global, &place.environment);
    assert!(!secrets.contains(&Secret::new("/bin")));
    for expected in ["filekey", "openaikey", "xkey", "t", "id", "gh"] {
        assert!(secrets.contains(&Secret::new(expected)), "{expected}");
    }
    let shown = format!("{place:?} {secrets:?}");
    for key in ["filekey", "openaikey", "xkey"] {
        assert!(!shown.contains(key), "{shown}");
    }
}
