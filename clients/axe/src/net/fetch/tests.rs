use std::net::IpAddr;
use std::time::Duration;

use super::super::testing::{FakeResolver, Script, Server, Step, answer, bytes, stream};
use super::super::{Guard, limits};
use super::{FetchError, fetch};

const HERE: &str = "127.0.0.1";
const THERE: &str = "127.0.0.2";
/// Nobody listens here.
const DEAD: &str = "127.0.0.3";
/// The one address of this machine that stays private.
const PRIVATE: &str = "127.0.0.9";

fn guard(allowed: &[&str], names: &[(&str, &[&[&str]])]) -> Guard {
    let allowed: Vec<String> = allowed.iter().map(|&entry| entry.to_owned()).collect();
    let exempt: Vec<IpAddr> = [HERE, THERE, DEAD].iter().map(|text| text.parse().unwrap()).collect();
    Guard::with_resolver(&allowed, FakeResolver::new(names)).exempting(&exempt)
}

async fn serve(script: Script) -> (Server, Guard) {
    (Server::start([script]).await, guard(&[], &[("site.example", &[&[HERE]])]))
}

fn at(host: &str, server: &Server) -> String {
    format!("http://{host}:{}/", server.address.port())
}

/// What the model gets, and whether it is an error.
async fn content(script: Script) -> Result<String, String> {
    let (server, guard) = serve(script).await;
    match fetch(&guard, &at("site.example", &server)).await {
        Ok(page) if page.is_success() => Ok(page.content()),
        Ok(page) => Err(page.content()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn pages_are_text_and_other_statuses_are_errors() {
    let html = [("Content-Type", "Text/HTML; charset=utf-8")];
    for (script, expected) in [
        (answer(200, &[], "plain <b>text</b>"), Ok("plain <b>text</b>")),
        (answer(200, &html, "<p>one</p><script>x</script><p>two"), Ok("one two")),
        (answer(404, &[], "gone"), Err("HTTP 404: gone")),
        (answer(500, &html, "<h1>oh</h1> no"), Err("HTTP 500: oh no")),
        (answer(302, &[], "nowhere to go"), Err("HTTP 302: nowhere to go")),
        (answer(204, &[], ""), Ok("")),
    ] {
        assert_eq!(content(script).await, expected.map(str::to_owned).map_err(str::to_owned));
    }
}

const NOTE: &str = "\n... [response truncated, exceeded 10000 characters]";

#[tokio::test]
async fn long_pages_are_cut_between_characters() {
    assert_eq!(content(answer(200, &[], &"a".repeat(10_000))).await, Ok("a".repeat(10_000)));
    assert_eq!(content(answer(200, &[], &"a".repeat(10_001))).await, Ok("a".repeat(10_000) + NOTE));
    assert_eq!(content(answer(200, &[], &"a€".repeat(5_000))).await, Ok("a€".repeat(2_500) + NOTE));
    assert_eq!(content(answer(200, &[], &"€".repeat(5_000))).await, Ok("€".repeat(3_333) + NOTE));
}

#[tokio::test]
async fn a_long_head_leaves_the_text_of_a_page() {
    let html = [("Content-Type", "text/html")];
    let page = format!("<style>{}</style><p>the text</p>", "x".repeat(100_000));
    assert_eq!(content(answer(200, &html, &page)).await, Ok("the text".to_owned()));
    let page = format!("<style>{}</style>", "x".repeat(limits::FETCH_HTML_MAX_BYTES));
    assert_eq!(content(answer(200, &html, &page)).await, Ok(NOTE.to_owned()));
    let page = "<p>€</p>".repeat(5_000);
    assert_eq!(content(answer(200, &html, &page)).await, Ok("€ ".repeat(2_500) + NOTE));
}

#[tokio::test]
async fn an_endless_body_is_read_no_further_than_needed() {
    let endless = [bytes(&"a".repeat(20_000)), Step::Hang];
    assert_eq!(content(stream("text/plain", endless)).await, Ok("a".repeat(10_000) + NOTE));
}

#[tokio::test]
async fn a_request_carries_no_headers_of_its_own() {
    let (server, guard) = serve(answer(200, &[], "")).await;
    fetch(&guard, &format!("{}path?q=1#fragment", at("site.example", &server))).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line, "GET /path?q=1 HTTP/1.1");
    assert_eq!(seen.headers["host"], format!("site.example:{}", server.address.port()));
    let mut names: Vec<&str> = seen.headers.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "host", "user-agent"]);
}

