//! Which server a model is asked at, and with which key: environment over `config.toml`.

use super::{Environment, Error, Global, aws};
use crate::provider::{Settings, in_variable, key_variable};
use crate::secret::Secret;

/// The providers that need no address, and whether they need a key.
const BUILT_IN: [(&str, bool); 5] =
    [("anthropic", true), ("bedrock", false), ("ollama", false), ("openai", true), ("opencode", true)];
/// The one that has credentials of its own, and is in a region.
const BEDROCK: &str = "bedrock";

/// What there is to know of a provider: its address, None for a built-in one at its own; its key; its region, which is
/// always there for Bedrock.
///
/// # Errors
/// The provider is neither built in nor given an address, or lacks a key or a region.
pub fn provider_settings(
    provider: &str,
    global: &Global,
    environment: &Environment,
) -> Result<Settings, Error> {
    let configured = global.providers.get(provider).cloned().unwrap_or_default();
    let base_url = environment.get(&base_url_variable(provider)).map(str::to_owned);
    let base_url = base_url.or(configured.base_url);
    let built_in = BUILT_IN.iter().find(|(name, _)| *name == provider);
    if built_in.is_none() && base_url.is_none() {
        return Err(Error::UnsupportedProvider {
            name: provider.to_owned(),
            supported: BUILT_IN.map(|(name, _)| name).join(", "),
        });
    }
    let key = environment.get(&key_variable(provider)).map(Secret::new).or(configured.api_key);
    if built_in.is_some_and(|(_, needs_key)| *needs_key) && key.is_none() {
        return Err(Error::NoKey { provider: provider.to_owned(), variable: key_variable(provider) });
    }
    let region = region(provider, environment).or(configured.region);
    let region = if provider == BEDROCK {
        let region = region.or_else(|| aws::profile_region(environment));
        Some(region.ok_or_else(|| Error::NoRegion { provider: provider.to_owned() })?)
    } else {
        region
    };
    Ok(Settings { provider: provider.to_owned(), base_url, key, region })
}

/// Every key that the environment or `config.toml` may hold, so that none is printed.
pub fn known_secrets(global: &Global, environment: &Environment) -> Vec<Secret> {
    const ENDINGS: [&str; 5] = ["_API_KEY", "_ACCESS_KEY", "_ACCESS_KEY_ID", "_TOKEN", "_SECRET"];
    let is_key = |name: &&str| ENDINGS.iter().any(|ending| name.ends_with(ending));
    let variables = environment.names().filter(is_key);
    let from_environment = variables.filter_map(|name| environment.get(name)).map(Secret::new);
    let from_file = global.providers.values().filter_map(|settings| settings.api_key.clone());
    from_environment.chain(from_file).collect()
}

fn base_url_variable(provider: &str) -> String {
    format!("AXE_{}_BASE_URL", in_variable(provider))
}

fn region(provider: &str, environment: &Environment) -> Option<String> {
    let own = format!("AXE_{}_REGION", in_variable(provider));
    let variables = ["AWS_REGION", "AWS_DEFAULT_REGION", &own];
    variables.into_iter().find_map(|name| environment.get(name)).map(str::to_owned)
}
