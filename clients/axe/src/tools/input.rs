//! The arguments of a call.

use serde_json::{Map, Value};

use super::Outcome;

/// A call's arguments, as the model sent them. Every parameter of the built-in tools is a string in their schemas, but a
/// model that sends a number or a boolean means the same.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a>(pub &'a Map<String, Value>);

impl Input<'_> {
    /// A parameter as text; None when it is absent or null.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// A parameter that must be there and not empty.
    pub(super) fn required(&self, name: &str) -> Result<String, Outcome> {
        self.text(name)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| Outcome::error(format!("{name} is required"), format!("no {name}")))
    }

    /// A parameter that is true or false.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Outcome> {
        let Some(text) = self.text(name) else { return Ok(false) };
        match text.trim() {
            "" | "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
            _ => {
                let message = format!("invalid {name} value {text:?}: it must be true or false");
                Err(Outcome::error(message, format!("invalid {name}")))
            }
        }
    }

    /// A parameter that counts from 1.
    pub(super) fn count(&self, name: &str, default: u64) -> Result<u64, Outcome> {
        let Some(text) = self.text(name).filter(|text| !text.trim().is_empty()) else { return Ok(default) };
        let refuse = |message: String| Err(Outcome::error(message, format!("invalid {name}")));
        match whole_number(text.trim()) {
            Some(number) if number < 1 => refuse(format!("{name} must be >= 1")),
            Some(number) => Ok(u64::try_from(number).unwrap_or(u64::MAX)),
            None => refuse(format!("invalid {name} {text:?}: it must be a whole number")),
        }
    }
}

/// `12`, and `12.0` or `1e3` too: some models write every number so.
fn whole_number(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    // Beyond 2^53 neighbours are the same number.
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
}
