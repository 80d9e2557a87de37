//! Sizes and times of the network tools.

use std::time::Duration;

/// `url_fetch` as a whole: names, every hop, the body.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(15);

/// Making one connection, shared by all addresses of its host.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Redirects that `url_fetch` follows.
pub const FETCH_MAX_REDIRECTS: usize = 10;

/// Bytes of a page's text that a model gets.
pub const FETCH_MAX_BYTES: usize = 10_000;

/// Bytes of HTML that are read to find that text: the head of a page may be long.
pub const FETCH_HTML_MAX_BYTES: usize = 2 * 1024 * 1024;

/// Characters of a URL in a log line.
pub const SHOWN_URL_MAX_CHARS: usize = 120;

/// Results that `web_search` asks for.
pub const SEARCH_MAX_RESULTS: u32 = 10;

/// Bytes of the search service's answer.
pub const SEARCH_MAX_BYTES: usize = 102_400;

/// Bytes of the search service's error that are passed on.
pub const SEARCH_ERROR_MAX_BYTES: usize = 500;
