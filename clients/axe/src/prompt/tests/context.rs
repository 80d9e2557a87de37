//! Patterns, and the files they name.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::prompt::{Entry, EntryKind, Files, FilesError, GatherError, Gathered, Pattern, gather};
use crate::provider::Boxed;

#[test]
fn patterns_match_as_users_expect() {
    for (pattern, matching, other) in [
        ("a.md", &["a.md"][..], &["b/a.md", "xa.md", "a.mdx"][..]),
        ("./a.md", &["a.md"], &[]),
        ("/a.md", &["a.md"], &[]),
        ("b//a.md", &["b/a.md"], &[]),
        ("x/../a.md", &["a.md"], &["x/a.md"]),
        ("*", &["a", ".b", "é"], &["a/b"]),
        ("*.md", &["a.md", ".md"], &["a.mdx", "b/a.md"]),
        ("*a*b*", &["ab", "xaybz", "aabb"], &["ba", "a"]),
        ("a?c", &["abc", "aéc"], &["ac", "abbc"]),
        ("[a-c]x", &["ax", "cx"], &["dx", "x"]),
        ("[^a-c]x", &["dx", "éx"], &["ax"]),
        ("[\\]\\-a]", &["]", "-", "a"], &["b", "\\"]),
        ("\\*", &["*"], &["a"]),
        ("**", &["a", "a/b/c"], &[]),
        ("**/*.md", &["a.md", "x/a.md", "x/y/a.md"], &["a.mdx"]),
        ("src/**/t/*.rs", &["src/t/a.rs", "src/x/y/t/a.rs"], &["t/a.rs", "src/a.rs", "src/t/x/a.rs"]),
        ("src/**", &["src/a", "src/a/b"], &["src", "a"]),
        ("a**b", &["ab", "axxb"], &["a/b"]),
        ("**/**/a", &["a", "x/y/a"], &["b"]),
    ] {
        let parsed = Pattern::parse(pattern).unwrap();
        for path in matching {
            assert!(parsed.matches(path), "{pattern} should match {path}");
        }
        for path in other {
            assert!(!parsed.matches(path), "{pattern} should not match {path}");
        }
    }
}

#[test]
fn what_means_nothing_is_refused_wherever_it_stands() {
    for (pattern, rule) in [
        ("[", "a [ is not closed"),
        ("a/[b", "a [ is not closed"),
        ("[]a]", "a [] is empty"),
        ("[^]", "a [] is empty"),
        ("[-a]", "a range in [] has no beginning"),
        ("[a-]", "a range in [] has no end"),
        ("[b-a]", "a range in [] runs backwards"),
        ("**/\\", "it ends in the middle of an escape"),
    ] {
        let error = Pattern::parse(pattern).unwrap_err().to_string();
        assert_eq!(error, format!("invalid files pattern {pattern:?}: {rule}"));
    }
}

#[test]
fn a_hostile_pattern_takes_no_time() {
    let pattern = Pattern::parse(&format!("{}b", "*a".repeat(40))).unwrap();
    assert!(!pattern.matches(&"a".repeat(10_000)));
}

/// A tree in memory, which remembers what it was asked.
#[derive(Default)]
struct Tree {
    files: BTreeMap<&'static str, &'static [u8]>,
    symlinks: BTreeMap<&'static str, &'static str>,
    listed: Mutex<Vec<String>>,
    is_gone: bool,
}

impl Tree {
    fn new(files: &[(&'static str, &'static [u8])]) -> Self {
        Self { files: files.iter().copied().collect(), ..Self::default() }
    }

    fn follow<'a>(&self, path: &'a str) -> std::borrow::Cow<'a, str> {
        for (link, target) in &self.symlinks {
            match path.strip_prefix(link) {
                Some("") => return (*target).into(),
                Some(rest) if rest.starts_with('/') => return format!("{target}{rest}").into(),
                _ => {}
            }
        }
        path.into()
    }
}

