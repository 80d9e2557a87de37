//! JSON as RFC 8259 has it, from text that is known to be UTF-8.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::fault::{Fault, quoted};
use super::source::{Integer, Open, Source, Token};
use crate::text::plain_len;

/// A JSON text and a place in it.
pub(crate) struct Json<'de> {
    text: &'de str,
    at: usize,
    lone_surrogates: LoneSurrogates,
}

/// What an escape of half a surrogate pair does.
#[derive(PartialEq)]
enum LoneSurrogates {
    Refused,
    /// Stands as NUL: for looking at a document that is refused anyhow. No valid id, tool or member name holds NUL.
    AsNul,
}

impl<'de> Json<'de> {
    pub(crate) fn new(frame: &'de [u8]) -> Result<Json<'de>, Fault> {
        let text = std::str::from_utf8(frame).map_err(|error| {
            Fault::syntax(format_args!("not valid UTF-8 at byte {}", error.valid_up_to()))
        })?;
        Ok(Json { text, at: 0, lone_surrogates: LoneSurrogates::Refused })
    }

    /// The same for a document that is refused anyhow: what is well-formed by the grammar is read.
    pub(crate) fn lenient(frame: &'de [u8]) -> Result<Json<'de>, Fault> {
        Ok(Json { lone_surrogates: LoneSurrogates::AsNul, ..Json::new(frame)? })
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The first byte that is no white space, not yet read.
    fn ahead(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                byte => return byte,
            }
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.byte() == Some(byte);
        self.at += usize::from(eaten);
        eaten
    }

    fn fault(&self, what: &str) -> Fault {
        match self.text[self.at..].chars().next() {
            Some(found) => {
                let found = quoted(found.encode_utf8(&mut [0; 4]));
                Fault::syntax(format_args!("not well-formed JSON at byte {}: {what}, found {found}", self.at))
            }
            None => Fault::syntax(format_args!("not well-formed JSON: {what}, but the text ends")),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.fault("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads to the closing quote; the opening one is read.
    fn string(&mut self) -> Result<Cow<'de, str>, Fault> {
        let first = self.plain();
        if self.eat(b'"') {
            return Ok(Cow::Borrowed(first));
        }
        let mut text = first.to_owned();
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                Some(_) => return Err(self.fault("a control character in a string must be escaped")),
                None => return Err(self.fault("expected the end of a string")),
            }
            text.push_str(self.plain());
        }
    }

    /// The characters up to the next quote, backslash or control character.
    fn plain(&mut self) -> &'de str {
        let start = self.at;
        self.at += plain_len(&self.text.as_bytes()[start..]);
        &self.text[start..self.at]
    }

    /// Reads the rest of an escape; the backslash is read.
    fn escape(&mut self) -> Result<char, Fault> {
        let character = match self.byte() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.fault("expected an escape")),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        let first = self.hex4()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        let after_first = self.at;
        if first < 0xDC00 && self.eat(b'\\') && self.eat(b'u') {
            let second = self.hex4()?;
            if (0xDC00..0xE000).contains(&second) {
                let joined = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(joined).ok_or_else(|| self.fault("expected a character"));
            }
        }
        if self.lone_surrogates == LoneSurrogates::Refused {
            let escape = &self.text[start..after_first];
            return Err(Fault::syntax(format_args!("unpaired surrogate \\u{escape} at byte {}", start - 2)));
        }
        self.at = after_first;
        Ok('\0')
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16 + digit.ok_or_else(|| self.fault("expected four hex digits"))?;
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Token<'de>, Fault> {
        let start = self.at;
        let is_negative = self.eat(b'-');
        let magnitude = if self.eat(b'0') { Some(0) } else { self.digits()? };
        let mut is_integer = true;
        if self.eat(b'.') {
            is_integer = false;
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            is_integer = false;
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        if !is_integer {
            let float = self.text[start..self.at].parse();
            return float.map(Token::Float).map_err(|_| self.fault("expected a number"));
        }
        Ok(Token::Integer(match (magnitude, is_negative) {
            (None, _) => Integer::Beyond,
            (Some(0), _) | (_, false) => Integer::Unsigned(magnitude.unwrap_or_default()),
            (Some(magnitude), true) => {
                0_i64.checked_sub_unsigned(magnitude).map_or(Integer::Beyond, Integer::Negative)
            }
        }))
    }

    /// Reads at least one digit; `None` when the number passes 64 bits.
    fn digits(&mut self) -> Result<Option<u64>, Fault> {
        let mut value = Some(0_u64);
        let start = self.at;
        while let Some(byte @ b'0'..=b'9') = self.byte() {
            value = value
                .and_then(|value| value.checked_mul(10))
                .and_then(|value| value.checked_add(u64::from(byte - b'0')));
            self.at += 1;
        }
        if self.at == start { Err(self.fault("expected a digit")) } else { Ok(value) }
    }

    /// Whether something follows in the open array or object, whose end is `close`.
    fn follows(&mut self, open: &mut Open, close: u8, due: &str) -> Result<bool, Fault> {
        let ahead = self.ahead();
        if ahead == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        match open {
            Open::Fresh => *open = Open::Started,
            Open::Started | Open::Left(_) if ahead == Some(b',') => self.at += 1,
            Open::Started | Open::Left(_) => return Err(self.fault(due)),
        }
        Ok(true)
    }
}

impl<'de> Source<'de> for Json<'de> {
    fn mark(&mut self) -> usize {
        self.ahead();
        self.at
    }

    fn rewind(&mut self, mark: usize) {
        self.at = mark;
    }

    fn token(&mut self) -> Result<Token<'de>, Fault> {
        match self.ahead() {
            Some(b'"') => {
                self.at += 1;
                self.string().map(Token::Text)
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => {
                self.at += 1;
                Ok(Token::Object(Open::Fresh))
            }
            Some(b'[') => {
                self.at += 1;
                Ok(Token::Array(Open::Fresh))
            }
            Some(b't') => self.word("true").map(|()| Token::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Token::Bool(false)),
            Some(b'n') => self.word("null").map(|()| Token::Null),
            _ => Err(self.fault("expected a value")),
        }
    }

    fn null(&mut self) -> Result<bool, Fault> {
        if self.ahead() != Some(b'n') {
            return Ok(false);
        }
        self.word("null").map(|()| true)
    }

    fn item(&mut self, open: &mut Open) -> Result<bool, Fault> {
        self.follows(open, b']', "expected a comma or ]")
    }

    fn member(&mut self, open: &mut Open) -> Result<Option<Cow<'de, str>>, Fault> {
        if !self.follows(open, b'}', "expected a comma or }")? {
            return Ok(None);
        }
        if self.ahead() != Some(b'"') {
            return Err(self.fault("expected the name of a member in double quotes"));
        }
        self.at += 1;
        let name = self.string()?;
        if self.ahead() != Some(b':') {
            return Err(self.fault("expected a colon after the name of a member"));
        }
        self.at += 1;
        Ok(Some(name))
    }

    fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        let Token::Text(text) = self.token()? else {
            return Err(Fault::rule("must be a string of base64"));
        };
        STANDARD.decode(text.as_bytes()).map_err(|error| Fault::rule(format_args!("must be base64: {error}")))
    }

    fn spelling(&self, mark: usize) -> Option<&'de str> {
        self.text.get(mark..self.at)
    }

    fn end(&mut self) -> Result<(), Fault> {
        match self.ahead() {
            None => Ok(()),
            Some(_) => Err(self.fault("nothing but white space may follow the object")),
        }
    }
}
