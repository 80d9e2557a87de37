use super::*;

fn parse(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text.as_bytes()).map_err(|error| error.to_string())
}

/// A manifest with these members beside version and id.
fn with(members: &str) -> Result<Manifest, String> {
    parse(&format!(r#"{{"manifest_version":1,"id":"p",{members}}}"#))
}

const STDIO: &str = r#""command":"/bin/server","args":["-x",""]"#;

#[test]
fn a_program_or_an_address_is_a_server() {
    let manifest = with(&format!(r#"{STDIO},"allow_tools":["a","b.c"]"#)).unwrap();
    let args = vec!["-x".to_owned(), String::new()];
    assert_eq!(manifest.server, Server::Stdio { command: "/bin/server".to_owned(), args });
    assert_eq!(["a", "b.c", "c", "*"].map(|name| manifest.allows(name)), [true, true, false, false]);

    for url in ["http://h", "https://h:8443/mcp?k=v", "http://[::1]:8/mcp", "HTTP://h/a@b", "http://h/?a@b"] {
        for args in ["", r#","args":[]"#] {
            let manifest = with(&format!(r#""url":"{url}"{args},"allow_tools":["*"]"#)).unwrap();
            assert!(matches!(&manifest.server, Server::Http { .. }) && manifest.allows("anything"), "{url}");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let stdio = |more: &str| format!(r#""command":"/s","args":[],{more}"#);
    let http = |url: &str| format!(r#""url":"{url}","allow_tools":["*"]"#);
    let allow = |names: &str| stdio(&format!(r#""allow_tools":{names}"#));
    let long = "n".repeat(129);
    for (members, reason) in [
        (r#""allow_tools":["*"]"#.to_owned(), "command or url is missing"),
        (stdio(r#""url":"http://h","allow_tools":["*"]"#), "must not both be given"),
        (r#""command":"/s","allow_tools":["*"]"#.to_owned(), "args is missing"),
        (r#""command":"s","args":[],"allow_tools":["*"]"#.to_owned(), "command \"s\" must be an absolute"),
        (r#""command":"","args":[],"allow_tools":["*"]"#.to_owned(), "must be an absolute"),
        (r#""command":"/s\u0000","args":[],"allow_tools":["*"]"#.to_owned(), "without NUL"),
        (r#""command":"/s","args":["a","\u0000"],"allow_tools":["*"]"#.to_owned(), "args[1]"),
        (r#""command":"/s","args":"a","allow_tools":["*"]"#.to_owned(), "expected a sequence"),
        (r#""command":"/s","args":[1],"allow_tools":["*"]"#.to_owned(), "expected a string"),
        (r#""url":"http://h","args":["a"],"allow_tools":["*"]"#.to_owned(), "args must be empty"),
        (http("ftp://h"), "must be http or https"),
        (http("h/mcp"), "is no URL"),
        (http("http://"), "is no URL"),
        (http("http://u@h"), "user or a password"),
        (http("http://u:p@h/"), "user or a password"),
        (http("http://@h/"), "user or a password"),
        (http("http:u:p@h/"), "user or a password"),
        (http("http:/u:p@h/"), "user or a password"),
        (http("http:////u:p@h/"), "user or a password"),
        (http(r"http:\\\\u:p@h/"), "user or a password"),
        (http("http:h"), "must have its host right after"),
        (http("http:///h"), "must have its host right after"),
        (http(r"http://\\h"), "must have its host right after"),
        (http("http://h/#a"), "fragment"),
        (http("http://h/#"), "fragment"),
        (http(" http://h/"), "white space"),
        (http("http://h/\\ta"), "white space"),
        (STDIO.to_owned(), "missing field `allow_tools`"),
        (allow("[]"), "must not be empty"),
        (allow(r#"["a","*"]"#), "must stand alone"),
        (allow(r#"["*","*"]"#), "must stand alone"),
        (allow(r#"["a","b","a"]"#), "allow_tools[2] \"a\" is there twice"),
        (allow(r#"["a b"]"#), "allow_tools[0] \"a b\" must be 1 to 128"),
        (allow(r#"[""]"#), "must be 1 to 128"),
        (allow(&format!(r#"["{long}"]"#)), "must be 1 to 128"),
        (allow(r#"["a"],"more":1"#), "unknown field `more`"),
        (allow(r#"["a"],"allow_tools":["a"]"#), "duplicate field `allow_tools`"),
        (allow(r#"["\ud800"]"#), "is not a manifest"),
    ] {
        let error = with(&members).unwrap_err();
        assert!(error.contains(reason), "{members}: {error}");
    }
}

#[test]
fn the_version_the_id_and_the_form_are_checked() {
    let rest = r#""command":"/s","args":[],"allow_tools":["*"]"#;
    for (text, reason) in [
        (format!(r#"{{"manifest_version":2,"id":"p",{rest}}}"#), "manifest_version 2 must be 1"),
        (format!(r#"{{"manifest_version":1.0,"id":"p",{rest}}}"#), "invalid type: floating point"),
        (format!(r#"{{"manifest_version":"1","id":"p",{rest}}}"#), "invalid type: string"),
        (format!(r#"{{"id":"p",{rest}}}"#), "missing field `manifest_version`"),
        (format!(r#"{{"manifest_version":1,{rest}}}"#), "missing field `id`"),
        (format!(r#"{{"manifest_version":1,"id":"9",{rest}}}"#), "id \"9\" must be a letter"),
        (format!(r#"{{"manifest_version":1,"id":"a.b",{rest}}}"#), "must be a letter"),
        (format!(r#"{{"manifest_version":1,"id":"",{rest}}}"#), "must be a letter"),
        (format!(r#"{{"manifest_version":1,"id":"é",{rest}}}"#), "must be a letter"),
        (format!(r#"{{"manifest_version":1,"id":"p",{rest}}} x"#), "trailing characters"),
        (r#"[1,"p","/s",[],null,["*"]]"#.to_owned(), "one JSON object"),
        (String::new(), "one JSON object"),
        (" ".repeat(limits::PLUGIN_MANIFEST_MAX_BYTES + 1), "over the limit of 65536 bytes"),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.contains(reason), "{text:.80}: {error}");
    }
    assert!(Manifest::parse(b"{\"id\":\"\xff\"}").unwrap_err().to_string().contains("utf-8"));
    let full = format!(r#"{{"manifest_version":1,"id":"p",{rest}}}"#);
    let padded = format!("{full}{}", " ".repeat(limits::PLUGIN_MANIFEST_MAX_BYTES - full.len()));
    assert!(parse(&padded).is_ok());
}

#[test]
fn only_a_regular_file_at_an_absolute_path_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let said = |path: &Path| Manifest::read(path).unwrap_err().to_string();
    assert!(said(Path::new("p.json")).contains("absolute"));
    assert!(said(&folder.path().join("missing")).contains("can't be read"));
    assert!(said(folder.path()).contains("not a regular file"));
}

#[test]
fn a_password_is_not_shown() {
    let error = with(r#""url":"http://u:hunter2@h/","allow_tools":["*"]"#).unwrap_err();
    assert!(error.starts_with("url must not hold") && !error.contains("hunter2"), "{error}");
}
