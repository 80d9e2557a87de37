use super::*;

fn answer(text: &str) -> Result<(Era, bool, bool), String> {
    let raw = RawValue::from_string(text.to_owned()).unwrap();
    let agreed = initialized(&raw).map_err(|trouble| trouble.to_string())?;
    Ok((agreed.era, agreed.has_tools, agreed.tells_of_changes))
}

#[test]
fn revisions_that_are_known_are_taken() {
    for version in LEGACY_VERSIONS {
        let text =
            format!(r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{"listChanged":true}}}}}}"#);
        assert_eq!(answer(&text), Ok((Era::Legacy, true, true)), "{version}");
    }
    assert_eq!(answer(r#"{"protocolVersion":"2025-06-18"}"#), Ok((Era::Legacy, false, false)));
    assert_eq!(
        answer(r#"{"protocolVersion":"2026-07-28","capabilities":{"tools":{}},"serverInfo":7}"#),
        Ok((Era::Modern, true, false))
    );
}

#[test]
fn others_are_named() {
    assert!(answer(r#"{"protocolVersion":"1999-01-01"}"#).unwrap_err().contains("\"1999-01-01\""));
    assert!(answer("{}").unwrap_err().contains("not understood"));
    assert!(answer(r#"{"protocolVersion":1}"#).unwrap_err().contains("not understood"));
}
