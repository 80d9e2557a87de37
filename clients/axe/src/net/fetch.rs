//! `url_fetch`: one page as text.

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Response, StatusCode};
use url::Url;

use super::connector::{ConnectorError, pinned};
use super::{Guard, Refusal, html, limits};
use crate::text::cut;

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The HTTP status of the last hop.
    pub status: u16,
    /// Its text, cut to [`limits::FETCH_MAX_BYTES`].
    pub text: String,
}

impl Page {
    /// Whether the status is one of success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What the model gets: the text, and the status before it when that is no success.
    pub fn content(&self) -> String {
        if self.is_success() { self.text.clone() } else { format!("HTTP {}: {}", self.status, self.text) }
    }
}

/// Why there is no page. The words are the model's to read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// Nothing was asked for.
    #[error("url is required")]
    Blank,
    /// No URL at all.
    #[error("invalid URL {url:?}: {why}")]
    Invalid {
        /// As the model wrote it.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The guard says no, at the first hop or at a later one.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Redirects without end.
    #[error("stopped after {} redirects", limits::FETCH_MAX_REDIRECTS)]
    Redirects,
    /// Too slow.
    #[error("no answer within {} seconds", limits::FETCH_TIMEOUT.as_secs())]
    Timeout,
    /// The connection or the answer failed.
    #[error("fetching {url} failed: {why}")]
    Failed {
        /// Fit for logs.
        url: String,
        /// The innermost cause.
        why: String,
    },
    /// No connection can be made to anywhere.
    #[error(transparent)]
    Connector(#[from] ConnectorError),
}

/// Gets a page. Every hop is checked and the connection of each is made to the addresses that were checked for it.
///
/// # Errors
/// See [`FetchError`]. A status that is no success is a [`Page`].
pub async fn fetch(guard: &Guard, url: &str) -> Result<Page, FetchError> {
    let url = parse(url)?;
    tokio::time::timeout(limits::FETCH_TIMEOUT, follow(guard, url)).await.unwrap_or(Err(FetchError::Timeout))
}

fn parse(text: &str) -> Result<Url, FetchError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(FetchError::Blank);
    }
    Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => Refusal::Scheme { scheme: String::new() }.into(),
        error => FetchError::Invalid { url: text.to_owned(), why: error.to_string() },
    })
}

async fn follow(guard: &Guard, mut url: Url) -> Result<Page, FetchError> {
    for _ in 0..=limits::FETCH_MAX_REDIRECTS {
        let response = hop(guard, &url).await?;
        match target(&url, &response)? {
            Some(next) => url = next,
            None => return read(response).await.map_err(|error| failed(&url, &error)),
        }
    }
    Err(FetchError::Redirects)
}

async fn hop(guard: &Guard, url: &Url) -> Result<Response, FetchError> {
    let addresses = guard.check(url).await?;
    // One client a hop: it knows no address but those that were checked, and keeps no connection for another host.
    let client = pinned(url, &addresses)?;
    client.get(url.clone()).send().await.map_err(|error| failed(url, &error))
}

/// Where a redirect leads.
fn target(url: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else { return Ok(None) };
    let location = String::from_utf8_lossy(location.as_bytes());
    match url.join(&location) {
        Ok(next) => Ok(Some(next)),
        Err(error) => Err(FetchError::Invalid { url: location.into_owned(), why: error.to_string() }),
    }
}

async fn read(mut response: Response) -> Result<Page, reqwest::Error> {
    let status = response.status().as_u16();
    let is_html = response.headers().get(CONTENT_TYPE).is_some_and(|value| is_html(value.as_bytes()));
    let bound = if is_html { limits::FETCH_HTML_MAX_BYTES } else { limits::FETCH_MAX_BYTES };
    let mut body = Vec::new();
    // One byte past the bound tells a page that ends there from one that goes on.
    while body.len() <= bound {
        let Some(chunk) = response.chunk().await? else { break };
        body.extend_from_slice(&chunk[..chunk.len().min(bound + 1 - body.len())]);
    }
    let is_cut = body.len() > bound;
    body.truncate(bound);
    let text = if is_html { html::text(&body) } else { lossy(&body, is_cut) };
    Ok(Page { status, text: cut_and_tell(text, is_cut) })
}

/// The character that the bound goes through is no fault of the page's.
fn lossy(body: &[u8], is_cut: bool) -> String {
    let end = match std::str::from_utf8(body) {
        Err(error) if is_cut && error.error_len().is_none() => error.valid_up_to(),
        _ => body.len(),
    };
    String::from_utf8_lossy(&body[..end]).into_owned()
}

fn is_html(content_type: &[u8]) -> bool {
    let media_type = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    media_type.eq_ignore_ascii_case(b"text/html") || media_type.eq_ignore_ascii_case(b"application/xhtml+xml")
}

/// Cuts on the boundary of a character and says so.
fn cut_and_tell(mut text: String, is_cut: bool) -> String {
    let is_long = text.len() > limits::FETCH_MAX_BYTES;
    text.truncate(cut(&text, limits::FETCH_MAX_BYTES).len());
    if is_long || is_cut {
        text.push_str(&format!(
            "\n... [response truncated, exceeded {} characters]",
            limits::FETCH_MAX_BYTES
        ));
    }
    text
}

fn failed(url: &Url, error: &reqwest::Error) -> FetchError {
    FetchError::Failed { url: super::shown(url), why: super::connector::root_cause(error) }
}

#[cfg(test)]
mod tests;
