//! Finding, loading, making and checking agents.

use super::Home;
use crate::config::unknown::{AGENT, unknown_keys};
use crate::config::{Loaded, check_agents, check_name, init_agent, init_config};

const PLAIN: &str = "name = \"x\"\nmodel = \"ollama/m\"\n";

fn warnings(text: &str) -> Vec<String> {
    unknown_keys(text, AGENT).iter().map(|unknown| format!("{}: {unknown}", unknown.line)).collect()
}

#[test]
fn unknown_keys_are_named_with_their_line_and_what_was_meant() {
    for (text, expected) in [
        (
            "\nalowed_hosts = []",
            "2: unknown key \"alowed_hosts\" is ignored; did you mean \"allowed_hosts\"?",
        ),
        ("[retires]\nmax_retries = 1", "1: unknown key \"retires\" is ignored; did you mean \"retry\"?"),
        (
            "[memory]\n\nlastn = 1",
            "3: unknown key \"memory.lastn\" is ignored; did you mean \"memory.last_n\"?",
        ),
        (
            "[memory]\nallowed_hosts = []",
            "2: unknown key \"memory.allowed_hosts\" is ignored; \"allowed_hosts\" belongs at the top of the file, \
             before the first [table]",
        ),
        (
            "temperature = 1",
            "1: unknown key \"temperature\" is ignored; did you mean \"params.temperature\"?",
        ),
        ("zzz = 1", "1: unknown key \"zzz\" is ignored"),
        (
            "[[mcp_servers]]\nname = \"a\"\n[[mcp_servers]]\nuri = \"b\"",
            "4: unknown key \"mcp_servers.uri\" is ignored; did you mean \"mcp_servers.url\"?",
        ),
    ] {
        assert_eq!(warnings(text), [expected]);
    }
    for free in [
        "[[mcp_servers]]\nheaders = { X-Any = \"1\" }\nenv = { ANY = \"1\" }",
        "[params.response_format.schema]\nanything = 1",
        "[params]\nresponse_format = \"text\"",
        "memory = 3",
    ] {
        assert_eq!(warnings(free), Vec::<String>::new());
    }
}

#[test]
fn names_that_lead_out_of_their_directory_are_refused() {
    for name in ["", "  ", "a/b", "../x", "..", "a\\b", "a..b", "a\0", "a\nb", "a\u{1b}b"] {
        assert!(check_name(name).is_err(), "{name:?}");
        assert!(init_agent(name, &Home::new().lookup(None)).is_err(), "{name:?}");
    }
    for name in ["a", "a.b", "ä", "a b", "-x"] {
        check_name(name).unwrap();
    }
}

#[test]
fn the_first_directory_that_has_the_file_decides() {
    let home = Home::new();
    let find = |dir: Option<&str>| home.lookup(dir).find("x").unwrap();
    home.write(".config/axe/agents/x.toml", PLAIN);
    assert_eq!(find(None), home.path().join(".config/axe/agents/x.toml"));
    home.write("work/axe/agents/x.toml", "broken");
    assert_eq!(find(None), home.path().join("work/axe/agents/x.toml"));
    home.write("work/mine/x.toml", PLAIN);
    assert_eq!(find(Some("mine")), home.path().join("work/mine/x.toml"));
    assert_eq!(find(Some("")), home.path().join("work/axe/agents/x.toml"));
    // No falling through to the good one.
    let error = home.lookup(None).load("x").unwrap_err().to_string();
    assert!(error.starts_with("failed to parse agent config \"x\": line 1: "), "{error}");
    let error = home.lookup(None).load("y").unwrap_err().to_string();
    assert_eq!(error, "agent config not found: y");
}

#[test]
fn sub_agents_are_looked_for_in_the_workdir() {
    let home = Home::new();
    home.write("other/axe/agents/x.toml", PLAIN);
    let lookup = home.lookup(Some("mine"));
    assert!(lookup.find("x").is_err());
    let path = lookup.from_workdir(&home.path().join("other")).find("x").unwrap();
    assert_eq!(path, home.path().join("other/axe/agents/x.toml"));
}

#[test]
fn a_name_that_is_not_the_files_warns_and_runs() {
    let home = Home::new();
    home.write("work/axe/agents/y.toml", PLAIN);
    let Loaded { agent, warnings, .. } = home.lookup(None).load("y").unwrap();
    assert_eq!(agent.name, "x");
    assert!(
        warnings[0].ends_with("its name is \"x\" but it is found as \"y\", after its file"),
        "{warnings:?}"
    );
}

