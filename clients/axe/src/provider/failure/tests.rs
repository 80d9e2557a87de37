use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::{Dialect, aws_category, category, from_status, retry_after};
use crate::provider::{Category, Error};
use crate::secret::Secret;

#[test]
fn statuses_have_their_categories() {
    use Category::{Auth, BadRequest, Overloaded, RateLimit, Server};
    for (status, expected) in [
        (301, Server),
        (400, BadRequest),
        (401, Auth),
        (402, BadRequest),
        (403, Auth),
        (404, BadRequest),
        (405, BadRequest),
        (408, Server),
        (413, BadRequest),
        (422, BadRequest),
        (429, RateLimit),
        (500, Server),
        (502, Server),
        (503, Server),
        (504, Server),
    ] {
        for dialect in [Dialect::Plain, Dialect::Anthropic, Dialect::Aws] {
            assert_eq!(category(status, dialect), expected, "{status}");
        }
    }
    assert_eq!(category(529, Dialect::Anthropic), Overloaded);
    assert_eq!(category(529, Dialect::Plain), Server);
    assert_eq!(category(529, Dialect::Aws), Server);
}

#[test]
fn the_words_of_an_error_are_found() {
    for (status, body, expected) in [
        (400, r#"{"error":{"message":"too\nlong","type":"invalid_request_error"}}"#, "too long"),
        (400, r#"{"type":"error","error":{"type":"x","message":"no"}}"#, "no"),
        (404, r#"{"error":"model 'x' not found"}"#, "model 'x' not found"),
        (403, r#"{"message":"not you"}"#, "not you"),
        (403, r#"{"Message":"nor you"}"#, "nor you"),
        (422, r#"{"detail":"wrong"}"#, "wrong"),
        (400, r#"[{"error":{"message":"listed"}}]"#, "listed"),
        (400, r#"{"error":{"message":""},"message":"second"}"#, "second"),
        (400, r#"{"error":{"code":7}}"#, "Bad Request"),
        (502, "<html>bad gateway</html>", "Bad Gateway"),
        (500, "", "Internal Server Error"),
        (529, "", "Overloaded"),
        (599, "", "HTTP status 599"),
        (302, "", "HTTP 302 Found: redirects are not followed, check the base URL"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let error = from_status(status, &HeaderMap::new(), body.as_bytes(), Dialect::Plain).tidied(&[]);
        assert_eq!(error.message, expected, "{body}");
    }
}

#[test]
fn the_time_to_wait_is_read_in_all_its_forms() {
    let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    for (name, value, expected) in [
        ("retry-after", "7", Some(7.0)),
        ("retry-after", " 0 ", Some(0.0)),
        ("retry-after", "1.5", Some(1.5)),
        ("retry-after", "-1", None),
        ("retry-after", "nan", None),
        ("retry-after", "inf", Some(86_400.0)),
        ("retry-after", "99999999999999999999", Some(86_400.0)),
        ("retry-after", "soon", None),
        ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT", Some(30.0)),
        ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0)),
        ("retry-after-ms", "250", Some(0.25)),
        ("x-other", "7", None),
    ] {
        let headers =
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs_f64), "{name}: {value}");
    }
    assert_eq!(retry_after(&HeaderMap::new(), SystemTime::now()), None);
}

#[test]
fn a_tidied_message_is_short_and_holds_no_key() {
    let key = Secret::new("sk-0123456789");
    let error = Error::server(format!("key sk-0123456789\r\n  {}", "€".repeat(1000))).tidied(&[key]);
    assert!(error.message.starts_with("key *** €€"));
    assert!(error.message.ends_with("€..."));
    assert!(error.message.len() <= 1000 + 3);
}

#[test]
fn exceptions_of_aws_tell_more_than_their_status() {
    use Category::{Auth, BadRequest, RateLimit, Server};
    let error = |status, header: &'static str, body: &str| {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("x-amzn-errortype"),
            HeaderValue::from_static(header),
        )]);
        let headers = if header.is_empty() { HeaderMap::new() } else { headers };
        from_status(StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes(), Dialect::Aws).category
    };
    assert_eq!(error(400, "ThrottlingException:http://internal.amazon.com/coral/", "{}"), RateLimit);
    assert_eq!(error(403, "AccessDeniedException", r#"{"message":"m"}"#), Auth);
    assert_eq!(error(400, "", r#"{"__type":"com.amazon.coral#UnrecognizedClientException"}"#), Auth);
    assert_eq!(error(424, "ModelErrorException", "{}"), Server);
    assert_eq!(error(400, "OfTomorrowException", "{}"), BadRequest);
    assert_eq!(error(404, "", ""), BadRequest);
    assert_eq!(aws_category("validationException"), Some(BadRequest));
    assert_eq!(aws_category("modelStreamErrorException"), Some(Server));
}
