//! Directories, expansion, skills, workdirs, artifacts: what a path of a setting means.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Home;
use crate::config::{ArtifactPlan, Directories, Environment, Overrides, Resolved, Skill, Transport, Unset};

#[test]
fn variables_decide_where_directories_are() {
    let directories = |variables: &[(&'static str, &'static str)]| {
        Directories::of(&Environment::new("/cwd", variables.iter().copied()))
    };
    let usual = directories(&[("HOME", "/h"), ("XDG_DATA_HOME", "")]).unwrap();
    assert_eq!(usual.data, Path::new("/h/.local/share/axe"));
    assert_eq!(usual.cache, Path::new("/h/.cache/axe"));
    if cfg!(target_os = "linux") {
        assert_eq!(usual.config, Path::new("/h/.config/axe"));
    }
    let named = [("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d"), ("XDG_CACHE_HOME", "/k")];
    let expected = Directories { config: "/c/axe".into(), data: "/d/axe".into(), cache: "/k/axe".into() };
    assert_eq!(directories(&named).unwrap(), expected);
    let error = directories(&named[..2]).unwrap_err().to_string();
    assert_eq!(error, "no home directory: set HOME or XDG_CACHE_HOME");
}

#[test]
fn expansion_knows_homes_and_variables() {
    let environment = Environment::new("/", [("HOME", "/h"), ("A", "1"), ("A_B", "2"), ("E", "")]);
    for (text, expected) in [
        ("~", "/h"),
        ("~/x", "/h/x"),
        ("~other/x", "~other/x"),
        ("x/~", "x/~"),
        ("$A/$A_B/${A}b", "1/2/1b"),
        ("$NO/x${E}", "/x"),
        ("a$", "a$"),
        ("$1 $$A ${ ${}", "$1 $1 ${ ${}"),
        ("plain", "plain"),
        ("", ""),
    ] {
        assert_eq!(environment.expand(text), expected, "{text}");
    }
}

#[test]
fn secrets_of_servers_need_braces_and_a_value() {
    let environment = Environment::new("/", [("A", "1"), ("E", "")]);
    for (text, expected) in [
        ("Bearer ${A}${A}", Ok("Bearer 11")),
        ("$A ${1} ${ }", Ok("$A ${1} ${ }")),
        ("${E}", Err(Unset("E".into()))),
        ("${NO}", Err(Unset("NO".into()))),
    ] {
        assert_eq!(environment.expand_braced(text).as_deref().map_err(Clone::clone), expected, "{text}");
    }
    let transport =
        Transport::Sse { url: "http://h".into(), headers: [("X".to_owned(), "${NO}".to_owned())].into() };
    let error = transport.resolve_secrets(&environment).unwrap_err().to_string();
    assert_eq!(error, "environment variable \"NO\" is not set or empty");
}

#[test]
fn skills_are_found_by_path_and_by_name() {
    let home = Home::new();
    home.write(".config/axe/skills/s/SKILL.md", "---\nfront: matter\n---\nbody");
    home.write(".config/axe/skills/s/other.md", "other");
    home.write("abs.md", "abs");
    let place = home.place(&[]);
    let load = |text: &str| Skill::load(text, &place.environment, &place.directories);
    assert_eq!(load("").unwrap(), None);
    let text = |reference: &str| load(reference).unwrap().unwrap().text;
    assert_eq!(text("s"), "---\nfront: matter\n---\nbody");
    assert_eq!(text("skills/s"), text("s"));
    assert_eq!(text("skills/s/SKILL.md"), text("s"));
    assert_eq!(text("skills/s/other.md"), "other");
    assert_eq!(text("~/abs.md"), "abs");
    assert_eq!(text("$HOME/abs.md"), "abs");
    assert_eq!(load("s").unwrap().unwrap().directory(), place.directories.config.join("skills/s"));
    for missing in ["gone", "skills/gone/SKILL.md", "/gone", "~/abs.md/x"] {
        let error = load(missing).unwrap_err().to_string();
        assert!(error.starts_with("skill not found: /"), "{error}");
    }
}

fn resolved(home: &Home, agent: &str, overrides: &Overrides) -> Result<Resolved, String> {
    home.write("work/axe/agents/a.toml", &format!("name = \"a\"\nmodel = \"p/m\"\n{agent}"));
    let place = home.place(&[("SUB", "sub")]);
    Resolved::load("a", &home.lookup(None), overrides, &place).map_err(|error| error.to_string())
}