#[tokio::test]
async fn what_is_no_web_address_is_refused() {
    for (url, expected) in [
        ("", "url is required"),
        ("  ", "url is required"),
        ("example.com/x", r#"unsupported scheme "": only http and https are allowed"#),
        ("ftp://example.com", r#"unsupported scheme "ftp": only http and https are allowed"#),
        ("http://", r#"invalid URL "http://": empty host"#),
        ("http://a b/", r#"invalid URL "http://a b/": invalid international domain name"#),
    ] {
        assert_eq!(fetch(&guard(&[], &[]), url).await.unwrap_err().to_string(), expected);
    }
}

fn redirect(status: u16, location: &str) -> Script {
    answer(status, &[("Location", location)], "moved")
}

#[tokio::test]
async fn each_hop_connects_to_its_own_address() {
    let end = Server::start_at(format!("{THERE}:0").parse().unwrap(), [answer(200, &[], "the end")]).await;
    for status in [301, 302, 303, 307, 308] {
        let start = Server::start([redirect(status, &at("end.example", &end))]).await;
        let guard = guard(&[], &[("start.example", &[&[HERE]]), ("end.example", &[&[THERE]])]);
        assert_eq!(fetch(&guard, &at("start.example", &start)).await.unwrap().text, "the end");
        let host = end.seen().last().unwrap().headers["host"].clone();
        assert_eq!(host, format!("end.example:{}", end.address.port()));
    }
}

#[tokio::test]
async fn each_hop_is_checked() {
    for (location, expected) in [
        ("http://private.example/", r#"host "private.example" resolves to private address 127.0.0.9"#),
        ("http://127.0.0.9/", "address 127.0.0.9 is a private/reserved IP"),
        ("http://[::]/", "address :: is a private/reserved IP"),
        ("//other.example/", r#"host "other.example" is not in allowed_hosts"#),
        ("ftp://start.example/", r#"unsupported scheme "ftp": only http and https are allowed"#),
        ("file:///etc/passwd", r#"unsupported scheme "file": only http and https are allowed"#),
    ] {
        let start = Server::start([redirect(302, location)]).await;
        let guard = guard(
            &["start.example", "private.example", "127.0.0.9", "::"],
            &[("start.example", &[&[HERE]]), ("private.example", &[&[PRIVATE]])],
        );
        assert_eq!(fetch(&guard, &at("start.example", &start)).await.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn a_resolver_that_changes_its_mind_is_believed_once_a_hop() {
    // Checked as HERE and connected to HERE, though a second question would have been answered with a private address.
    let (server, _) = serve(answer(200, &[], "fine")).await;
    let fickle: &[(&str, &[&[&str]])] = &[("fickle.example", &[&[HERE], &[PRIVATE]])];
    assert_eq!(fetch(&guard(&[], fickle), &at("fickle.example", &server)).await.unwrap().text, "fine");

    // A second hop asks again, and is refused.
    let (server, _) = serve(redirect(302, "/again")).await;
    let error = fetch(&guard(&[], fickle), &at("fickle.example", &server)).await.unwrap_err();
    assert_eq!(error.to_string(), r#"host "fickle.example" resolves to private address 127.0.0.9"#);
}

#[tokio::test]
async fn every_checked_address_is_tried() {
    let (server, _) = serve(answer(200, &[], "fine")).await;
    let guard = guard(&[], &[("site.example", &[&[DEAD, HERE]])]);
    assert_eq!(fetch(&guard, &at("site.example", &server)).await.unwrap().text, "fine");
}

#[tokio::test]
async fn ten_redirects_are_followed_and_no_more() {
    let hops = |count: usize| {
        std::iter::repeat_n(redirect(302, "/next"), count)
            .chain([answer(200, &[], "the end")])
            .collect::<Vec<_>>()
    };
    let guard = guard(&[], &[("site.example", &[&[HERE]])]);
    let server = Server::start(hops(10)).await;
    assert_eq!(fetch(&guard, &at("site.example", &server)).await.unwrap().text, "the end");
    let server = Server::start(hops(11)).await;
    let error = fetch(&guard, &at("site.example", &server)).await.unwrap_err();
    assert_eq!(error.to_string(), "stopped after 10 redirects");
}

#[tokio::test]
async fn failures_say_why() {
    let guard = guard(&[], &[("dead.example", &[&[DEAD]])]);
    let error = fetch(&guard, "http://u:pw@dead.example:1/x?token=1").await.unwrap_err().to_string();
    assert_eq!(error, "fetching http://dead.example:1/x failed: Connection refused (os error 111)");
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    assert!(content(vec![Step::Bytes(short)]).await.unwrap_err().contains("failed"));
}

#[tokio::test(start_paused = true)]
async fn slow_pages_are_given_up() {
    let drip = (0..100).flat_map(|_| [bytes("x"), Step::Pause(Duration::from_secs(1))]);
    let (server, guard) = serve(stream("text/plain", drip)).await;
    assert!(matches!(fetch(&guard, &at("site.example", &server)).await, Err(FetchError::Timeout)));
}
