//! AWS Bedrock's Converse.
//!
//! Requests are signed by `aws-sigv4` and credentials come from `aws-config`; the bodies are small enough to be our own.
//! `aws-sdk-bedrockruntime` was weighed and left: 57,000 generated lines to compile for two operations, a reply type of
//! its own, tool arguments in a document type of its own, and errors that have to be taken apart again.

mod converse;
mod stream;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use aws_config::Region;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::meta::region::ProvideRegion as _;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4::SigningParams;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Mutex;
use url::Url;

use super::connect::{ConnectError, Settings};
use super::http::Exchange;
use super::wire::Wire as _;
use super::{Boxed, Category, Error, EventStream, Provider, Reply, Request, limits};
use crate::net::AwsClient;
use crate::net::connector::root_cause;
use crate::secret::Secret;
use converse::Converse;

/// The name by which signatures know the service.
const SERVICE: &str = "bedrock";

const JSON: &str = "application/json";

/// Bedrock in one region.
pub(crate) struct Bedrock {
    exchange: Exchange,
    base: Url,
    region: String,
    credentials: CredentialsCache,
}

/// Finds the region. Credentials are looked for by the first request, because the search may ask services.
pub(crate) async fn connect(settings: &Settings) -> Result<Bedrock, ConnectError> {
    let configured = settings.region.clone().filter(|region| !region.is_empty());
    let region = match configured {
        Some(region) => region,
        None => {
            let of_profile =
                ProfileFileRegionProvider::new().region().await.ok_or(ConnectError::MissingRegion)?;
            of_profile.to_string()
        }
    };
    // China's regions live in a domain of their own.
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let base = settings.base(&format!("https://bedrock-runtime.{region}.{domain}"))?;
    Ok(Bedrock {
        exchange: settings.exchange(&base)?,
        base,
        credentials: CredentialsCache::new(&region),
        region,
    })
}

impl Bedrock {
    async fn send(&self, request: &Request, operation: &str, is_streamed: bool) -> Result<Sent, Error> {
        let credentials = self.credentials.get().await?;
        let exchange = Exchange { secrets: secrets(&credentials), ..self.exchange.clone() };
        let url = self.url(&request.model, operation)?;
        let body = Converse.body(request, is_streamed).to_string().into_bytes();
        let signed = sign_request(&url, &body, credentials, &self.region, SystemTime::now());
        let mut headers = signed.map_err(|error| exchange.tidy(error))?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let response = exchange.send(&url, headers, body).await?;
        Ok(Sent { exchange, response })
    }

    /// Everything in the model's name but the unreserved is escaped: it may hold colons, and an ARN slashes as well.
    fn url(&self, model: &str, operation: &str) -> Result<Url, Error> {
        let mut escaped = String::with_capacity(model.len() * 3);
        for byte in model.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    escaped.push(char::from(byte))
                }
                byte => write!(escaped, "%{byte:02X}").map_err(|error| Error::server(error.to_string()))?,
            }
        }
        Ok(super::connect::below(&self.base, &format!("/model/{escaped}/{operation}")))
    }
}

/// An answer, and the exchange that knows the keys of its request.
struct Sent {
    exchange: Exchange,
    response: Response,
}

impl Provider for Bedrock {
    fn complete<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<Reply, Error>> {
        Box::pin(async move {
            let Sent { exchange, response } = self.send(request, "converse", false).await?;
            let body = exchange.json(response).await?;
            Converse.reply(request, &body).map_err(|error| exchange.tidy(error))
        })
    }

    fn stream<'a>(&'a self, request: &'a Request) -> Boxed<'a, Result<EventStream, Error>> {
        Box::pin(async move {
            let Sent { exchange, response } = self.send(request, "converse-stream", true).await?;
            Ok(exchange.events(response, Converse.decoder()))
        })
    }
}

fn secrets(credentials: &Credentials) -> Arc<[Secret]> {
    let texts = [
        Some(credentials.secret_access_key()),
        credentials.session_token(),
        Some(credentials.access_key_id()),
    ];
    texts.into_iter().flatten().map(Secret::new).collect()
}

/// The headers that prove who asks.
fn sign_request(
    url: &Url,
    body: &[u8],
    credentials: Credentials,
    region: &str,
    time: SystemTime,
) -> Result<HeaderMap, Error> {
    let unsigned = |error: &dyn std::fmt::Display| {
        Error::new(Category::Auth, format!("cannot sign the request: {error}"))
    };
    let identity = credentials.into();
    let parameters = SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(SERVICE)
        .time(time)
        .settings(SigningSettings::default())
        .build()
        .map_err(|error| unsigned(&error))?
        .into();
    let headers = [(CONTENT_TYPE.as_str(), JSON)];
    let request = SignableRequest::new("POST", url.as_str(), headers.into_iter(), SignableBody::Bytes(body));
    let request = request.map_err(|error| unsigned(&error))?;
    let (instructions, _) = sign(request, &parameters).map_err(|error| unsigned(&error))?.into_parts();
    let mut signed = HeaderMap::new();
    for (name, value) in instructions.headers() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| unsigned(&error))?;
        let mut value = HeaderValue::from_str(value).map_err(|error| unsigned(&error))?;
        value.set_sensitive(true);
        signed.insert(name, value);
    }
    Ok(signed)
}

/// The credentials that were found, until they end.
struct CredentialsCache {
    region: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Made by the first request: it reads files.
    provider: Option<SharedCredentialsProvider>,
    current: Option<Credentials>,
}

impl CredentialsCache {
    fn new(region: &str) -> Self {
        Self { region: region.to_owned(), state: Mutex::default() }
    }

    async fn get(&self) -> Result<Credentials, Error> {
        // Held over the search, so that ten sub-agents ask once.
        let mut state = self.state.lock().await;
        if let Some(current) = state.current.as_ref().filter(|current| is_good(current)) {
            return Ok(current.clone());
        }
        let provider = match &state.provider {
            Some(provider) => provider.clone(),
            None => state.provider.insert(chain(&self.region).await).clone(),
        };
        let found = provider.provide_credentials().await.map_err(|error| no_credentials(&error))?;
        state.current = Some(found.clone());
        Ok(found)
    }
}

fn is_good(credentials: &Credentials) -> bool {
    credentials.expiry().is_none_or(|expiry| expiry > SystemTime::now() + limits::CREDENTIALS_MARGIN)
}

/// Environment, shared files (with SSO, roles and credential processes), web identity, container, instance.
async fn chain(region: &str) -> SharedCredentialsProvider {
    let region = Region::new(region.to_owned());
    let config =
        ProviderConfig::without_region().with_region(Some(region.clone())).with_http_client(AwsClient);
    SharedCredentialsProvider::new(
        DefaultCredentialsChain::builder().configure(config).region(region).build().await,
    )
}

fn no_credentials(error: &CredentialsError) -> Error {
    let message = match error {
        CredentialsError::CredentialsNotLoaded(_) => {
            "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE".to_owned()
        }
        error => format!("AWS credentials cannot be loaded: {error}: {}", root_cause(error)),
    };
    Error::new(Category::Auth, message).tidied(&[])
}

#[cfg(test)]
mod tests;
