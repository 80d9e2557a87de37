//! The way out: the only room that opens outbound connections, so that there is one guard.
//!
//! | file | what it holds |
//! |---|---|
//! | [`connector`] | the client for addresses that the user configured: model providers, the search service |
//! | [`guard`] | which hosts a model may reach, and at which of their addresses |
//! | [`address`] | which addresses are private or reserved |
//! | [`resolver`] | names to addresses, behind a trait |
//! | [`fetch`](mod@fetch) | `url_fetch`: one page, every hop of it guarded |
//! | [`search`](mod@search) | `web_search` |
//! | [`html`] | a page as text |
//! | `aws` | our connections for the AWS crates |
//!
//! The AWS crates speak for themselves where credentials come from a service, but over connections from here.
//!
//! `allowed_hosts` and the guard cover `url_fetch` and nothing else: what the user configured (providers, the search
//! service, MCP servers) may well be on this machine, and what `run_command` runs has the network of its program.
//!
//! Proxies: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` hold for providers and the search service, except
//! that an address on this machine is always reached directly. `url_fetch` uses no proxy, because only a connection that
//! is made here can be made to the address that was checked.

pub mod address;
mod aws;
pub mod connector;
pub mod fetch;
pub mod guard;
pub mod html;
pub mod limits;
pub mod resolver;
pub mod search;

pub(crate) use aws::AwsClient;
pub use connector::Client;
pub use fetch::{FetchError, Page, fetch};
pub use guard::{Guard, Refusal};
pub use resolver::{Resolver, SystemResolver};
pub use search::{Search, SearchError};

use url::Url;

/// A URL as logs may show it: scheme, host, port and path, at most [`limits::SHOWN_URL_MAX_CHARS`] characters. Queries and
/// user names often hold secrets.
pub fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Refused only where there is no host, and then there is nothing to take away.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().chars().take(limits::SHOWN_URL_MAX_CHARS).collect()
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
