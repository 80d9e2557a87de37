use std::path::{Path, PathBuf};

use super::{folder_of, path_of};

#[test]
fn a_file_uri_is_a_path() {
    let table = [
        ("file:///a/b", Some("/a/b")),
        ("file:/a/b", Some("/a/b")),
        ("FILE://localhost/a", Some("/a")),
        ("file:///a%20b/%C3%A4", Some("/a b/ä")),
        ("file:///a?x#y", Some("/a")),
        ("file://elsewhere/a", None),
        ("file:a", None),
        ("file://", None),
        ("file:///a%2", None),
        ("file:///a%zz", None),
        ("file:///a%00", None),
        ("https://a/b", None),
        ("/a", None),
    ];
    for (uri, expected) in table {
        assert_eq!(path_of(uri), expected.map(PathBuf::from), "{uri}");
    }
}

#[test]
fn roots_only_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let home = top.join("home");
    for path in ["home/a/x", "home/a/y", "home/b", "home-not"] {
        std::fs::create_dir_all(top.join(path)).unwrap();
    }
    std::fs::write(home.join("file"), "").unwrap();
    std::os::unix::fs::symlink(&top, home.join("out")).unwrap();
    std::os::unix::fs::symlink(home.join("b"), top.join("in")).unwrap();
    let check = |roots: &[&str], expected: Option<&str>| {
        let uri = |root: &&str| format!("file://{}/{root}", top.display());
        let uris: Vec<String> = roots.iter().map(uri).collect();
        assert_eq!(folder_of(&home, &uris), expected.map(|path| top.join(path)), "{roots:?}");
    };
    check(&["home/a/x"], Some("home/a/x"));
    check(&["home/a/x", "home/a/y"], Some("home/a"));
    check(&["home/a/x", "home/b"], Some("home"));
    check(&["home"], Some("home"));
    check(&["in"], Some("home/b"));
    check(&["home/a/../b"], Some("home/b"));
    check(&["home/a/x", "home-not", "home/gone", "home/file"], Some("home/a/x"));
    for outside in
        ["", "home-not", "home/out", "home/out/home-not", "home/file", "home/gone", "home/../home-not"]
    {
        check(&[outside], None);
    }
    check(&[], None);
    assert_eq!(folder_of(Path::new("/"), &["file:///".to_owned()]), Some(PathBuf::from("/")));
}