impl Files for Tree {
    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, Result<Vec<Entry>, FilesError>> {
        self.listed.lock().unwrap().push(directory.to_owned());
        let directory = self.follow(directory);
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let mut entries = BTreeMap::new();
        for path in self.files.keys().filter_map(|path| path.strip_prefix(prefix.as_str())) {
            let (name, kind) = match path.split_once('/') {
                Some((name, _)) => (name, EntryKind::Directory),
                None => (path, EntryKind::File),
            };
            entries.insert(name, kind);
        }
        for link in self.symlinks.keys().filter_map(|path| path.strip_prefix(prefix.as_str())) {
            if !link.contains('/') {
                entries.insert(link, EntryKind::Symlink);
            }
        }
        let entries = entries.into_iter().map(|(name, kind)| Entry { name: name.into(), kind }).collect();
        let gone = self.is_gone.then(|| FilesError::Unavailable("nobody listens".into()));
        Box::pin(async move { gone.map_or(Ok(entries), Err) })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<Vec<u8>, FilesError>> {
        Box::pin(async move {
            let bytes = self.files.get(&*self.follow(path));
            bytes.map(|bytes| bytes.to_vec()).ok_or_else(|| FilesError::Unreadable("no such file".into()))
        })
    }
}

fn gathered(tree: &Tree, patterns: &[&str]) -> Result<Gathered, GatherError> {
    let patterns: Vec<_> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    executor.block_on(gather(&patterns, tree))
}

#[track_caller]
fn paths(tree: &Tree, patterns: &[&str]) -> Vec<String> {
    gathered(tree, patterns).unwrap().files.into_iter().map(|file| file.path).collect()
}

#[test]
fn files_come_once_in_the_order_of_their_paths() {
    let tree = Tree::new(&[
        ("b.md", b"B"),
        ("a.md", b"A"),
        ("src/x.rs", b""),
        ("src/deep/y.rs", b""),
        ("src/deep/z.txt", b""),
        (".git/HEAD.md", b""),
    ]);
    for (patterns, expected) in [
        (&["*.md", "a.md", "**/a.md"][..], &["a.md", "b.md"][..]),
        (&["src/**/*.rs"], &["src/deep/y.rs", "src/x.rs"]),
        (&["**/*.md"], &["a.md", "b.md"]),
        (&[".git/*"], &[".git/HEAD.md"]),
        (&["src/**"], &["src/deep/y.rs", "src/deep/z.txt", "src/x.rs"]),
        (&["**"], &["a.md", "b.md", "src/deep/y.rs", "src/deep/z.txt", "src/x.rs"]),
        (&["gone", "*/gone", "src", "../x", "gone/**/*"], &[]),
        (&["*/*.rs"], &["src/x.rs"]),
        (&[], &[]),
    ] {
        assert_eq!(paths(&tree, patterns), expected, "{patterns:?}");
    }
}

#[test]
fn a_pattern_lists_only_what_it_can_reach() {
    let tree = Tree::new(&[("a/b/c.rs", b""), ("node_modules/x/y.rs", b"")]);
    assert_eq!(paths(&tree, &["a/**/*.rs", "a/b/c.rs"]), ["a/b/c.rs"]);
    assert_eq!(*tree.listed.lock().unwrap(), ["a", "a/b"]);
}

#[test]
fn binary_and_unreadable_files_are_passed_over() {
    let mut late_nul = vec![b'x'; 512];
    late_nul.push(0);
    let tree = Tree::new(&[("late", late_nul.leak()), ("nul", b"a\0b"), ("latin", b"a\xe9")]);
    let files = gathered(&tree, &["*"]).unwrap().files;
    let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["late", "latin"]);
    assert_eq!(files[1].text, "a\u{fffd}");
}

#[test]
fn symlinks_are_read_but_not_walked_through() {
    let mut tree = Tree::new(&[("real/a.md", b"A"), ("c.md", b"C")]);
    tree.symlinks = [("dir", "real"), ("out.md", "/etc/passwd"), ("in.md", "c.md")].into();
    assert_eq!(paths(&tree, &["*.md"]), ["c.md", "in.md"]);
    assert_eq!(paths(&tree, &["**/a.md"]), ["real/a.md"]);
    assert_eq!(paths(&tree, &["*/a.md"]), ["dir/a.md", "real/a.md"]);
}

#[test]
fn a_huge_context_warns() {
    let tree = Tree::new(&[("big", vec![b'x'; 600 * 1024].leak())]);
    let warnings = gathered(&tree, &["*"]).unwrap().warnings;
    assert_eq!(
        warnings,
        ["1 context files hold 600 KiB, which few models take; narrow the patterns of files"]
    );
}

#[test]
fn faults_are_told_apart() {
    let tree = Tree { is_gone: true, ..Tree::new(&[]) };
    assert!(matches!(gathered(&tree, &["[", "*"]), Err(GatherError::Pattern(_))));
    assert_eq!(gathered(&tree, &["*"]), Err(GatherError::Unavailable("nobody listens".into())));
}

proptest::proptest! {
    /// The walk, which lists only what it must, finds what matching every path would.
    #[test]
    fn the_walk_finds_what_matches(
        names in proptest::collection::btree_set("[ab]{1,2}(/[ab]{1,2}){0,3}", 0..12),
        pattern in "([ab*?]{1,2}|\\*\\*)(/([ab*?]{1,2}|\\*\\*)){0,3}",
    ) {
        // A path can't be a file and a directory.
        let is_directory = |path: &str| names.iter().any(|other| other.starts_with(&format!("{path}/")));
        let files: Vec<&'static str> = names
            .iter()
            .filter(|path| !is_directory(path))
            .map(|path| &*path.clone().leak())
            .collect();
        let tree = Tree::new(&files.iter().map(|path| (*path, &b""[..])).collect::<Vec<_>>());
        let parsed = Pattern::parse(&pattern).unwrap();
        let expected: Vec<_> = tree.files.keys().copied().filter(|path| parsed.matches(path)).collect();
        proptest::prop_assert_eq!(paths(&tree, &[&pattern]), expected);
    }
}
