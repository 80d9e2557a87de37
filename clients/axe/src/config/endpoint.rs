//! Which server a model is asked at, and with which key: environment over `config.toml` over what is built in.

use super::global::ProviderSettings;
use super::{Environment, Error, Global, Secret, aws};

/// What kind of server a provider is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The Messages API.
    Anthropic,
    /// Chat Completions at OpenAI itself.
    OpenAi,
    /// Ollama's own API.
    Ollama,
    /// The Zen gateway.
    OpenCode,
    /// AWS Bedrock.
    Bedrock,
    /// Chat Completions at any `[providers.X]` with a `base_url`.
    OpenAiCompatible,
}

/// The names that need no settings.
const BUILT_IN: [(&str, Kind); 5] = [
    ("anthropic", Kind::Anthropic),
    ("bedrock", Kind::Bedrock),
    ("ollama", Kind::Ollama),
    ("openai", Kind::OpenAi),
    ("opencode", Kind::OpenCode),
];

impl Kind {
    /// The kind of a built-in provider.
    pub fn built_in(provider: &str) -> Option<Self> {
        BUILT_IN.iter().find(|(name, _)| *name == provider).map(|(_, kind)| *kind)
    }

    fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Ollama => Some("http://localhost:11434"),
            Self::OpenCode => Some("https://opencode.ai/zen"),
            // Made from the region.
            Self::Bedrock => None,
            Self::OpenAiCompatible => None,
        }
    }

    fn needs_key(self) -> bool {
        matches!(self, Self::Anthropic | Self::OpenAi | Self::OpenCode)
    }
}

/// A provider's server, key and settings, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The provider's name.
    pub provider: String,
    /// What it speaks.
    pub kind: Kind,
    /// Where it is; None only for Bedrock, whose address follows from the region.
    pub base_url: Option<String>,
    /// Whether `base_url` is the built-in one.
    pub is_default_base_url: bool,
    /// The key; Bedrock has credentials of its own.
    pub key: Option<Secret>,
    /// The region; always there for Bedrock.
    pub region: Option<String>,
    /// What `config.toml` says beyond that.
    pub settings: ProviderSettings,
}

impl Endpoint {
    /// Resolves a provider's name.
    ///
    /// # Errors
    /// The provider is not known, or lacks a key or a region.
    pub fn resolve(provider: &str, global: &Global, environment: &Environment) -> Result<Self, Error> {
        let settings = global.providers.get(provider).cloned().unwrap_or_default();
        let configured = environment.get(&base_url_variable(provider)).map(str::to_owned);
        let configured = configured.or_else(|| settings.base_url.clone());
        let Some(kind) = Kind::built_in(provider).or(configured.as_ref().map(|_| Kind::OpenAiCompatible))
        else {
            return Err(Error::UnsupportedProvider {
                name: provider.to_owned(),
                supported: BUILT_IN.map(|(name, _)| name).join(", "),
            });
        };
        let key = environment.get(&key_variable(provider)).map(Secret::new);
        let key = key.or_else(|| settings.api_key.clone());
        if kind.needs_key() && key.is_none() {
            return Err(Error::NoKey { provider: provider.to_owned(), variable: key_variable(provider) });
        }
        let region = match kind {
            Kind::Bedrock => Some(
                region(provider, &settings, environment)
                    .ok_or_else(|| Error::NoRegion { provider: provider.to_owned() })?,
            ),
            _ => settings.region.clone(),
        };
        Ok(Self {
            provider: provider.to_owned(),
            kind,
            is_default_base_url: configured.is_none(),
            base_url: configured.or_else(|| kind.default_base_url().map(str::to_owned)),
            key,
            region,
            settings,
        })
    }
}

/// Every key that the environment or `config.toml` may hold, so that none is printed.
pub fn known_secrets(global: &Global, environment: &Environment) -> Vec<Secret> {
    const OTHERS: [&str; 4] =
        ["TAVILY_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID"];
    let built_in = BUILT_IN.iter().map(|(name, _)| *name);
    let names = built_in.chain(global.providers.keys().map(String::as_str));
    let variables = names.map(key_variable).chain(OTHERS.map(str::to_owned));
    let from_environment = variables.filter_map(|name| environment.get(&name).map(Secret::new));
    let from_file = global.providers.values().filter_map(|settings| settings.api_key.clone());
    from_environment.chain(from_file).collect()
}

/// The variable that holds a provider's key.
fn key_variable(provider: &str) -> String {
    match provider {
        "google" => "GEMINI_API_KEY".to_owned(),
        _ => format!("{}_API_KEY", upper(provider)),
    }
}

fn base_url_variable(provider: &str) -> String {
    format!("AXE_{}_BASE_URL", upper(provider))
}

fn region(provider: &str, settings: &ProviderSettings, environment: &Environment) -> Option<String> {
    let own = format!("AXE_{}_REGION", upper(provider));
    ["AWS_REGION", "AWS_DEFAULT_REGION", &own]
        .into_iter()
        .find_map(|name| environment.get(name))
        .map(str::to_owned)
        .or_else(|| settings.region.clone())
        .or_else(|| aws::profile_region(environment))
}

/// A provider's name within a variable's: shells know no other characters there.
fn upper(provider: &str) -> String {
    provider.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
