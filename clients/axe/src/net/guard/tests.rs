use url::Url;

use super::super::testing::FakeResolver;
use super::Guard;

/// The addresses, or the refusal's words.
async fn check(allowed: &[&str], url: &str) -> Result<Vec<String>, String> {
    let resolver = FakeResolver::new(&[
        ("example.com", &[&["93.184.216.34", "2606:2800:220:1::1"]]),
        ("www.example.com", &[&["93.184.216.35"]]),
        ("example.com.", &[&["93.184.216.34"]]),
        ("xn--bcher-kva.example", &[&["93.184.216.36"]]),
        ("mixed.example", &[&["93.184.216.34", "10.0.0.1"]]),
        ("mapped.example", &[&["::ffff:127.0.0.1"]]),
        ("empty.example", &[&[]]),
    ]);
    let allowed: Vec<String> = allowed.iter().map(|&entry| entry.to_owned()).collect();
    let guard = Guard::with_resolver(&allowed, resolver);
    match guard.check(&Url::parse(url).unwrap()).await {
        Ok(addresses) => Ok(addresses.iter().map(ToString::to_string).collect()),
        Err(refusal) => Err(refusal.to_string()),
    }
}

#[tokio::test]
async fn public_hosts_pass_with_all_their_addresses() {
    for (allowed, url, expected) in [
        (
            &[] as &[&str],
            "https://example.com/x",
            &["93.184.216.34:443", "[2606:2800:220:1::1]:443"] as &[&str],
        ),
        (&[], "http://example.com:8080", &["93.184.216.34:8080", "[2606:2800:220:1::1]:8080"]),
        (&["EXAMPLE.com"], "http://eXample.COM", &["93.184.216.34:80", "[2606:2800:220:1::1]:80"]),
        (&["bücher.example"], "http://xn--bcher-kva.example", &["93.184.216.36:80"]),
        (&["xn--bcher-kva.example"], "http://BÜCHER.example", &["93.184.216.36:80"]),
        (&["example.com."], "http://example.com.", &["93.184.216.34:80"]),
        (&["1.1.1.1"], "http://1.1.1.1", &["1.1.1.1:80"]),
        (&["2606:4700::1111"], "http://[2606:4700:0::1111]", &["[2606:4700::1111]:80"]),
        (&[], "http://user@1.1.1.1", &["1.1.1.1:80"]),
    ] {
        assert_eq!(
            check(allowed, url).await,
            Ok(expected.iter().map(ToString::to_string).collect()),
            "{url}"
        );
    }
}

#[tokio::test]
async fn everything_else_is_refused_in_the_words_of_the_contract() {
    for (allowed, url, expected) in [
        (&[] as &[&str], "ftp://example.com", r#"unsupported scheme "ftp": only http and https are allowed"#),
        (&[], "file:///etc/passwd", r#"unsupported scheme "file": only http and https are allowed"#),
        (&["example.com"], "http://www.example.com", r#"host "www.example.com" is not in allowed_hosts"#),
        (&["www.example.com"], "http://example.com", r#"host "example.com" is not in allowed_hosts"#),
        (&["example.com"], "http://example.com.", r#"host "example.com." is not in allowed_hosts"#),
        (&["*.example.com"], "http://www.example.com", r#"host "www.example.com" is not in allowed_hosts"#),
        (&["example.com:443"], "https://example.com", r#"host "example.com" is not in allowed_hosts"#),
        (&["127.0.0.1"], "http://127.0.0.1", "address 127.0.0.1 is a private/reserved IP"),
        (&[], "http://2130706433", "address 127.0.0.1 is a private/reserved IP"),
        (&[], "http://0x7f.1", "address 127.0.0.1 is a private/reserved IP"),
        (&[], "http://017700000001", "address 127.0.0.1 is a private/reserved IP"),
        (&[], "http://127.1:8080", "address 127.0.0.1 is a private/reserved IP"),
        (&[], "http://[::]", "address :: is a private/reserved IP"),
        (&[], "http://[::ffff:127.0.0.1]", "address ::ffff:127.0.0.1 is a private/reserved IP"),
        (&[], "http://169.254.169.254/latest", "address 169.254.169.254 is a private/reserved IP"),
        (&[], "http://mixed.example", r#"host "mixed.example" resolves to private address 10.0.0.1"#),
        (
            &["mixed.example"],
            "http://mixed.example",
            r#"host "mixed.example" resolves to private address 10.0.0.1"#,
        ),
        (
            &[],
            "http://mapped.example",
            r#"host "mapped.example" resolves to private address ::ffff:127.0.0.1"#,
        ),
        (&[], "http://empty.example", r#"host "empty.example" cannot be resolved: it has no address"#),
        (&[], "http://unknown.example", r#"host "unknown.example" cannot be resolved: no such name"#),
    ] {
        assert_eq!(check(allowed, url).await, Err(expected.to_owned()), "{url}");
    }
}
