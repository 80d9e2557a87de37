//! What is wrong with a document, and where, in words for the person or model that must mend it.

use std::fmt::{self, Display};

use serde::de;

use crate::limits;

/// Why a document is refused.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    /// The path of the member, as `env.PATH` or `args[2]`; empty for the document itself.
    place: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The document is no JSON or MessagePack of ours; a place would only mislead.
    Syntax(String),
    /// Follows the name of the member: "must be an integer, got 1.5".
    Rule(String),
    /// Stands on its own: "missing member \"path\"".
    Note(String),
}

impl Fault {
    pub(crate) fn syntax(message: impl Display) -> Fault {
        Fault::new(What::Syntax(message.to_string()))
    }

    pub(crate) fn rule(rule: impl Display) -> Fault {
        Fault::new(What::Rule(rule.to_string()))
    }

    pub(crate) fn note(note: impl Display) -> Fault {
        Fault::new(What::Note(note.to_string()))
    }

    pub(crate) fn repeated(name: &str) -> Fault {
        Fault::note(format_args!("repeated member {}", quoted(name)))
    }

    pub(crate) fn missing(name: &str) -> Fault {
        Fault::note(format_args!("missing member {}", quoted(name)))
    }

    /// A member that is none of `known`.
    pub(crate) fn unknown<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> Fault {
        let mut note = format!("unknown member {}", quoted(name));
        if let Some(close) = closest(name, known.clone()) {
            note += &format!(" (did you mean {}?)", quoted(close));
        }
        let known: Vec<&str> = known.collect();
        if known.is_empty() {
            note += "; no member is known here";
        } else {
            note += &format!("; known are {}", known.join(", "));
        }
        Fault::new(What::Note(note))
    }

    fn new(what: What) -> Fault {
        Fault(Box::new(Inner { place: String::new(), what }))
    }

    /// The same fault, seen from the object that holds the member `name`.
    pub(crate) fn within(self, name: &str) -> Fault {
        let name = cut(name);
        self.prefixed(|place| match place {
            "" => name,
            place if place.starts_with('[') => name + place,
            place => name + "." + place,
        })
    }

    /// The same fault, seen from the array that holds the item.
    pub(crate) fn within_item(self, index: usize) -> Fault {
        self.prefixed(|place| match place {
            "" => format!("[{index}]"),
            place if place.starts_with('[') => format!("[{index}]{place}"),
            place => format!("[{index}].{place}"),
        })
    }

    /// The same fault, seen from the envelope. Members of `arguments` keep their short names: a reader of "max_bytes
    /// must be an integer" knows where to look.
    pub(crate) fn within_arguments(self, tool: &str) -> Fault {
        let is_note = matches!(self.0.what, What::Note(_));
        self.prefixed(|place| match place {
            "" if is_note => format!("arguments of {tool}"),
            "" => "arguments".to_owned(),
            place => place.to_owned(),
        })
    }

    fn prefixed(mut self, place: impl FnOnce(&str) -> String) -> Fault {
        if !matches!(self.0.what, What::Syntax(_)) {
            self.0.place = place(&self.0.place);
        }
        self
    }

    /// The whole message; `document` names what a fault without a place is about.
    pub(crate) fn message(&self, document: &str) -> String {
        match (&self.0.what, self.0.place.as_str()) {
            (What::Syntax(message), _) | (What::Note(message), "") => message.clone(),
            (What::Rule(rule), "") => format!("{document} {rule}"),
            (What::Rule(rule), place) => format!("{place} {rule}"),
            (What::Note(note), place) => format!("{place}: {note}"),
        }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message("the document"))
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Fault {
        Fault::note(message)
    }

    fn invalid_type(unexpected: de::Unexpected, expected: &dyn de::Expected) -> Fault {
        Fault::rule(format_args!("must be {expected}, got {unexpected}"))
    }

    fn invalid_value(unexpected: de::Unexpected, expected: &dyn de::Expected) -> Fault {
        Fault::rule(format_args!("must be {expected}, got {unexpected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Fault {
        Fault::rule(format_args!("must be {}, got {}", one_of(expected), quoted(variant)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Fault {
        Fault::unknown(field, expected.iter().copied())
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::missing(field)
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault::repeated(field)
    }
}

/// "a", "b" or "c".
pub(crate) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The text as a JSON string, cut at [`limits::MESSAGE_VALUE_MAX_CHARS`].
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(cut(text)).to_string()
}

/// The text, cut at [`limits::MESSAGE_VALUE_MAX_CHARS`].
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::MESSAGE_VALUE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known name that the writer most likely meant: equal but for case and separators, or two slips away.
fn closest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if name.is_empty() || name.len() > 64 {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' ', '.'], "");
    let plain_name = plain(name);
    let slips_allowed = (plain_name.chars().count() / 3).min(2);
    known
        .map(|candidate| (slips(&plain_name, &plain(candidate)), candidate))
        .filter(|(slips, _)| *slips <= slips_allowed)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and substitutions between two short words.
fn slips(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, from) in left.chars().enumerate() {
        let mut diagonal = line;
        row[0] = line + 1;
        for (column, to) in right.iter().enumerate() {
            let above = row[column + 1];
            row[column + 1] = (diagonal + usize::from(from != *to)).min(above + 1).min(row[column] + 1);
            diagonal = above;
        }
    }
    row[right.len()]
}
