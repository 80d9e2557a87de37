//! Which hosts a model may reach.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use url::{Host, Url};

use super::address::is_private;
use super::{Resolver, SystemResolver};

/// Checks a URL before every connection, and says which addresses that connection may be made to.
#[derive(Clone)]
pub struct Guard {
    allowed: Vec<String>,
    resolver: Arc<dyn Resolver>,
    /// Addresses of this machine that stand for public ones.
    #[cfg(test)]
    exempt: Vec<IpAddr>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("allowed", &self.allowed).finish_non_exhaustive()
    }
}

/// Why a URL is not visited. The words are the model's to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Only the web is reached.
    #[error("unsupported scheme {scheme:?}: only http and https are allowed")]
    Scheme {
        /// What it said.
        scheme: String,
    },
    /// The URL names no host.
    #[error("the URL names no host")]
    NoHost,
    /// The agent's list does not name the host.
    #[error("host {host:?} is not in allowed_hosts")]
    NotAllowed {
        /// Without port.
        host: String,
    },
    /// An address instead of a name, and none of the public ones.
    #[error("address {address} is a private/reserved IP")]
    PrivateAddress {
        /// As written in the URL.
        address: IpAddr,
    },
    /// One private address condemns the name: a public one beside it may be a lure.
    #[error("host {host:?} resolves to private address {address}")]
    ResolvesToPrivate {
        /// Without port.
        host: String,
        /// The first of its private addresses.
        address: IpAddr,
    },
    /// The name has no address, or none that could be learnt.
    #[error("host {host:?} cannot be resolved: {why}")]
    Unresolved {
        /// Without port.
        host: String,
        /// In the resolver's words.
        why: String,
    },
}

impl Guard {
    /// A guard for an agent's effective `allowed_hosts`; an empty list allows every public host.
    ///
    /// An entry allows the host that is equal to it, in any case and in either spelling of an international name, and
    /// no other: there are no wildcards, and neither scheme nor port belong in an entry.
    pub fn new(allowed_hosts: &[String]) -> Self {
        Self::with_resolver(allowed_hosts, Arc::new(SystemResolver))
    }

    /// The same with a resolver of one's own.
    pub fn with_resolver(allowed_hosts: &[String], resolver: Arc<dyn Resolver>) -> Self {
        Self {
            allowed: allowed_hosts.iter().map(|entry| canonical(entry)).collect(),
            resolver,
            #[cfg(test)]
            exempt: Vec::new(),
        }
    }

    /// Checks one hop. The answer holds every address that the connection may be made to, and only those: whoever asks
    /// the resolver a second time may be told something else.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn check(&self, url: &Url) -> Result<Vec<SocketAddr>, Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refusal::Scheme { scheme: url.scheme().to_owned() });
        }
        let Some(host) = url.host() else { return Err(Refusal::NoHost) };
        let name = match host {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        if !self.allowed.is_empty() && !self.allowed.contains(&name) {
            return Err(Refusal::NotAllowed { host: name });
        }
        let addresses = match host {
            Host::Domain(_) => self.resolve(&name).await?,
            Host::Ipv4(address) => vec![self.literal(IpAddr::V4(address))?],
            Host::Ipv6(address) => vec![self.literal(IpAddr::V6(address))?],
        };
        let port = url.port_or_known_default().unwrap_or(0);
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    fn literal(&self, address: IpAddr) -> Result<IpAddr, Refusal> {
        if self.is_refused(address) { Err(Refusal::PrivateAddress { address }) } else { Ok(address) }
    }

    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, Refusal> {
        let unresolved = |why: String| Refusal::Unresolved { host: host.to_owned(), why };
        let addresses = self.resolver.resolve(host).await.map_err(|error| unresolved(error.to_string()))?;
        if addresses.is_empty() {
            return Err(unresolved("it has no address".to_owned()));
        }
        match addresses.iter().find(|&&address| self.is_refused(address)) {
            Some(&address) => Err(Refusal::ResolvesToPrivate { host: host.to_owned(), address }),
            None => Ok(addresses),
        }
    }

    fn is_refused(&self, address: IpAddr) -> bool {
        #[cfg(test)]
        if self.exempt.contains(&address) {
            return false;
        }
        is_private(address)
    }

    /// Takes addresses of this machine for public ones, so that tests can serve them.
    #[cfg(test)]
    pub(crate) fn exempting(mut self, addresses: &[IpAddr]) -> Self {
        self.exempt.extend_from_slice(addresses);
        self
    }
}

/// An entry as URLs spell hosts: lower case, punycode, addresses in their shortest form and without brackets.
fn canonical(entry: &str) -> String {
    if let Ok(address) = entry.trim_matches(['[', ']']).parse::<IpAddr>() {
        return address.to_string();
    }
    Host::parse(entry).map_or_else(|_| entry.to_ascii_lowercase(), |host| host.to_string())
}

#[cfg(test)]
mod tests;
