use url::Url;

use super::shown;

#[test]
fn a_shown_url_keeps_no_secrets() {
    for (url, expected) in [
        ("https://user:pw@example.com:8443/a/b?key=1#f", "https://example.com:8443/a/b"),
        ("http://example.com", "http://example.com/"),
        ("data:text/plain,hi?x", "data:text/plain,hi"),
    ] {
        assert_eq!(shown(&Url::parse(url).unwrap()), expected);
    }
    let long = Url::parse(&format!("https://example.com/{}", "a".repeat(500))).unwrap();
    assert_eq!(shown(&long).len(), 120);
}
