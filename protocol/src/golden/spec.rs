//! SPEC.md: its examples decode, and it forgets no tool and no code.

use std::fs;

use serde_json::Value;

use crate::codec::{self, Message};
use crate::decode::{self, Door};
use crate::request::Tool;
use crate::{Code, Encoding, golden};

fn text() -> String {
    fs::read_to_string(golden::file("SPEC.md")).unwrap()
}

/// The lines of the blocks that are marked as JSON, with their line numbers.
fn examples(text: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut examples = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match line {
            "```json" => inside = true,
            "```" => inside = false,
            _ if inside => examples.push((index + 1, line)),
            _ => {}
        }
    }
    examples
}

#[test]
fn every_example_decodes() {
    let text = text();
    let examples = examples(&text);
    assert!(examples.len() > 20);
    for (number, line) in examples {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("SPEC.md:{number}: {error}"));
        if value.get("event").is_none() && value.get("status").is_none() {
            let request = decode::request(Encoding::Json, line.as_bytes(), Door::Socket);
            request.unwrap_or_else(|malformed| panic!("SPEC.md:{number}: {malformed}"));
            continue;
        }
        match codec::message(Encoding::Json, line.as_bytes()) {
            Err(error) => panic!("SPEC.md:{number}: {error}"),
            Ok(Message::Event(event)) => {
                // The daemon would write the very same line.
                let mut out = Vec::new();
                codec::event(Encoding::Json, &event, &mut out);
                assert_eq!(String::from_utf8(out).unwrap().trim_end(), line, "SPEC.md:{number}");
            }
            Ok(Message::Response(response)) => {
                assert!(response.output.is_some() != response.error.is_some(), "SPEC.md:{number}");
                if let Some(output) = &response.output {
                    golden::check_output(&response.tool, output);
                }
                if let Some(error) = &response.error {
                    assert_eq!(response.status, error.code.status(), "SPEC.md:{number}");
                }
            }
        }
    }
}

#[test]
fn every_tool_and_every_code_is_specified() {
    let text = text();
    for tool in Tool::ALL {
        assert!(text.contains(tool.as_str()), "{tool:?}");
    }
    for code in Code::ALL {
        let status = serde_json::to_value(code.status()).unwrap();
        let row = format!("| `{}` | {} |", code.as_str(), status.as_str().unwrap());
        assert!(text.contains(&row), "{row}");
    }
}

#[test]
fn every_reference_to_a_section_has_one() {
    let headings: Vec<String> = text()
        .lines()
        .filter(|line| line.starts_with("##"))
        .filter_map(|line| line.split_whitespace().nth(1))
        .map(|number| number.trim_start_matches('§').to_owned())
        .collect();
    let mut folders = vec![golden::file("src")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            for (_, after) in
                source.match_indices('§').map(|(place, sign)| source.split_at(place + sign.len()))
            {
                let number: String =
                    after.chars().take_while(|char| char.is_ascii_digit() || *char == '.').collect();
                let number = number.trim_end_matches('.');
                if !number.is_empty() {
                    assert!(headings.iter().any(|known| known == number), "{}: §{number}", path.display());
                    count += 1;
                }
            }
        }
    }
    assert!(count > 50);
}
