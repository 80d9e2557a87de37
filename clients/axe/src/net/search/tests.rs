use serde_json::json;

use super::super::testing::{Server, answer};
use super::Search;
use crate::secret::Secret;

const KEY: &str = "tvly-0123456789abcdef";

async fn search(status: u16, body: &str) -> Result<String, String> {
    let server = Server::start([answer(status, &[], body)]).await;
    let search = Search::new(&server.url(), Some(Secret::new(KEY))).unwrap();
    search.search("rust & go").await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn results_are_blocks_of_three_lines() {
    let body = json!({"results": [
        {"title": "One", "url": "https://one.example", "content": "first", "score": 0.9},
        {"title": "Two", "url": "https://two.example", "content": "second"},
    ]});
    assert_eq!(
        search(200, &body.to_string()).await.unwrap(),
        "Title: One\nURL: https://one.example\nSnippet: first\n\nTitle: Two\nURL: https://two.example\nSnippet: second"
    );
    assert_eq!(search(200, r#"{"results":[]}"#).await.unwrap(), "No results found.");
}

#[tokio::test]
async fn the_request_is_the_one_that_tavily_takes() {
    let server = Server::start([answer(200, &[], "{}")]).await;
    let search = Search::new(&(server.url() + "/base/"), Some(Secret::new(KEY))).unwrap();
    search.search("rust & go").await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "POST /base/search HTTP/1.1");
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(
        seen.json(),
        json!({
            "query": "rust & go", "max_results": 10, "search_depth": "basic", "api_key": KEY,
            "include_images": false, "include_videos": false,
        })
    );
}

#[tokio::test]
async fn failures_are_told_without_the_key() {
    let long = format!("bad key {KEY} {}", "x".repeat(1000));
    assert_eq!(
        search(401, &long).await.unwrap_err(),
        format!("Tavily API error (HTTP 401): bad key *** {}", "x".repeat(488))
    );
    assert_eq!(
        search(200, &"x".repeat(102_401)).await.unwrap_err(),
        "the search service's answer exceeds 102400 bytes"
    );
    assert!(
        search(200, "<html>").await.unwrap_err().starts_with("the search service's answer cannot be read")
    );
    let search = Search::new("http://127.0.0.1:1", Some(Secret::new(KEY))).unwrap();
    assert!(
        search
            .search("x")
            .await
            .unwrap_err()
            .to_string()
            .starts_with("the search service cannot be reached: Conn")
    );
    assert_eq!(search.search(" ").await.unwrap_err().to_string(), "query is required");
}

#[tokio::test]
async fn the_environment_says_where_and_as_whom() {
    let get = |pairs: &'static [(&str, &str)]| {
        move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    for (pairs, expected) in [
        (&[] as &[(&str, &str)], "https://api.tavily.com/search"),
        (&[("AXE_TAVILY_BASE_URL", "http://localhost:1")], "http://localhost:1/search"),
        (
            &[("AXE_TAVILY_BASE_URL", "http://a"), ("AXE_WEB_SEARCH_BASE_URL", "http://b/x/")],
            "http://b/x/search",
        ),
        (&[("AXE_TAVILY_BASE_URL", "http://a"), ("AXE_WEB_SEARCH_BASE_URL", "")], "http://a/search"),
    ] {
        assert_eq!(Search::from_environment(get(pairs)).unwrap().url.as_str(), expected);
    }
    let keyless = Search::from_environment(get(&[("TAVILY_API_KEY", "")])).unwrap();
    let error = keyless.search("x").await.unwrap_err().to_string();
    assert_eq!(error, "TAVILY_API_KEY is not set: web_search needs a Tavily key in it");
}
