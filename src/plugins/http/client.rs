//! The HTTP client of one plugin: what it does, and what it does not do behind anybody's back.
//!
//! - A request is sent once. There is no retry policy, and no idle connection is kept: a client sends again by itself
//!   what a kept connection did not take, and then nobody knows how often a call was made.
//! - A redirect is not followed here: a header of the plugin must not reach another host.
//! - No proxy is asked, whatever the environment says.
//! - Nothing is decompressed, so that a body is as large as it is.

use std::error::Error as _;
use std::time::Duration;

use axlr_protocol::limits;
use reqwest::{Client, redirect, retry};

use crate::plugins::rpc::Trouble;

/// Makes a client.
///
/// # Errors
/// There is no TLS here: no trusted certificates can be found, say.
pub(super) fn client() -> Result<Client, Trouble> {
    // The first one in the process stays; that there is one already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("axlr/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .pool_max_idle_per_host(0)
        .retry(retry::never())
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .connect_timeout(Duration::from_millis(limits::PLUGIN_START_MAX_MS))
        .build()
        .map_err(|error| Trouble::broken(format!("no HTTP client could be made: {}", words(error))))
}

/// What went wrong, with its causes and without the address, which may hold a key.
pub(super) fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Some layers say again what the one below says.
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}
