//! OpenCode's Zen gateway: three wire formats behind one address, told apart by the model's name.

use reqwest::header::{AUTHORIZATION, HeaderMap};
use url::Url;

use super::anthropic::{self, Messages};
use super::connect::{ConnectError, Settings, below};
use super::failure::Dialect;
use super::http::{Endpoint, Exchange};
use super::openai::{Cap, Chat};
use super::responses::Responses;
use super::wire::Wire;
use super::{Boxed, Error, EventStream, Provider, Reply, Request};

/// Where the gateway lives.
pub(crate) const DEFAULT_BASE_URL: &str = "https://opencode.ai/zen";

/// The gateway.
pub(crate) struct OpenCode {
    claude: Endpoint,
    gpt: Endpoint,
    other: Endpoint,
}

pub(crate) fn connect(settings: &Settings, base: &Url) -> Result<OpenCode, ConnectError> {
    let mut headers = HeaderMap::new();
    if let Some(key) = settings.key() {
        headers.insert(AUTHORIZATION, settings.header(&format!("Bearer {}", key.expose()))?);
    }
    let exchange = settings.exchange(base)?;
    let endpoint = |path: &str, wire: Box<dyn Wire>, dialect: Dialect| Endpoint {
        exchange: Exchange { dialect, ..exchange.clone() },
        url: below(base, path),
        headers: headers.clone(),
        wire,
    };
    let mut claude = endpoint("/v1/messages", Box::new(Messages), Dialect::Anthropic);
    claude.headers.extend([anthropic::version()]);
    Ok(OpenCode {
        claude,
        gpt: endpoint("/v1/responses", Box::new(Responses), Dialect::Plain),
        other: endpoint("/v1/chat/completions", Box::new(Chat { cap: Cap::MaxTokens }), Dialect::Plain),
    })
}

impl OpenCode {
    fn endpoint(&self, model: &str) -> &Endpoint {
        if model.starts_with("claude-") {
            &self.claude
        } else if model.starts_with("gpt-") {
            &self.gpt
        } else {
            &self.other
        }
    }
}

impl Provider for OpenCode {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, Error>> {
        self.endpoint(&request.model).complete(request)
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, Error>> {
        self.endpoint(&request.model).stream(request)
    }
}

#[cfg(test)]
mod tests;
