use axlr_protocol::tool::PluginTool;
use serde_json::{Value, json};

use super::{NAME_MAX, Named, Plugins, name_of};

#[test]
fn a_name_fits_every_host_and_stays_the_same() {
    assert_eq!(name_of("git", "log"), "git__log");
    let exact = "t".repeat(NAME_MAX - 5);
    assert_eq!(name_of("git", &exact), format!("git__{exact}"));
    let long = name_of("git", &"t".repeat(128));
    assert_eq!(long.len(), NAME_MAX);
    assert_eq!(long, name_of("git", &"t".repeat(128)));
    assert_ne!(long, name_of("git", &"t".repeat(127)));
    assert!(name_of("git", "a.b").starts_with("git__a_b_"));
    assert_ne!(name_of("git", "a.b"), name_of("git", "a_b"));
}

fn tool(plugin: &str, name: &str, input_schema: Value) -> PluginTool {
    PluginTool {
        plugin_id: plugin.into(),
        tool_name: name.into(),
        description: None,
        input_schema,
        output_schema: None,
    }
}

#[test]
fn a_name_leads_back_to_its_tool_until_the_next_listing() {
    let plugins = Plugins::default();
    let offered = vec![tool("a", "b__c", json!({"type": "object"})), tool("a__b", "c", json!(true))];
    let described = plugins.renew(offered);
    // Both come to the same name.
    assert_eq!(described.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), ["a__b__c"]);
    assert_eq!(plugins.find("a__b__c"), Some(Named { plugin: "a".into(), tool: "b__c".into() }));
    assert_eq!(plugins.renew(vec![tool("x", "y", json!(true))])[0].input_schema["type"], "object");
    assert_eq!(plugins.find("a__b__c"), None);
}