#[test]
fn flags_go_over_the_file_goes_over_defaults() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().join("work/sub")).unwrap();
    let plain = resolved(&home, "", &Overrides::default()).unwrap();
    assert_eq!(plain.workdir, home.path().join("work"));
    assert_eq!(plain.timeout, Duration::from_secs(120));
    assert_eq!((plain.budget_max_tokens, plain.max_turns, plain.stream), (None, 50, false));

    let file = "workdir = \"./$SUB\"\ntimeout = 7\nstream = true\n[budget]\nmax_tokens = 9\n";
    let from_file = resolved(&home, file, &Overrides::default()).unwrap();
    assert_eq!(from_file.workdir, home.path().join("work/sub"));
    assert_eq!(from_file.timeout, Duration::from_secs(7));
    assert_eq!((from_file.budget_max_tokens, from_file.stream), (Some(9), true));

    let flags = Overrides {
        model: Some("q/n/o".into()),
        workdir: Some("~".into()),
        timeout: Some(Duration::from_secs(1)),
        max_tokens: Some(2),
        max_turns: Some(3),
        stream: Some(false),
        ..Overrides::default()
    };
    let from_flags = resolved(&home, file, &flags).unwrap();
    assert_eq!(from_flags.workdir, home.path());
    assert_eq!(from_flags.timeout, Duration::from_secs(1));
    assert_eq!((from_flags.budget_max_tokens, from_flags.max_turns, from_flags.stream), (Some(2), 3, false));
    assert_eq!(from_flags.model.to_string(), "q/n/o");

    let zeros = Overrides { timeout: Some(Duration::ZERO), max_tokens: Some(0), ..Overrides::default() };
    let from_zeros = resolved(&home, file, &zeros).unwrap();
    assert_eq!(
        (from_zeros.timeout, from_zeros.budget_max_tokens),
        (from_file.timeout, from_file.budget_max_tokens)
    );
}

#[test]
fn a_workdir_must_be_a_directory() {
    let home = Home::new();
    home.write("work/file", "");
    for (workdir, detail) in [("gone", "No such file"), ("file", "it is not a directory")] {
        let overrides = Overrides { workdir: Some(workdir.into()), ..Overrides::default() };
        let error = resolved(&home, "", &overrides).unwrap_err();
        assert!(error.contains(&format!("work/{workdir}: {detail}")), "{error}");
    }
}

#[test]
fn artifacts_go_where_the_flag_or_the_file_says() {
    let home = Home::new();
    let enabled = "[artifacts]\nenabled = true\n";
    let own = "[artifacts]\nenabled = true\ndir = \"~/own\"\n";
    let cache = home.path().join(".cache/axe/artifacts");
    let chosen = |path: &str| ArtifactPlan::Chosen(home.path().join(path));
    for (agent, flag, expected) in [
        ("", None, ArtifactPlan::Off),
        ("", Some("out"), chosen("work/out")),
        (enabled, None, ArtifactPlan::Fresh { below: cache.clone() }),
        (enabled, Some(""), ArtifactPlan::Fresh { below: cache.clone() }),
        (own, None, chosen("own")),
        (own, Some("$SUB"), chosen("work/sub")),
        ("[artifacts]\nenabled = true\ndir = \"${UNSET}\"\n", None, ArtifactPlan::Fresh { below: cache }),
    ] {
        let overrides = Overrides { artifact_dir: flag.map(str::to_owned), ..Overrides::default() };
        assert_eq!(resolved(&home, agent, &overrides).unwrap().artifacts, expected, "{agent} {flag:?}");
    }
}

#[test]
fn fresh_artifact_directories_go_and_chosen_ones_stay() {
    let home = Home::new();
    let below = home.path().join("cache");
    let fresh = ArtifactPlan::Fresh { below: below.clone() };
    let (one, other) = (fresh.create().unwrap().unwrap(), fresh.create().unwrap().unwrap());
    assert_ne!(one.path(), other.path());
    let name = one.path().file_name().unwrap().to_str().unwrap();
    let (stamp, chance) = name.split_once('-').unwrap();
    assert_eq!((stamp.len(), stamp.find('T'), chance.len()), (15, Some(8), 6), "{name}");
    assert!(chance.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    std::fs::write(one.path().join("x"), "x").unwrap();

    let kept: PathBuf = other.path().into();
    assert_eq!(one.close(false), None);
    assert_eq!(other.close(true), Some(format!("artifacts preserved: {}", kept.display())));
    let left: Vec<_> = std::fs::read_dir(&below).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [kept]);

    let path = home.path().join("a/b");
    let chosen = ArtifactPlan::Chosen(path.clone()).create().unwrap().unwrap();
    assert_eq!(chosen.close(false), None);
    assert!(path.is_dir());
    assert_eq!(ArtifactPlan::Off.create().unwrap(), None);
}
