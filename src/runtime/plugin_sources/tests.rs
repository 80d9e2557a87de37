use std::collections::BTreeMap;

use super::*;

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn environments_and_headers_are_sorted_by_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let file = path("env", "# a comment\nA=1\nB=1\n");
    let key = path("key", "secret \n");
    let sources = Sources {
        manifests: Vec::new(),
        files: vec![format!("p:{file}")],
        variables: owned(&["p:A=2", "q:C=x:y=z"]),
        headers: vec![format!("h:Authorization=@{key}"), "h:X-Path=$PATH".to_owned()],
    };
    let Collected { env, headers, .. } = sources.collect().unwrap();
    assert_eq!(env["p"], map(&[("A", "2"), ("B", "1")]));
    assert_eq!(env["q"], map(&[("C", "x:y=z")]));
    let wanted = std::env::var("PATH").unwrap();
    assert_eq!(headers["h"], map(&[("Authorization", "secret "), ("X-Path", &wanted)]));
}

#[test]
fn what_is_wrong_is_said_without_what_may_be_secret() {
    for (files, variables, headers, reason) in [
        (&["p"][..], &[][..], &[][..], "--plugin-env-file: must be ID:FILE"),
        (&["p:/nowhere/secret-file"], &[], &[], "/nowhere/secret-file"),
        (&[], &["secret"], &[], "--plugin-env: must be ID:KEY=VALUE"),
        (&[], &[":A=secret"], &[], "--plugin-env: must be"),
        (&[], &["p:"], &[], "--plugin-env: must be"),
        (&[], &["p:secret"], &[], "plugin p: --plugin-env: a variable must be KEY=VALUE"),
        (&[], &["p:=secret"], &[], "the key must not be empty"),
        (&[], &[], &["h:Key=secret"], "--plugin-header: must be ID:NAME=@FILE or ID:NAME=$VARIABLE"),
        (&[], &[], &["h:Key"], "--plugin-header: must be"),
        (&[], &[], &["h:Key=@"], "--plugin-header: must be"),
        (&[], &[], &["h:Key=$"], "--plugin-header: must be"),
        (&[], &[], &["Key=@f"], "--plugin-header: must be"),
        (&[], &[], &["h:Key=@/nowhere/f"], "--plugin-header h:Key=@/nowhere/f"),
        (&[], &[], &["h:Key=$SURELY_NOT_SET"], "SURELY_NOT_SET: the variable is not set"),
    ] {
        let sources = Sources {
            manifests: Vec::new(),
            files: owned(files),
            variables: owned(variables),
            headers: owned(headers),
        };
        let error = sources.collect().err().unwrap();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        let error = format!("{error}: {cause}");
        assert!(error.contains(reason) && !error.contains("=secret"), "{reason}: {error}");
    }
}
