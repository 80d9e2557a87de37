//! The tools of plugins, offered again.

use serde_json::{Value, json};

use super::Host;
use crate::support::plugin::Manifests;
use crate::support::{Daemon, is_alive, wait_until};

fn names(host: &mut Host) -> Vec<String> {
    let listed = host.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_plugins_tools_stand_beside_ours_and_answer_as_they_are() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("demo", "plain");
    let mut host =
        Host::greeted(&["--with-plugins", "--plugin", &manifest, "--plugin-env", "demo:A=b"], json!({}));
    // Known to the client from another session: it need not list first.
    let arguments = json!({"big": u64::MAX, "x": [1, null]});
    let echoed = host.call("demo__echo", arguments.clone());
    assert_eq!(echoed["structuredContent"], arguments, "{echoed}");
    let all = names(&mut host);
    assert!(all.contains(&"read_file".to_owned()) && all.contains(&"demo__echo".to_owned()), "{all:?}");
    let failed = host.call("demo__error", json!({}));
    assert_eq!(failed["isError"], true);
    let unknown = host.ask("tools/call", json!({"name": "demo__gone", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    let started = manifests.started("demo");
    let (rest, status) = host.finish();
    assert!(rest.is_empty() && status.success(), "{rest:?}");
    wait_until("the plugin is gone", || started.iter().all(|pid| !is_alive(*pid)));
}

#[test]
fn a_plugins_progress_is_passed_on() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("demo", "plain");
    let mut host = Host::greeted(&["--with-plugins", "--plugin", &manifest], json!({}));
    let call = json!({"_meta": {"progressToken": "p"}, "name": "demo__slow", "arguments": {"seconds": 0.8}});
    let id = host.begin("tools/call", call);
    let answer: Value =
        std::iter::repeat_with(|| host.receive()).find(|message| message["id"] == id).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "slept", "{answer}");
}

#[test]
fn a_plugin_that_can_not_be_had_takes_nothing_of_ours_away() {
    let manifests = Manifests::new();
    let manifest =
        manifests.write("broken", &json!({"command": "/nowhere/at/all", "args": [], "allow_tools": ["*"]}));
    let mut host = Host::greeted(&["--with-plugins", "--plugin", &manifest], json!({}));
    assert_eq!(names(&mut host).len(), 6);
    assert!(host.log().contains("the plugins' tools are left out"), "{}", host.log());
}

#[test]
fn a_daemons_own_plugins_can_be_offered() {
    let manifests = Manifests::new();
    let manifest = manifests.stdio("demo", "plain");
    let daemon = Daemon::start_with(&["--plugin", &manifest], &[]);
    let socket = daemon.socket();
    let mut host = Host::greeted(&["--socket", socket.to_str().unwrap(), "--with-plugins"], json!({}));
    assert!(names(&mut host).contains(&"demo__echo".to_owned()));
    assert_eq!(host.call("demo__echo", json!({"a": 1}))["structuredContent"], json!({"a": 1}));
}

#[test]
fn plugins_are_named_and_asked_for_together() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [&["--with-plugins"][..], &["--plugin", "/nowhere.json"]] {
        let ended = super::command(folder.path()).args(flags).output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{flags:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("--with-plugins"), "{ended:?}");
    }
}
