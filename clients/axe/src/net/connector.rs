//! Connections to addresses that the user configured.
//!
//! Redirects are never followed: a key goes to the address it was configured for and to no other. There is no timeout
//! here either, the deadline of the run is the only one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use url::{Host, Url};

pub use reqwest::Client;

/// Names this program to servers.
pub const USER_AGENT: &str = concat!("axe/", env!("CARGO_PKG_VERSION"));

/// Why no connection can be made to anywhere.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectorError {
    /// TLS needs to know whom to trust.
    #[error("cannot load the system's CA certificates (install ca-certificates or set SSL_CERT_FILE): {0}")]
    Certificates(#[from] rustls::Error),
    /// The HTTP client cannot be made.
    #[error("cannot make an HTTP client: {0}")]
    Client(String),
}

/// A client for `base` and what lies below it.
///
/// # Errors
/// See [`ConnectorError`].
pub fn client(base: &Url) -> Result<Client, ConnectorError> {
    let builder = Client::builder().user_agent(USER_AGENT).redirect(Policy::none()).referer(false);
    let builder = match (is_this_machine(base), base.scheme()) {
        // No TLS can come up on this way, and reading the system's certificates takes longer than a small reply.
        (true, "http") => builder.no_proxy().tls_backend_preconfigured(trusting(RootCertStore::empty())?),
        (true, _) => builder.no_proxy().tls_backend_preconfigured(tls()?),
        (false, _) => builder.tls_backend_preconfigured(tls()?),
    };
    builder.build().map_err(|error| ConnectorError::Client(error.to_string()))
}

/// A client that connects to `addresses` for `host` and follows nothing, not even a proxy: for hops that the guard let
/// pass.
pub(crate) fn pinned(url: &Url, addresses: &[std::net::SocketAddr]) -> Result<Client, ConnectorError> {
    let tls = if url.scheme() == "https" { tls()? } else { trusting(RootCertStore::empty())? };
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .connect_timeout(super::limits::CONNECT_TIMEOUT)
        .tls_backend_preconfigured(tls);
    let builder = match url.host() {
        Some(Host::Domain(name)) => builder.resolve_to_addrs(name, addresses),
        // An address needs no resolver: the connection is made to what was checked.
        _ => builder,
    };
    builder.build().map_err(|error| ConnectorError::Client(error.to_string()))
}

/// A client with timeouts of its own, for the AWS crates: metadata services are asked, not awaited. What is asked in the
/// clear is next door (the machine's or the container's own service) and never behind a proxy.
pub(crate) fn impatient(
    url: &Url,
    connect: Option<Duration>,
    read: Option<Duration>,
) -> Result<Client, ConnectorError> {
    let mut builder = Client::builder().redirect(Policy::none()).referer(false);
    builder = match url.scheme() {
        "https" => builder.tls_backend_preconfigured(tls()?),
        _ => builder.no_proxy().tls_backend_preconfigured(trusting(RootCertStore::empty())?),
    };
    if let Some(connect) = connect {
        builder = builder.connect_timeout(connect);
    }
    if let Some(read) = read {
        builder = builder.read_timeout(read);
    }
    builder.build().map_err(|error| ConnectorError::Client(error.to_string()))
}

/// Whether the URL's host is this machine by its own word.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// TLS that trusts what the system trusts; read once.
fn tls() -> Result<ClientConfig, ConnectorError> {
    static TLS: OnceLock<Result<ClientConfig, rustls::Error>> = OnceLock::new();
    let make = || Ok(versions()?.with_platform_verifier()?.with_no_client_auth());
    Ok(TLS.get_or_init(make).clone()?)
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, ConnectorError> {
    Ok(versions()?.with_root_certificates(roots).with_no_client_auth())
}

fn versions() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

/// The innermost reason in one line, without the URL, whose query may hold a secret.
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        // Its own words name the URL.
        Some(error) if error.is_timeout() => "the connection timed out".to_owned(),
        Some(_) => "the request failed".to_owned(),
        None => cause.to_string(),
    }
}
