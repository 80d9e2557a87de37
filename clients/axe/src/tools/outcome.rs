//! What a tool brought.

/// For the model, and for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Text for the model.
    pub content: String,
    /// Whether it is an error.
    pub is_error: bool,
    /// What was done to what, for the log: holds no content, no URL query and no key.
    pub summary: String,
}

impl Outcome {
    /// The tool did what it was asked.
    pub fn success(content: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false, summary: summary.into() }
    }

    /// It did not; the model may act on the reason.
    pub fn error(content: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true, summary: summary.into() }
    }
}

/// The first `max` characters, with a mark when there are more.
pub(crate) fn shown(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
