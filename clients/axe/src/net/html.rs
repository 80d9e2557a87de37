//! A page as text.

use html5gum::DefaultEmitter;
use html5gum::{Token, Tokenizer};

/// The text of an HTML page: neither scripts nor styles, the end of every element a space, runs of white space one space.
pub fn text(html: &[u8]) -> String {
    let mut emitter = DefaultEmitter::default();
    // Otherwise the `<` in a script begins a tag.
    emitter.naively_switch_states(true);
    let mut text = Collapsed::default();
    let mut hidden: Option<Vec<u8>> = None;
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match (token, &hidden) {
            (Token::StartTag(tag), None) if is_hidden(&tag.name) && !tag.self_closing => {
                hidden = Some(tag.name.0)
            }
            (Token::StartTag(tag), None) if ends_another(&tag.name) || is_void(&tag.name) => text.push(" "),
            (Token::EndTag(tag), Some(name)) if *tag.name == *name => {
                hidden = None;
                text.push(" ");
            }
            (Token::EndTag(_), None) => text.push(" "),
            (Token::String(run), None) => text.push(&String::from_utf8_lossy(&run)),
            _ => {}
        }
    }
    text.finish()
}

fn is_hidden(name: &[u8]) -> bool {
    matches!(name, b"script" | b"style")
}

/// Elements without an end of their own.
fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// Elements whose start ends the one before, whose own end is rarely written.
fn ends_another(name: &[u8]) -> bool {
    matches!(name, b"p" | b"li" | b"dt" | b"dd" | b"tr" | b"td" | b"th" | b"option")
}

/// Text in which every run of white space is one space, without any at its ends.
#[derive(Default)]
struct Collapsed {
    text: String,
    space: bool,
}

impl Collapsed {
    fn push(&mut self, run: &str) {
        for c in run.chars() {
            if c.is_whitespace() {
                self.space = !self.text.is_empty();
                continue;
            }
            if std::mem::take(&mut self.space) {
                self.text.push(' ');
            }
            self.text.push(c);
        }
    }

    fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests;
