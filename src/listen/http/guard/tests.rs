use std::sync::Arc;

use axum::http::Request;

use super::*;
use crate::listen::http::token::Token;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn guard(with_token: bool) -> Guard {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, TOKEN).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let origins = vec!["https://app.example".to_owned()];
    let mut admission = Admission::new(Vec::new(), origins).unwrap();
    if with_token {
        admission = admission.with_token(Token::load_or_create(&path).unwrap());
    }
    let post = Endpoint {
        path: "/exec",
        methods: &[Method::POST],
        needs_token: true,
        takes_json: true,
        allow_headers: "Authorization, Content-Type",
        expose_headers: Some("X-Extra"),
    };
    let get = Endpoint {
        path: "/health",
        methods: &[Method::GET, Method::HEAD],
        needs_token: false,
        ..post.clone()
    };
    Guard::new(Arc::new(admission), 8787, vec![post, get])
}

const HOST: (&str, &str) = ("host", "127.0.0.1:8787");
const BEARER: (&str, &str) = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
const JSON: (&str, &str) = ("content-type", "application/json");
const PAGE: (&str, &str) = ("origin", "https://app.example");
const EVIL: (&str, &str) = ("origin", "https://evil.example");

/// The status of the answer, or none when the request passes.
fn judged(guard: &Guard, line: &str, headers: &[(&str, &str)]) -> Option<Response<Body>> {
    let (method, target) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    guard.judge(&parts).err().map(|response| *response)
}

#[track_caller]
fn check(line: &str, headers: &[(&str, &str)], status: u16) {
    let answer = judged(&guard(true), line, headers);
    assert_eq!(answer.map_or(0, |answer| answer.status().as_u16()), status, "{line} {headers:?}");
}

#[test]
fn each_check_comes_before_those_that_follow() {
    // Everything is wrong, and mended one by one.
    check("PUT /nothing", &[EVIL], 403);
    check("PUT /nothing", &[HOST, EVIL], 404);
    check("PUT /exec", &[HOST, EVIL], 405);
    check("POST /exec", &[HOST, EVIL], 403);
    check("POST /exec", &[HOST, PAGE], 401);
    check("POST /exec", &[HOST, PAGE, BEARER], 415);
    check("POST /exec", &[HOST, PAGE, BEARER, JSON, ("content-length", "4194305")], 413);
    check("POST /exec", &[HOST, PAGE, BEARER, JSON, ("content-length", "4194304")], 0);
    check("POST /exec", &[HOST, BEARER, JSON], 0);
    check("GET /health", &[HOST], 0);
    check("HEAD /health", &[HOST], 0);
}

#[test]
fn a_name_that_is_not_ours_is_refused_wherever_it_stands() {
    check("GET /health", &[], 403);
    check("GET /health", &[("host", "evil.example")], 403);
    check("GET /health", &[HOST, HOST], 403);
    check("GET /health", &[HOST, ("host", "evil.example")], 403);
    check("GET http://evil.example/health", &[HOST], 403);
    check("GET http://evil@127.0.0.1:8787/health", &[HOST], 403);
    check("GET http://127.0.0.1:8787/health", &[("host", "evil.example")], 403);
    check("GET http://127.0.0.1:8787/health", &[HOST], 0);
}

#[test]
fn a_path_is_exact_but_for_its_query() {
    check("GET /health?x=1", &[HOST], 0);
    for path in ["/", "/health/", "//health", "/Health", "/%68ealth", "/health/..", "*"] {
        check(&format!("GET {path}"), &[HOST], 404);
    }
}

#[test]
fn a_token_is_one_bearer_token() {
    for value in [
        "0123456789abcdef0123456789abcdef",
        "Bearer",
        "Bearer ",
        "Bearer 0123456789abcdef0123456789abcde",
        "Bearer 0123456789abcdef0123456789abcdef, Bearer x",
        "Basic 0123456789abcdef0123456789abcdef",
    ] {
        check("POST /exec", &[HOST, JSON, ("authorization", value)], 401);
    }
    check("POST /exec", &[HOST, JSON, BEARER, BEARER], 401);
    check("POST /exec", &[HOST, JSON, ("authorization", &format!("bearer  {TOKEN} "))], 0);
    let answer = judged(&guard(true), "POST /exec", &[HOST, JSON]).unwrap();
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    assert!(
        judged(&guard(false), "POST /exec", &[HOST, JSON]).is_none(),
        "a door without a token asks for none"
    );
}

