//! `web_search`, answered by Tavily.

use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::connector::{ConnectorError, client, root_cause};
use super::{Client, limits};
use crate::secret::{Secret, mask};
use crate::text::cut;

/// Where Tavily lives.
pub const DEFAULT_BASE_URL: &str = "https://api.tavily.com";

/// The environment variable that holds the key.
pub const KEY_VARIABLE: &str = "TAVILY_API_KEY";

/// The environment variables that move the address; a later one wins.
pub const BASE_URL_VARIABLES: [&str; 2] = ["AXE_TAVILY_BASE_URL", "AXE_WEB_SEARCH_BASE_URL"];

/// The search service of one run.
#[derive(Debug, Clone)]
pub struct Search {
    client: Client,
    url: Url,
    key: Option<Secret>,
}

/// Why a search brought nothing. The words are the model's to read, and hold no key.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Nothing was asked for.
    #[error("query is required")]
    Blank,
    /// There is no key.
    #[error("{KEY_VARIABLE} is not set: web_search needs a Tavily key in it")]
    NoKey,
    /// The configured address is none.
    #[error("invalid search address {url:?}: {why}")]
    Address {
        /// As configured.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// No connection can be made to anywhere.
    #[error(transparent)]
    Connector(#[from] ConnectorError),
    /// The service says no.
    #[error("Tavily API error (HTTP {status}): {body}")]
    Status {
        /// Its status.
        status: u16,
        /// The start of its words.
        body: String,
    },
    /// The service says too much.
    #[error("the search service's answer exceeds {} bytes", limits::SEARCH_MAX_BYTES)]
    TooLarge,
    /// The service says something else.
    #[error("the search service's answer cannot be read: {0}")]
    Malformed(String),
    /// The way there failed.
    #[error("the search service cannot be reached: {0}")]
    Unreachable(String),
}

impl Search {
    /// The service as the environment configures it. `variable` looks one up; an empty one counts as unset.
    ///
    /// # Errors
    /// [`SearchError::Address`], [`SearchError::Connector`]. A missing key is found out by the first search.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SearchError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let base = BASE_URL_VARIABLES.iter().rev().find_map(|name| set(name));
        Self::new(base.as_deref().unwrap_or(DEFAULT_BASE_URL), set(KEY_VARIABLE).map(Secret::new))
    }

    /// The service at `base_url`.
    ///
    /// # Errors
    /// As for [`Search::from_environment`].
    pub fn new(base_url: &str, key: Option<Secret>) -> Result<Self, SearchError> {
        let text = format!("{}/search", base_url.trim_end_matches('/'));
        let url = Url::parse(&text)
            .map_err(|error| SearchError::Address { url: text.clone(), why: error.to_string() })?;
        Ok(Self { client: client(&url)?, url, key })
    }

    /// Searches, and puts the results into words.
    ///
    /// # Errors
    /// See [`SearchError`].
    pub async fn search(&self, query: &str) -> Result<String, SearchError> {
        if query.trim().is_empty() {
            return Err(SearchError::Blank);
        }
        let key = self.key.as_ref().ok_or(SearchError::NoKey)?;
        let body = json!({
            "query": query,
            "max_results": limits::SEARCH_MAX_RESULTS,
            "search_depth": "basic",
            "api_key": key.expose(),
            "include_images": false,
            "include_videos": false,
        });
        let request = self.client.post(self.url.clone()).bearer_auth(key.expose()).json(&body);
        let mut response =
            request.send().await.map_err(|error| SearchError::Unreachable(root_cause(&error)))?;
        let mut answer = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| SearchError::Unreachable(root_cause(&error)))?
        {
            answer.extend_from_slice(&chunk);
            if answer.len() > limits::SEARCH_MAX_BYTES {
                return Err(SearchError::TooLarge);
            }
        }
        if !response.status().is_success() {
            let mut body = mask(&String::from_utf8_lossy(&answer), std::slice::from_ref(key));
            body.truncate(cut(&body, limits::SEARCH_ERROR_MAX_BYTES).len());
            return Err(SearchError::Status { status: response.status().as_u16(), body });
        }
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|error| SearchError::Malformed(error.to_string()))?;
        Ok(answer.in_words())
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    title: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    content: String,
}

impl Answer {
    fn in_words(&self) -> String {
        if self.results.is_empty() {
            return "No results found.".to_owned();
        }
        let blocks: Vec<String> = self
            .results
            .iter()
            .map(|found| format!("Title: {}\nURL: {}\nSnippet: {}", found.title, found.url, found.content))
            .collect();
        blocks.join("\n\n")
    }
}

#[cfg(test)]
mod tests;
