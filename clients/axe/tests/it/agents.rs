//! `axe agents` and `axe config`.

#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Home, tree};

#[test]
fn config_init_makes_everything_once() {
    let home = Home::new();
    let directory = format!("{}\n", home.path("config/axe").display());
    home.axe(&["config", "path"]).said(&directory);
    assert_eq!(tree(&home.path("config")), Vec::<String>::new(), "a look-up makes nothing");
    home.axe(&["config", "init"]).said(&directory);
    let made = ["agents", "config.toml", "skills", "skills/sample", "skills/sample/SKILL.md"];
    assert_eq!(tree(&home.path("config/axe")), made);
    home.write("config/axe/config.toml", "broken");
    home.axe(&["config", "init"]).said(&directory);
    assert_eq!(std::fs::read_to_string(home.path("config/axe/config.toml")).unwrap(), "broken");
}

#[test]
fn a_new_agent_runs_after_one_edit() {
    let home = Home::new();
    let path = home.path("config/axe/agents/new.toml");
    home.axe(&["agents", "init", "new"]).said(&format!("{}\n", path.display()));
    home.axe(&["agents", "list"]).said("new\n");
    home.axe(&["agents", "show", "new"]).said("Name:           new\nModel:          provider/model-name\n");
    let exists = home.axe(&["agents", "init", "new"]);
    exists.failed(1, &format!("agent config already exists: {}", path.display()));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("provider/model-name", "ollama/tiny")).unwrap();
    home.axe(&["agents", "check"]).said("1 agents checked, no problems found\n");
    let run = home.axe(&["run", "new", "--dry-run"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("Model:    ollama/tiny\n"));
}

#[test]
fn names_that_lead_elsewhere_are_refused_everywhere() {
    let home = Home::new();
    let line = "invalid agent name \"../x\": it must not contain \"/\", \"\\\" or \"..\"";
    for words in [["agents", "init", "../x"], ["agents", "show", "../x"], ["agents", "edit", "../x"]] {
        let mut command = home.command(&words);
        let outcome: crate::support::Outcome = command.env("EDITOR", "true").output().unwrap().into();
        outcome.failed(1, line);
    }
    home.axe(&["run", "../x"]).failed(2, &format!("failed to load agent: {line}"));
    home.axe(&["gc", "../x"]).failed(2, line);
    home.axe(&["agents", "check", "../x"]).failed(2, line);
    assert_eq!(tree(&home.path("config")), Vec::<String>::new());
}

#[test]
fn the_list_skips_what_is_broken_and_says_so() {
    let home = Home::new();
    home.axe(&["agents", "list"]).said("");
    home.agent("b", "description = \"does b\"\n");
    home.agent("a", "");
    home.agent("c", "timeout = -1\n");
    home.write("work/axe/agents/d.toml", "name = \"d\"\nmodel = \"ollama/m\"\n");
    home.write("work/mine/a.toml", "name = \"a\"\nmodel = \"ollama/m\"\ndescription = \"mine\"\n");
    let listed = home.axe(&["agents", "list"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (0, "a\nb - does b\nd\n"));
    assert_eq!(listed.stderr, "Warning: skipped agent \"c\": timeout must be non-negative\n");
    let listed = home.axe(&["agents", "list", "--agents-dir", "mine"]);
    assert_eq!(listed.stdout, "a - mine\nb - does b\nd\n");
}

#[test]
fn show_names_what_is_set() {
    let home = Home::new();
    home.agent(
        "a",
        r#"description = "d"
system_prompt = "one\ntwo"
skill = "s"
files = ["*.md", "b"]
workdir = "~/w"
timeout = 5
stream = true
tools = ["read_file"]
allowed_hosts = ["x.example"]
sub_agents = ["b", "c"]
[memory]
enabled = true
last_n = 3
[params]
temperature = 0.50
max_tokens = 7
[retry]
max_retries = 1
[budget]
max_tokens = 9
[[mcp_servers]]
name = "m"
transport = "sse"
url = "https://h.example/sse?key=1"
headers = { Authorization = "Bearer abc" }
"#,
    );
    home.axe(&["agents", "show", "a"]).said(
        "\
Name:           a
Description:    d
Model:          ollama/m
System Prompt:  one
two
Skill:          s
Files:          *.md, b
Workdir:        ~/w
Sub-Agents:     b, c
Max Depth:      0
Parallel:       true
Timeout:        0
Memory Enabled: true
Memory LastN:   3
Temperature:    0.5
Max Tokens:     7
Run Timeout:    5
Stream:         true
Tools:          read_file
Allowed Hosts:  x.example
MCP Server:     m: https://h.example/sse (sse)
Max Retries:    1
Backoff:        exponential
Initial Delay:  500ms
Max Delay:      30000ms
Budget:         9
",
    );
    home.axe(&["agents", "show", "gone"]).failed(1, "agent config not found: gone");
}

#[cfg(unix)]
#[test]
fn edit_runs_the_editor_with_its_words() {
    let home = Home::new();
    let path = home.agent("a", "");
    let editor = home.write("my editor", "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$HOME/seen\"\nexit $EXIT\n");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let edit = |editor: &str, exit: &str| -> crate::support::Outcome {
        let mut command = home.command(&["agents", "edit", "a"]);
        command.env("EDITOR", editor).env("EXIT", exit).output().unwrap().into()
    };
    let quoted = format!("'{}' --wait 'a b'", editor.display());
    edit(&quoted, "0").said("");
    let seen = std::fs::read_to_string(home.path("seen")).unwrap();
    assert_eq!(seen, format!("--wait\na b\n{}\n", path.display()));
    edit(editor.to_str().unwrap(), "0").said("");
    let failed = edit(&quoted, "3");
    assert_eq!(failed.code, 1);
    assert!(failed.stderr.ends_with("failed: exit status: 3\n"), "{failed:?}");
    edit("", "0").failed(1, "EDITOR is not set: set it to the program to edit with");
    assert_eq!(edit("/gone", "0").code, 1);
    home.axe(&["agents", "edit", "gone"]).failed(1, "agent config not found: gone");
}

#[test]
fn check_exits_with_2_when_it_finds_something() {
    let home = Home::new();
    home.agent("a", "sub_agents = [\"b\"]\nalowed_hosts = []\n");
    home.agent("b", "sub_agents = [\"a\"]\n");
    let checked = home.axe(&["agents", "check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (2, ""));
    assert_eq!(
        home.anonymous(&checked.stdout),
        "a: HOME/config/axe/agents/a.toml:4: unknown key \"alowed_hosts\" is ignored; did you mean \"allowed_hosts\"?\n\
         a: sub_agents form a circle: a -> b -> a\n"
    );
    home.axe(&["agents", "check", "gone"]).failed(2, "agent config not found: gone");
}