#[test]
fn json_is_known_by_its_media_type_alone() {
    for (value, status) in [
        ("application/json", 0),
        ("Application/JSON", 0),
        ("application/json; charset=utf-8", 0),
        ("application/json ;charset=utf-8", 0),
        ("application/jsonp", 415),
        ("text/plain; x=application/json", 415),
        ("application/json, text/plain", 415),
        ("", 415),
    ] {
        check("POST /exec", &[HOST, BEARER, ("content-type", value)], status);
    }
    check("POST /exec", &[HOST, BEARER, JSON, ("content-type", "text/plain")], 415);
}

#[test]
fn a_method_that_is_not_taken_is_answered_with_those_that_are() {
    let answer = judged(&guard(true), "GET /exec", &[HOST]).unwrap();
    assert_eq!(answer.headers()["allow"], "POST, OPTIONS");
    let answer = judged(&guard(true), "DELETE /health", &[HOST]).unwrap();
    assert_eq!(answer.headers()["allow"], "GET, HEAD, OPTIONS");
}

#[test]
fn a_preflight_needs_an_origin_that_is_allowed_and_no_token() {
    let answer = judged(&guard(true), "OPTIONS /exec", &[HOST, PAGE]).unwrap();
    assert_eq!(answer.status(), 204);
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-headers", "Authorization, Content-Type"),
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-private-network", "true"),
        ("vary", "Origin"),
    ] {
        assert_eq!(answer.headers()[name], value);
    }
    for origin in ["https://evil.example", "null", "https://app.example.evil", "http://app.example", ""] {
        let answer = judged(&guard(true), "OPTIONS /exec", &[HOST, ("origin", origin)]).unwrap();
        assert_eq!(answer.status(), 403, "{origin}");
        assert!(answer.headers().keys().all(|name| !name.as_str().starts_with("access-control")), "{origin}");
    }
    check("OPTIONS /exec", &[HOST, PAGE, PAGE], 403);
    let answer = judged(&guard(true), "OPTIONS /exec", &[HOST]).unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers().len()), (204, 1));
    assert_eq!(answer.headers()["allow"], "POST, OPTIONS");
}

#[test]
fn a_page_that_is_allowed_can_read_refusals_too() {
    for line in ["POST /nothing", "PUT /exec", "POST /exec"] {
        let answer = judged(&guard(true), line, &[HOST, PAGE]).unwrap();
        assert_eq!(answer.headers()["access-control-allow-origin"], "https://app.example", "{line}");
        assert_eq!(answer.headers()["vary"], "Origin", "{line}");
    }
    let answer = judged(&guard(true), "POST /exec", &[HOST, EVIL]).unwrap();
    assert!(!answer.headers().contains_key("access-control-allow-origin"));
}

#[test]
fn a_door_with_pages_lets_them_ask() {
    for name in ["localhost:8787", "127.0.0.1:8787", "[::1]:8787", "localhost"] {
        let own = format!("http://{name}");
        let own = &[("host", name), BEARER, JSON, ("origin", own.as_str())];
        assert_eq!(judged(&guard(true), "POST /exec", own).unwrap().status(), 403, "{name}");
        assert!(judged(&guard(true).with_own_pages(), "POST /exec", own).is_none(), "{name}");
    }
}

#[test]
fn the_pages_of_another_port_or_scheme_are_not_its_own() {
    for origin in [
        "http://127.0.0.1",
        "http://127.0.0.1:80",
        "http://localhost",
        "http://localhost:8787",
        "https://127.0.0.1:8787",
        "http://127.0.0.1:8787/",
        "127.0.0.1:8787",
        "null",
    ] {
        let refused =
            judged(&guard(true).with_own_pages(), "POST /exec", &[HOST, BEARER, ("origin", origin)]);
        assert_eq!(refused.map(|refused| refused.status().as_u16()), Some(403), "{origin}");
    }
}
