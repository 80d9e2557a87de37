//! `url_fetch` and `web_search`.

use url::Url;

use super::limits::SHOWN_QUERY_CHARS;
use super::outcome::shown;
use super::{Input, Outcome, Surroundings};
use crate::net::{self, Guard, Search};

/// What the tools of the web need.
#[derive(Debug)]
pub(super) struct Web {
    guard: Guard,
    /// An address that is none is told to the model that searches.
    search: Result<Search, String>,
}

impl Web {
    pub(super) fn new(surroundings: &Surroundings) -> Self {
        let variable = |name: &str| surroundings.environment.get(name).map(str::to_owned);
        Self {
            guard: Guard::new(&surroundings.allowed_hosts),
            search: Search::from_environment(variable).map_err(|error| error.to_string()),
        }
    }
}

pub(super) async fn fetch(web: &Web, input: Input<'_>) -> Outcome {
    let url = input.text("url").unwrap_or_default();
    let place = Url::parse(url.trim()).map_or_else(|_| "(invalid)".to_owned(), |url| net::shown(&url));
    match net::fetch(&web.guard, &url).await {
        Ok(page) => Outcome {
            content: page.content(),
            is_error: !page.is_success(),
            summary: format!("url {place:?} (HTTP {})", page.status),
        },
        Err(error) => Outcome::error(error.to_string(), format!("url {place:?}")),
    }
}

pub(super) async fn search(web: &Web, input: Input<'_>) -> Outcome {
    let query = input.text("query").unwrap_or_default();
    let summary = format!("query {:?}", shown(&query, SHOWN_QUERY_CHARS));
    let search = match &web.search {
        Ok(search) => search,
        Err(reason) => return Outcome::error(reason.clone(), summary),
    };
    match search.search(&query).await {
        Ok(results) => Outcome::success(results, summary),
        Err(error) => Outcome::error(error.to_string(), summary),
    }
}
