//! MessagePack, as far as it has the meaning of JSON: no ext types, and names are strings.

use std::borrow::Cow;

use super::fault::Fault;
use super::source::{Integer, Open, Source, Token};

/// A MessagePack document and a place in it.
pub(crate) struct MessagePack<'de> {
    bytes: &'de [u8],
    at: usize,
    foreign: Foreign,
}

/// What a well-formed value without a JSON form does: an ext, or a bin that is no text.
#[derive(PartialEq)]
enum Foreign {
    Refused,
    /// An ext stands as null and such a bin as NUL: for looking at a document that is refused anyhow.
    PassedOver,
}

impl<'de> MessagePack<'de> {
    pub(crate) fn new(frame: &'de [u8]) -> MessagePack<'de> {
        MessagePack { bytes: frame, at: 0, foreign: Foreign::Refused }
    }

    /// The same for a document that is refused anyhow: what is well-formed by the grammar is read.
    pub(crate) fn lenient(frame: &'de [u8]) -> MessagePack<'de> {
        MessagePack { bytes: frame, at: 0, foreign: Foreign::PassedOver }
    }

    fn take(&mut self, length: usize) -> Result<&'de [u8], Fault> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..length) else {
            return Err(Fault::syntax(format_args!(
                "not well-formed MessagePack at byte {}: {length} bytes are announced, {} are left",
                self.at,
                rest.len(),
            )));
        };
        self.at += length;
        Ok(taken)
    }

    /// A big-endian number of 1, 2, 4 or 8 bytes.
    fn unsigned(&mut self, width: usize) -> Result<u64, Fault> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// A big-endian number in two's complement.
    fn signed(&mut self, width: usize) -> Result<i64, Fault> {
        let shift = 64 - 8 * width as u32;
        Ok((self.unsigned(width)? << shift) as i64 >> shift)
    }

    /// A length of 1, 2 or 4 bytes; lengths of 32 bits fit every `usize` that we run on.
    fn length(&mut self, width: usize) -> Result<usize, Fault> {
        Ok(self.unsigned(width)? as usize)
    }

    fn text(&mut self, length: usize) -> Result<Cow<'de, str>, Fault> {
        let start = self.at;
        match std::str::from_utf8(self.take(length)?) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => {
                let place = start + error.valid_up_to();
                Err(Fault::syntax(format_args!("a string is not valid UTF-8 at byte {place}")))
            }
        }
    }

    fn text_of_bin(&mut self, length: usize) -> Result<Cow<'de, str>, Fault> {
        let start = self.at;
        match self.text(length) {
            Err(_) if self.foreign == Foreign::PassedOver && self.at == start + length => Ok("\0".into()),
            text => text,
        }
    }

    /// The payload of an ext, whose type byte is still to come.
    fn ext(&mut self, length: usize) -> Result<Token<'de>, Fault> {
        let start = self.at;
        self.take(1)?;
        self.take(length)?;
        match self.foreign {
            Foreign::PassedOver => Ok(Token::Null),
            Foreign::Refused => {
                Err(Fault::syntax(format_args!("an ext type at byte {start} has no meaning here")))
            }
        }
    }
}

impl<'de> Source<'de> for MessagePack<'de> {
    fn mark(&mut self) -> usize {
        self.at
    }

    fn rewind(&mut self, mark: usize) {
        self.at = mark;
    }

    fn token(&mut self) -> Result<Token<'de>, Fault> {
        let marker = self.take(1)?[0];
        let unsigned = |value| Token::Integer(Integer::Unsigned(value));
        let signed = |value: i64| {
            Token::Integer(u64::try_from(value).map_or(Integer::Negative(value), Integer::Unsigned))
        };
        let array = |length| Token::Array(Open::Left(length));
        let object = |length| Token::Object(Open::Left(length));
        Ok(match marker {
            0x00..=0x7f => unsigned(u64::from(marker)),
            0x80..=0x8f => object(u32::from(marker & 0x0f)),
            0x90..=0x9f => array(u32::from(marker & 0x0f)),
            0xa0..=0xbf => Token::Text(self.text(usize::from(marker & 0x1f))?),
            0xc0 => Token::Null,
            0xc1 => {
                let place = self.at - 1;
                return Err(Fault::syntax(format_args!("not well-formed MessagePack at byte {place}: 0xc1")));
            }
            0xc2 => Token::Bool(false),
            0xc3 => Token::Bool(true),
            0xc4..=0xc6 => {
                let length = self.length(1 << (marker - 0xc4))?;
                Token::Text(self.text_of_bin(length)?)
            }
            0xc7..=0xc9 => {
                let length = self.length(1 << (marker - 0xc7))?;
                self.ext(length)?
            }
            0xca => Token::Float(f64::from(f32::from_bits(self.unsigned(4)? as u32))),
            0xcb => Token::Float(f64::from_bits(self.unsigned(8)?)),
            0xcc..=0xcf => unsigned(self.unsigned(1 << (marker - 0xcc))?),
            0xd0..=0xd3 => signed(self.signed(1 << (marker - 0xd0))?),
            0xd4..=0xd8 => self.ext(1 << (marker - 0xd4))?,
            0xd9..=0xdb => {
                let length = self.length(1 << (marker - 0xd9))?;
                Token::Text(self.text(length)?)
            }
            0xdc | 0xdd => array(self.unsigned(2 << (marker - 0xdc))? as u32),
            0xde | 0xdf => object(self.unsigned(2 << (marker - 0xde))? as u32),
            0xe0..=0xff => signed(i64::from(marker.cast_signed())),
        })
    }

    fn null(&mut self) -> Result<bool, Fault> {
        let is_null = self.bytes.get(self.at) == Some(&0xc0);
        self.at += usize::from(is_null);
        Ok(is_null)
    }

    fn item(&mut self, open: &mut Open) -> Result<bool, Fault> {
        match open {
            Open::Fresh | Open::Started | Open::Left(0) => Ok(false),
            Open::Left(left) => {
                *left -= 1;
                Ok(true)
            }
        }
    }

    fn member(&mut self, open: &mut Open) -> Result<Option<Cow<'de, str>>, Fault> {
        if !self.item(open)? {
            return Ok(None);
        }
        let place = self.at;
        match self.token()? {
            Token::Text(name) => Ok(Some(name)),
            _ => Err(Fault::syntax(format_args!("the name of a member at byte {place} is no string"))),
        }
    }

    fn bytes(&mut self) -> Result<Vec<u8>, Fault> {
        match self.take(1)?[0] {
            marker @ 0xc4..=0xc6 => {
                let length = self.length(1 << (marker - 0xc4))?;
                Ok(self.take(length)?.to_owned())
            }
            _ => Err(Fault::rule("must be bin")),
        }
    }

    fn spelling(&self, _mark: usize) -> Option<&'de str> {
        None
    }

    fn end(&mut self) -> Result<(), Fault> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => Err(Fault::syntax(format_args!("{left} bytes follow the object; a frame holds one"))),
        }
    }
}
