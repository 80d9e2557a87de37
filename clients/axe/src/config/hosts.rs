//! Entries of `allowed_hosts`. `url_fetch` compares whole host names, so an entry that is none never matches: a list
//! that holds one is refused rather than left to close or open an agent in silence.

use std::net::Ipv6Addr;

use super::Error;
use crate::net::address;

/// Every entry as a URL would spell its host: lower case, punycode, addresses in their shortest form.
pub(super) fn normalise_all(entries: &[String]) -> Result<Vec<String>, Error> {
    let normalise = |(index, entry): (usize, &String)| {
        normalise(entry).map_err(|advice| {
            Error::Invalid(format!("allowed_hosts[{index}] {entry:?} can never match: {advice}"))
        })
    };
    entries.iter().enumerate().map(normalise).collect()
}

/// The entry, or why it can't match any host.
fn normalise(entry: &str) -> Result<String, String> {
    if let Ok(address) = entry.parse::<Ipv6Addr>() {
        return Ok(address.to_string());
    }
    if entry.contains('*') {
        return Err("there are no wildcards, name each host".to_owned());
    }
    if entry.trim().is_empty() {
        return Err("it is blank".to_owned());
    }
    match url::Host::parse(entry) {
        Ok(host) if !entry.starts_with('[') && !entry.ends_with('.') => Ok(host.to_string()),
        _ => Err(match host_within(entry) {
            Some(host) => format!("write the host name alone, {host:?}"),
            None => "it is no host name".to_owned(),
        }),
    }
}

/// The host that the writer of a URL, a host with a port or a path, or a name with a final dot had in mind.
fn host_within(entry: &str) -> Option<String> {
    let has_scheme = entry.contains("://");
    let url = if has_scheme { entry.to_owned() } else { format!("http://{entry}") };
    let url = url::Url::parse(&url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).trim_end_matches('.');
    normalise(host).ok()
}

/// Whether the entry is an address or name of this machine or of a private network, which `url_fetch` always refuses.
pub(super) fn is_private(entry: &str) -> bool {
    match entry.parse() {
        Ok(address) => address::is_private(address),
        Err(_) => entry == "localhost" || entry.ends_with(".localhost"),
    }
}
