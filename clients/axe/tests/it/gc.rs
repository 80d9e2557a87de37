//! `axe gc`, as far as no model is asked.

use crate::support::Home;

#[test]
fn nothing_to_do_is_no_failure_and_asks_nobody() {
    let home = Home::new();
    home.axe(&["gc", "--all"]).said("No agents with memory enabled.\n");
    home.agent("off", "");
    let off = home.axe(&["gc", "off"]);
    assert_eq!((off.code, off.stdout.as_str()), (0, ""));
    assert_eq!(off.stderr, "Warning: agent \"off\" has no memory: memory.enabled is not true\n");
    home.agent("on", "[memory]\nenabled = true\n");
    let nothing = "No memory entries for agent \"on\". Nothing to do.\n";
    // The model's provider has no key; it is not asked.
    home.axe(&["gc", "on", "--model", "openai/m"]).said(nothing);
    home.axe(&["gc", "--all"]).said(&format!("=== GC: on ===\n{nothing}"));
    home.axe(&["gc", "gone"]).failed(2, "agent config not found: gone");
}

#[test]
fn a_missing_key_trims_nothing() {
    let home = Home::new();
    let entries = "## 2026-01-01T00:00:00Z\na\n\n## 2026-01-02T00:00:00Z\nb\n\n";
    let memory = home.write("data/axe/memory/on.md", entries);
    home.agent("on", "[memory]\nenabled = true\nlast_n = 1\n");
    let no_key = "no API key for provider \"openai\": set OPENAI_API_KEY, or api_key in [providers.openai] of config.toml";
    home.axe(&["gc", "on", "--model", "openai/m"]).failed(2, no_key);
    home.axe(&["gc", "on", "--model", "m"]).failed(2, "invalid model \"m\": expected provider/model-name");
    let all = home.axe(&["gc", "--all", "--model", "openai/m"]);
    assert_eq!((all.code, all.stdout.as_str()), (1, "=== GC: on ===\n"));
    let lines = format!(
        "Error: gc failed for agent \"on\": {no_key}\ngc completed with errors: 1 of 1 agents failed\n"
    );
    assert_eq!(all.stderr, lines);
    assert_eq!(std::fs::read_to_string(memory).unwrap(), entries);
}
