//! Settings to a provider.

use std::sync::Arc;

use reqwest::header::HeaderValue;
use url::Url;

use super::failure::Dialect;
use super::http::Exchange;
use super::{Provider, anthropic, bedrock, ollama, openai, opencode};
use crate::net::connector::{self, ConnectorError};
use crate::secret::Secret;

/// The providers that are known by name.
pub const BUILT_IN: [&str; 5] = ["anthropic", "openai", "ollama", "opencode", "bedrock"];

/// All that has to be known of a provider, wherever it was configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The part of the model string before the first slash.
    pub provider: String,
    /// Moves a built-in provider's address; makes any other name a server that speaks like OpenAI's.
    pub base_url: Option<String>,
    /// An empty one counts as none.
    pub key: Option<Secret>,
    /// Bedrock's; without one the profile's is taken.
    pub region: Option<String>,
}

/// Why a provider cannot be spoken to. No request was made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody by that name, and no address that would make it somebody.
    #[error(
        "unsupported provider {provider:?}: supported are {}, and any other name with a base_url in [providers.{provider}]",
        BUILT_IN.join(", ")
    )]
    Unsupported {
        /// The name.
        provider: String,
    },
    /// The provider wants a key.
    #[error("no API key for {provider}: set {variable}, or api_key in [providers.{provider}]")]
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variable that would hold it.
        variable: String,
    },
    /// A key that no header can carry, such as one with a line break inside.
    #[error("the API key for {provider} holds characters that no HTTP header can carry")]
    UnusableKey {
        /// The provider.
        provider: String,
    },
    /// The address is none.
    #[error("invalid base_url {url:?} for {provider}: {why}")]
    BaseUrl {
        /// The provider.
        provider: String,
        /// As configured.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Bedrock is everywhere and has to be told where.
    #[error(
        "no AWS region for bedrock: set AWS_REGION, region in [providers.bedrock], or region in the profile of ~/.aws/config"
    )]
    MissingRegion,
    /// No connection can be made to anywhere.
    #[error(transparent)]
    Connector(#[from] ConnectorError),
}

/// The provider that `settings` name. It makes no request yet.
///
/// # Errors
/// See [`ConnectError`].
pub async fn connect(settings: &Settings) -> Result<Box<dyn Provider>, ConnectError> {
    let base = |default: &str| settings.base(default);
    Ok(match settings.provider.as_str() {
        "anthropic" => {
            Box::new(anthropic::connect(settings.with_key()?, &base(anthropic::DEFAULT_BASE_URL)?)?)
        }
        "openai" => Box::new(openai::connect(settings.with_key()?, base(openai::DEFAULT_BASE_URL)?)?),
        "opencode" => Box::new(opencode::connect(settings.with_key()?, &base(opencode::DEFAULT_BASE_URL)?)?),
        "ollama" => Box::new(ollama::connect(settings, &base(ollama::DEFAULT_BASE_URL)?)?),
        "bedrock" => Box::new(bedrock::connect(settings).await?),
        _ => match &settings.base_url {
            Some(url) if !url.is_empty() => Box::new(openai::connect(settings, base(url)?)?),
            _ => return Err(ConnectError::Unsupported { provider: settings.provider.clone() }),
        },
    })
}

/// The environment variable that holds a provider's key.
pub fn key_variable(provider: &str) -> String {
    match provider {
        "google" => "GEMINI_API_KEY".to_owned(),
        _ => format!("{}_API_KEY", in_variable(provider)),
    }
}

/// A provider's name within a variable's: shells know no other characters there.
pub fn in_variable(provider: &str) -> String {
    provider.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

impl Settings {
    pub(crate) fn key(&self) -> Option<&Secret> {
        self.key.as_ref().filter(|key| !key.is_empty())
    }

    fn with_key(&self) -> Result<&Self, ConnectError> {
        let missing = || ConnectError::MissingKey {
            provider: self.provider.clone(),
            variable: key_variable(&self.provider),
        };
        self.key().map(|_| self).ok_or_else(missing)
    }

    /// A header that carries the key, and says so to those who would print it.
    pub(crate) fn header(&self, value: &str) -> Result<HeaderValue, ConnectError> {
        let unusable = |_| ConnectError::UnusableKey { provider: self.provider.clone() };
        let mut value = HeaderValue::from_str(value).map_err(unusable)?;
        value.set_sensitive(true);
        Ok(value)
    }

    pub(crate) fn base(&self, default: &str) -> Result<Url, ConnectError> {
        let text = self.base_url.as_deref().filter(|url| !url.is_empty()).unwrap_or(default);
        let wrong = |why: String| ConnectError::BaseUrl {
            provider: self.provider.clone(),
            url: without_user(text),
            why,
        };
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => Ok(url),
            scheme => Err(wrong(format!("{scheme} is neither http nor https"))),
        }
    }

    pub(crate) fn exchange(&self, base: &Url) -> Result<Exchange, ConnectError> {
        let password = base.password().map(Secret::new);
        Ok(Exchange {
            client: connector::client(base)?,
            secrets: self.key().cloned().into_iter().chain(password).collect::<Arc<[Secret]>>(),
            dialect: match self.provider.as_str() {
                "anthropic" => Dialect::Anthropic,
                "bedrock" => Dialect::Aws,
                _ => Dialect::Plain,
            },
            hint: if self.provider == "ollama" { ollama::HINT } else { "" },
        })
    }
}

/// An address as it was written, without the user and the password before the host.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("//") else { return text.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}//{host}{path}")
}

/// `base` with `path` added to its own.
pub(crate) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}

#[cfg(test)]
mod tests;
