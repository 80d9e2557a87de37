use super::*;

fn inherited() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())])
}

#[track_caller]
fn refused(body: &str, says: &str) {
    for reading in [exec, spawn] {
        let error = reading(body.as_bytes(), &inherited()).expect_err(body);
        assert!(error.contains(says), "{body}: {error}");
    }
}

#[test]
fn the_smallest_body_runs_in_the_shell_with_the_defaults() {
    let body = br#"{"cmd":"echo hi"}"#;
    let made = exec(body, &inherited()).unwrap();
    assert_eq!(
        (made.program.as_str(), made.arguments),
        ("/bin/sh", vec!["-c".to_owned(), "echo hi".to_owned()])
    );
    assert_eq!(
        (made.directory, made.environment, made.timeout),
        (None, inherited(), Duration::from_secs(30))
    );
    assert_eq!(spawn(body, &inherited()).unwrap().timeout, Duration::from_secs(300));
}

#[test]
fn the_whole_body_is_heeded() {
    let body =
        br#"{"cmd":"echo","args":["$HOME",""],"cwd":"/usr","env":{"A_1":"x","PATH":""},"timeout":0.25}"#;
    let made = spawn(body, &inherited()).unwrap();
    assert_eq!((made.program.as_str(), made.arguments), ("echo", vec!["$HOME".to_owned(), String::new()]));
    assert_eq!((made.directory, made.timeout), (Some(PathBuf::from("/usr")), Duration::from_millis(250)));
    let environment = [("A_1", "x"), ("PATH", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(made.environment, BTreeMap::from(environment));
    assert!(exec(body, &inherited()).unwrap_err().contains("unknown member \"args\""));
}

#[test]
fn null_is_as_good_as_absent_and_empty_args_are_args() {
    let made =
        spawn(br#"{"cmd":"a","args":null,"cwd":null,"env":null,"timeout":null}"#, &inherited()).unwrap();
    assert_eq!((made.program.as_str(), made.timeout), ("/bin/sh", Duration::from_secs(300)));
    assert_eq!(spawn(br#"{"cmd":"a","args":[],"cwd":""}"#, &inherited()).unwrap().program, "a");
}

#[test]
fn what_is_no_such_object_is_refused() {
    for (body, says) in [
        ("", "not well-formed"),
        ("{\"cmd\":", "not well-formed"),
        ("{\"cmd\":\"a\"}{}", "byte"),
        ("[\"a\"]", "must be an object"),
        ("null", "must be an object"),
        ("{}", "missing member \"cmd\""),
        (r#"{"cmd":""}"#, "cmd must not be empty"),
        (r#"{"cmd":null}"#, "cmd must be a string"),
        (r#"{"cmd":1}"#, "cmd must be a string"),
        (r#"{"cmd":"a\u0000"}"#, "cmd must not contain NUL"),
        (r#"{"cmd":"\ud800"}"#, "unpaired surrogate"),
        (r#"{"cmd":"a","cmd":"b"}"#, "cmd"),
        (r#"{"cmd":"a","Cmd":"b"}"#, "unknown member \"Cmd\""),
        (r#"{"cmd":"a","stdin":"b"}"#, "unknown member \"stdin\""),
        (r#"{"cmd":"a","cwd":1}"#, "cwd must be a string"),
        (r#"{"cmd":"a","cwd":"/\u0000"}"#, "cwd must not contain NUL"),
        (r#"{"cmd":"a","env":[]}"#, "env must be an object"),
        (r#"{"cmd":"a","env":{"A":1}}"#, "env.A must be a string"),
        (r#"{"cmd":"a","env":{"A":"1","A":"2"}}"#, "repeated member \"A\""),
        (r#"{"cmd":"a","env":{"A":"\u0000"}}"#, "env.A must not contain NUL"),
        (r#"{"cmd":"a","env":{"1A":""}}"#, "the name \"1A\" must match"),
        (r#"{"cmd":"a","env":{"":""}}"#, "the name \"\" must match"),
        (r#"{"cmd":"a","env":{"A-B":""}}"#, "must match"),
        (r#"{"cmd":"a","env":{"A\u0000":""}}"#, "must match"),
        (r#"{"cmd":"a","env":{"\u00c9":""}}"#, "must match"),
        (r#"{"cmd":"a","timeout":"5"}"#, "timeout must be a number"),
        (r#"{"cmd":"a","timeout":true}"#, "timeout must be a number"),
        (r#"{"cmd":"a","timeout":0}"#, "timeout 0 must be over 0 and at most"),
        (r#"{"cmd":"a","timeout":-0.0}"#, "must be over 0"),
        (r#"{"cmd":"a","timeout":-1}"#, "must be over 0"),
        (r#"{"cmd":"a","timeout":1e999}"#, "timeout"),
        (r#"{"cmd":"a","timeout":3600.001}"#, "seconds"),
        (r#"{"cmd":"a","timeout":NaN}"#, "not well-formed"),
        (r#"{"cmd":"a","timeout":99999999999999999999}"#, "timeout"),
    ] {
        refused(body, says);
    }
    assert!(exec(b"{\"cmd\":\"\xff\"}", &inherited()).unwrap_err().contains("UTF-8"));
    for args in ["\"x\"", "[1]", "{}", "[null]", "[\"\\u0000\"]"] {
        let body = format!("{{\"cmd\":\"a\",\"args\":{args}}}");
        assert!(spawn(body.as_bytes(), &inherited()).unwrap_err().contains("args"), "{args}");
    }
}

#[test]
fn each_endpoint_names_its_own_longest_timeout() {
    for (reading, max) in [(exec as fn(&[u8], &_) -> _, 120), (spawn, 3600)] {
        let body = |timeout: &str| format!("{{\"cmd\":\"a\",\"timeout\":{timeout}}}");
        let longest = reading(body(&max.to_string()).as_bytes(), &inherited()).unwrap();
        assert_eq!(longest.timeout, Duration::from_secs(max));
        let error: String = reading(body(&format!("{max}.5")).as_bytes(), &inherited()).unwrap_err();
        assert_eq!(error, format!("timeout {max}.5 must be over 0 and at most {max} seconds"));
    }
}
