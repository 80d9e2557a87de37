use super::*;

fn collect(
    pass: &[&str],
    file: Option<&str>,
    variables: &[&str],
) -> Result<BTreeMap<String, String>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("env");
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
    }
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let sources = Sources {
        pass: owned(pass),
        files: file.map(|_| path.clone()).into_iter().collect(),
        variables: owned(variables),
        prefix: "",
    };
    sources.collect().map_err(|error| error.to_string())
}

#[test]
fn later_sources_win() {
    let environment =
        collect(&["PATH", "SURELY_NOT_SET"], Some("# a comment\n\nA=1\nPATH=/f\n"), &["A=2", "B=x=y"]);
    let wanted =
        [("A", "2"), ("B", "x=y"), ("PATH", "/f")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(environment.unwrap(), BTreeMap::from(wanted));
}

#[test]
fn a_wrong_variable_is_named_by_its_place_and_never_shown() {
    for variable in ["NOEQUALS", "=value", "A=\0"] {
        let error = collect(&[], None, &[variable]).unwrap_err();
        assert!(error.starts_with("--env: ") && !error.contains(variable), "{error}");
    }
    let error = collect(&[], Some("A=1\nsecret\n"), &[]).unwrap_err();
    assert!(error.contains("line 2") && !error.contains("secret"), "{error}");
    assert!(collect(&["A=B"], None, &[]).unwrap_err().contains("--env-pass"));
}
