use super::*;

#[track_caller]
fn check_origin(origin: &str, allowed: bool) {
    let made = Admission::new(Vec::new(), vec![origin.to_owned()]);
    assert_eq!(made.is_ok(), allowed, "{origin}: {made:?}");
}

#[test]
fn an_origin_is_what_a_browser_sends() {
    for origin in [
        "https://app.example",
        "http://localhost:5173",
        "http://127.0.0.1:8080",
        "http://[::1]:8080",
        "https://app.example:444",
        "chrome-extension://aohghmighlieiainnegkcijnfilokake",
        "tauri://localhost",
    ] {
        check_origin(origin, true);
    }
}

#[test]
fn what_no_browser_sends_as_origin_is_refused() {
    for origin in [
        "",
        "null",
        "*",
        "https://*.example",
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/page",
        "https://app.example?x",
        "https://user@app.example",
        "https://App.example",
        "https://app.example:443",
        "http://app.example:80",
        "http://app.example:",
        "http://app.example:99999",
        "http://app example",
        "http://app.example,http://b.example",
    ] {
        check_origin(origin, false);
    }
}

#[test]
fn a_host_is_a_name_with_a_port_or_without() {
    for (host, allowed) in [
        ("box.lan", true),
        ("box.lan:8787", true),
        ("192.168.0.10", true),
        ("[fe80::1]:80", true),
        ("", false),
        ("box.lan:", false),
        ("box.lan:99999", false),
        ("http://box.lan", false),
        ("box.lan/", false),
        ("user@box.lan", false),
        ("*.lan", false),
        ("two words", false),
    ] {
        let made = Admission::new(vec![host.to_owned()], Vec::new());
        assert_eq!(made.is_ok(), allowed, "{host}");
    }
}

#[test]
fn names_are_known_with_the_port_and_without() {
    let names = Names::new(8787, &["box.lan".to_owned(), "proxy.lan:443".to_owned()]);
    for (host, known) in [
        ("localhost", true),
        ("LocalHost:8787", true),
        ("127.0.0.1", true),
        ("127.0.0.1:8787", true),
        ("[::1]:8787", true),
        ("box.lan", true),
        ("box.lan:8787", true),
        ("proxy.lan:443", true),
        ("", false),
        ("localhost:", false),
        ("localhost:8788", false),
        ("localhost.", false),
        ("::1", false),
        ("127.0.0.2", false),
        ("0.0.0.0:8787", false),
        ("proxy.lan", false),
        ("proxy.lan:8787", false),
        ("box.lan:443", false),
        ("localhost:8787.evil.example", false),
    ] {
        assert_eq!(names.contain(host), known, "{host}");
    }
}
