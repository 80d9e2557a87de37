//! Who may ask: the names that a request may call the server by, the pages that may ask, and the token.

use std::fmt;

use axum::http::Uri;
use axum::http::uri::Authority;

use super::token::Token;

/// What a door asks of every request, as the flags say it. Doors with an address of their own share one.
#[derive(Debug)]
pub struct Admission {
    pub(super) token: Option<Token>,
    pub(super) hosts: Vec<String>,
    pub(super) origins: Vec<String>,
}

/// A flag that can't be.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Not a name by which a request could call the server.
    #[error(
        "--http-host {value:?} must be a host name or address, with a port or without, such as box.lan:8787"
    )]
    Host {
        /// As it was given.
        value: String,
    },
    /// Not what a browser sends as Origin.
    #[error(
        "--http-allow-origin {value:?} {fault}; an origin is what a browser sends, such as https://app.example or http://localhost:5173"
    )]
    Origin {
        /// As it was given.
        value: String,
        /// What is wrong with it.
        fault: &'static str,
    },
}

impl Admission {
    /// Without a token yet: everybody who can connect is let in, as far as `Host` and `Origin` go.
    ///
    /// # Errors
    /// A host or an origin that no request could match.
    pub fn new(hosts: Vec<String>, origins: Vec<String>) -> Result<Self, AdmissionError> {
        if let Some(value) = hosts.iter().find(|host| !is_host(host)) {
            return Err(AdmissionError::Host { value: value.clone() });
        }
        for value in &origins {
            if let Some(fault) = fault_of_origin(value) {
                return Err(AdmissionError::Origin { value: value.clone(), fault });
            }
        }
        Ok(Self { token: None, hosts, origins })
    }

    /// The same for those who know the token.
    pub fn with_token(self, token: Token) -> Self {
        Self { token: Some(token), ..self }
    }
}

/// The names of a server at one port, as a `Host` header or a request target spells them.
pub(super) struct Names(Vec<String>);

impl Names {
    /// The loopback names and `more`, each with the port or without; one of `more` that has a port, only with that.
    pub(super) fn new(port: u16, more: &[String]) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let mut names = Vec::new();
        for name in loopback.iter().chain(more) {
            if !has_port(name) {
                names.push(format!("{name}:{port}"));
            }
            names.push(name.clone());
        }
        Self(names)
    }

    /// Host names have no case. RFC 9110 §4.2.3.
    pub(super) fn contain(&self, host: &str) -> bool {
        self.0.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn is_host(host: &str) -> bool {
    host.parse::<Authority>().is_ok_and(|authority| {
        let name = authority.host();
        // Where a user is named before it, this is not the name.
        let port = host.strip_prefix(name);
        let is_port = |port: &str| port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        !name.is_empty() && !name.contains('*') && port.is_some_and(|port| port.is_empty() || is_port(port))
    })
}

fn has_port(host: &str) -> bool {
    host.parse::<Authority>().is_ok_and(|authority| authority.port().is_some())
}

/// Browsers send a scheme, a host in small letters and a port that is not the scheme's own. RFC 6454 §6.2.
fn fault_of_origin(origin: &str) -> Option<&'static str> {
    if origin == "null" {
        return Some("is sent by pages of any kind, and is never allowed");
    }
    if origin.contains('*') {
        return Some("holds a wildcard; each origin must be named");
    }
    let Some((scheme, rest)) = origin.split_once("://") else {
        return Some("has no scheme");
    };
    if origin.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some("holds capital letters, which browsers do not send");
    }
    if rest.contains(['/', '?', '#', '@']) {
        return Some("has more than a scheme, a host and a port");
    }
    let is_url = origin.parse::<Uri>().is_ok_and(|uri| uri.scheme_str() == Some(scheme));
    if !is_url || !is_host(rest) {
        return Some("is not well-formed");
    }
    let is_default =
        matches!((scheme, rest.rsplit_once(':')), ("http", Some((_, "80"))) | ("https", Some((_, "443"))));
    is_default.then_some("names its scheme's own port, which browsers leave out")
}

#[cfg(test)]
mod tests;