#[test]
fn broken_files_are_listed_as_such_and_hide_later_ones() {
    let home = Home::new();
    home.write(".config/axe/agents/x.toml", PLAIN);
    home.write(".config/axe/agents/z.toml", PLAIN);
    home.write(".config/axe/agents/notes.txt", "");
    home.write("work/axe/agents/x.toml", "broken");
    let listed = home.lookup(None).list();
    let shown: Vec<_> = listed.iter().map(|(name, loaded)| (name.as_str(), loaded.is_ok())).collect();
    assert_eq!(shown, [("x", false), ("z", true)]);
}

#[test]
fn a_new_agent_goes_to_the_nearest_directory_that_is_there() {
    let home = Home::new();
    let made = |dir| init_agent("n", &home.lookup(dir)).unwrap();
    assert_eq!(made(None), home.path().join(".config/axe/agents/n.toml"));
    let error = init_agent("n", &home.lookup(None)).unwrap_err().to_string();
    assert!(error.starts_with("agent config already exists: ") && error.ends_with("n.toml"), "{error}");
    std::fs::create_dir_all(home.path().join("work/axe/agents")).unwrap();
    assert_eq!(made(None), home.path().join("work/axe/agents/n.toml"));
    assert_eq!(made(Some("new/dir")), home.path().join("work/new/dir/n.toml"));
    home.lookup(None).load("n").unwrap();
}

#[cfg(unix)]
#[test]
fn the_config_directory_is_made_once_and_keys_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new();
    let directories = home.place(&[]).directories;
    init_config(&directories).unwrap();
    let file = directories.config_file();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(toml::from_str::<toml::Table>(&std::fs::read_to_string(&file).unwrap()).unwrap().is_empty());
    let skill = std::fs::read_to_string(directories.config.join("skills/sample/SKILL.md")).unwrap();
    for heading in ["## Purpose", "## Instructions", "## Output Format"] {
        assert!(skill.contains(heading));
    }
    std::fs::write(&file, "# mine\n").unwrap();
    init_config(&directories).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
}

#[track_caller]
fn check_finds(home: &Home, expected: &[&str]) {
    let (_, findings) = check_agents(None, &home.lookup(None), &home.place(&[])).unwrap();
    let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings.len(), expected.len(), "{findings:#?}");
    for (finding, expected) in findings.iter().zip(expected) {
        assert!(finding.contains(expected), "{finding}\n  expected: {expected}");
    }
}

#[test]
fn check_finds_what_a_run_would_stumble_over() {
    let home = Home::new();
    check_finds(&home, &[]);
    home.write("work/axe/agents/good.toml", "name = \"good\"\nmodel = \"ollama/m\"\n");
    check_finds(&home, &[]);
    home.write(
        "work/axe/agents/bad.toml",
        "name = \"other\"\nmodel = \"m\"\nskill = \"gone\"\nfiles = [\"[\", \"../x\"]\n\
         allowed_hosts = [\"localhost\", \"10.0.0.1\", \"100.64.0.1\", \"docs.rs\"]\nsub_agents = [\"nobody\"]\ntool = []\n",
    );
    check_finds(
        &home,
        &[
            "its name is \"other\"",
            ":7: unknown key \"tool\" is ignored; did you mean \"tools\"?",
            "bad: allowed_hosts entry \"10.0.0.1\" can never be reached",
            "bad: allowed_hosts entry \"100.64.0.1\" can never be reached",
            "bad: allowed_hosts entry \"localhost\" can never be reached",
            "bad: files pattern \"../x\" can never match",
            "bad: invalid files pattern \"[\"",
            "bad: invalid model \"m\": expected provider/model-name",
            "bad: skill not found: ",
            "bad: sub-agent \"nobody\": agent config not found: nobody",
        ],
    );
}

#[test]
fn check_reports_each_circle_once() {
    let home = Home::new();
    let agent = |name: &str, subs: &str| {
        let text = format!("name = \"{name}\"\nmodel = \"ollama/m\"\nsub_agents = [{subs}]\n");
        home.write(&format!("work/axe/agents/{name}.toml"), &text);
    };
    agent("a", "\"b\", \"d\"");
    agent("b", "\"c\", \"d\"");
    agent("c", "\"a\"");
    agent("d", "");
    agent("s", "\"s\"");
    check_finds(
        &home,
        &["a: sub_agents form a circle: a -> b -> c -> a", "s: sub_agents form a circle: s -> s"],
    );
}
