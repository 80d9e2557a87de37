use serde_json::json;

use super::*;

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn page(listing: &mut Listing, value: Value) -> Result<Option<String>, String> {
    listing.page(&raw(&value), None, &Log::new("p")).map_err(|trouble| trouble.to_string())
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

#[test]
fn pages_are_joined_and_what_can_not_be_a_tool_is_left_out() {
    let mut listing = Listing::begin(3);
    let first = json!({"tools": [
        {"name": "a", "description": "d", "title": "t", "inputSchema": {"z": 1, "$serde_json::private::RawValue": "2"},
         "outputSchema": {"type": "object"}, "unknown": 1},
        tool("b c"), tool(""), 7, {"name": 1}, {"name": "no-schema"}, {"name": "null-schema", "inputSchema": null},
    ], "nextCursor": "1", "more": 1});
    assert_eq!(page(&mut listing, first), Ok(Some("1".to_owned())));
    assert_eq!(page(&mut listing, json!({"tools": [tool("b"), tool("a")], "nextCursor": null})), Ok(None));
    let listed = listing.end();
    let shown: Vec<PluginTool> = listed.tools.iter().map(|tool| tool.shown("p")).collect();
    assert_eq!(shown.iter().map(|tool| tool.tool_name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(shown[0].description.as_deref(), Some("d"));
    assert_eq!(shown[0].input_schema, json!({"z": 1, "$serde_json::private::RawValue": "2"}));
    assert_eq!(shown[0].output_schema, Some(json!({"type": "object"})));
    assert!(listed.has("b") && !listed.has("c"));
    assert!(listed.is_fresh(3) && !listed.is_fresh(4));
}

#[test]
fn a_list_without_end_is_a_fault() {
    let mut listing = Listing::begin(0);
    assert!(page(&mut listing, json!({"tools": [], "nextCursor": "1"})).is_ok());
    assert!(page(&mut listing, json!({"tools": [], "nextCursor": "2"})).is_ok());
    let error = page(&mut listing, json!({"tools": [], "nextCursor": "1"})).unwrap_err();
    assert!(error.contains("repeats the cursor \"1\""), "{error}");

    let mut listing = Listing::begin(0);
    for number in 1..limits::PLUGIN_PAGES_MAX {
        assert!(page(&mut listing, json!({"tools": [], "nextCursor": number.to_string()})).is_ok());
    }
    let error = page(&mut listing, json!({"tools": [], "nextCursor": "more"})).unwrap_err();
    assert!(error.contains("more than 1000 pages"), "{error}");

    assert!(page(&mut Listing::begin(0), json!({})).is_err());
    assert!(page(&mut Listing::begin(0), json!({"tools": {}})).is_err());
    assert!(page(&mut Listing::begin(0), json!([[]])).is_err());
    assert!(page(&mut Listing::begin(0), json!({"tools": [], "nextCursor": 1})).is_err());
}

#[test]
fn a_list_holds_as_long_as_its_shortest_page() {
    for (ttls, is_fresh) in [
        (&[json!(60_000), json!(60_000)][..], true),
        (&[json!(60_000), json!(0)], false),
        (&[json!(1e300)], true),
        (&[json!(-1)], false),
        (&[json!(null)], true),
    ] {
        let mut listing = Listing::begin(0);
        for ttl in ttls {
            page(&mut listing, json!({"tools": [], "ttlMs": ttl})).unwrap();
        }
        assert_eq!(listing.end().is_fresh(0), is_fresh, "{ttls:?}");
    }
}

#[test]
fn what_the_sdk_refused_is_left_out() {
    let mut listing = Listing::begin(0);
    let known = HashSet::from(["b".to_owned()]);
    let text = raw(&json!({"tools": [tool("a"), tool("b")]}));
    listing.page(&text, Some(&known), &Log::new("p")).unwrap();
    let listed = listing.end();
    assert!(!listed.has("a") && listed.has("b"));
}
