//! A serde deserializer over either encoding that admits no second spelling of a document.
//!
//! Objects are read by name and never from arrays or by index, names don't repeat, integers have no fraction, an
//! absent value is null or left out, and nesting is counted.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserializer;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::fault::{Fault, cut, one_of, quoted};
use super::source::{Integer, Open, Source, Token};
use crate::limits;

/// Reads values from a source.
pub(crate) struct Reader<S> {
    pub(crate) source: S,
    depth: usize,
    depth_max: usize,
    /// A member that structs have, but not at this door.
    hidden: Option<&'static str>,
}

impl<S> Reader<S> {
    pub(crate) fn new(source: S, depth_max: usize) -> Reader<S> {
        Reader { source, depth: 0, depth_max, hidden: None }
    }

    /// The same, with a member of structs that is unknown here.
    pub(crate) fn hiding(mut self, member: &'static str) -> Reader<S> {
        self.hidden = Some(member);
        self
    }
}

impl<'de, S: Source<'de>> Reader<S> {
    /// Opens the object that is the whole document.
    pub(crate) fn open(&mut self) -> Result<Open, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Object(open) => {
                self.enter()?;
                Ok(open)
            }
            token => Err(self.mismatch(mark, &token, "an object")),
        }
    }

    /// Reads a value of any type that serde knows.
    pub(crate) fn value<T: serde::Deserialize<'de>>(&mut self) -> Result<T, Fault> {
        T::deserialize(self)
    }

    /// Reads a string.
    pub(crate) fn text(&mut self) -> Result<Cow<'de, str>, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Text(text) => Ok(text),
            token => Err(self.mismatch(mark, &token, "a string")),
        }
    }

    /// Reads a value, looking only at its form: names may repeat and numbers may have any size.
    pub(crate) fn skip(&mut self) -> Result<(), Fault> {
        let token = self.source.token()?;
        self.skip_rest(token)
    }

    /// Reads a string, or skips what is none.
    pub(crate) fn text_or_skip(&mut self) -> Result<Option<Cow<'de, str>>, Fault> {
        match self.source.token()? {
            Token::Text(text) => Ok(Some(text)),
            token => self.skip_rest(token).map(|()| None),
        }
    }

    fn skip_rest(&mut self, token: Token<'de>) -> Result<(), Fault> {
        match token {
            Token::Null | Token::Bool(_) | Token::Integer(_) | Token::Float(_) | Token::Text(_) => {}
            Token::Array(mut open) => {
                self.enter()?;
                while self.source.item(&mut open)? {
                    self.skip()?;
                }
                self.leave();
            }
            Token::Object(mut open) => {
                self.enter()?;
                while self.source.member(&mut open)?.is_some() {
                    self.skip()?;
                }
                self.leave();
            }
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Fault> {
        if self.depth == self.depth_max {
            return Err(Fault::syntax(format_args!("nesting is deeper than {} levels", self.depth_max)));
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The fault of a value that is not `wanted`. A fault inside of the value comes first.
    fn mismatch(&mut self, mark: usize, token: &Token<'de>, wanted: &str) -> Fault {
        let mut shown = String::new();
        match (token, self.source.spelling(mark)) {
            (Token::Array(_) | Token::Object(_), _) | (_, None) => {
                self.source.rewind(mark);
                if let Err(fault) = self.show(&mut shown) {
                    return fault;
                }
            }
            (_, Some(spelling)) => shown.push_str(spelling),
        }
        Fault::rule(format_args!("must be {wanted}, got {}", cut(&shown)))
    }

    /// Writes the beginning of the value, long enough to be cut, as JSON.
    fn show(&mut self, shown: &mut String) -> Result<(), Fault> {
        if shown.len() > 4 * limits::MESSAGE_VALUE_MAX_CHARS {
            return self.skip();
        }
        match self.source.token()? {
            Token::Null => shown.push_str("null"),
            Token::Bool(value) => shown.push_str(if value { "true" } else { "false" }),
            Token::Integer(Integer::Unsigned(value)) => shown.push_str(&value.to_string()),
            Token::Integer(Integer::Negative(value)) => shown.push_str(&value.to_string()),
            Token::Integer(Integer::Beyond) => shown.push_str("an integer beyond 64 bits"),
            Token::Float(value) => shown.push_str(&format!("{value:?}")),
            Token::Text(text) => shown.push_str(&quoted(&text)),
            Token::Array(mut open) => {
                self.enter()?;
                shown.push('[');
                let mut comma = "";
                while self.source.item(&mut open)? {
                    shown.push_str(comma);
                    self.show(shown)?;
                    comma = ",";
                }
                shown.push(']');
                self.leave();
            }
            Token::Object(mut open) => {
                self.enter()?;
                shown.push('{');
                let mut comma = "";
                while let Some(name) = self.source.member(&mut open)? {
                    if shown.len() <= 4 * limits::MESSAGE_VALUE_MAX_CHARS {
                        shown.push_str(comma);
                        shown.push_str(&quoted(&name));
                        shown.push(':');
                    }
                    self.show(shown)?;
                    comma = ",";
                }
                shown.push('}');
                self.leave();
            }
        }
        Ok(())
    }

    fn integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Integer(Integer::Unsigned(value)) => visitor.visit_u64(value),
            Token::Integer(Integer::Negative(value)) => visitor.visit_i64(value),
            token => Err(self.mismatch(mark, &token, "an integer")),
        }
    }

    fn array<V: Visitor<'de>>(&mut self, open: Open, visitor: V) -> Result<V::Value, Fault> {
        self.enter()?;
        let value = visitor.visit_seq(Items { reader: self, open, index: 0 })?;
        self.leave();
        Ok(value)
    }

    fn object<V: Visitor<'de>>(
        &mut self,
        open: Open,
        names: Names<'de>,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.enter()?;
        let value = visitor.visit_map(Members { reader: self, open, names, name: Cow::Borrowed("") })?;
        self.leave();
        Ok(value)
    }
}

/// The whole numbers go one way; each visitor knows its own range, and its fault names it.
macro_rules! integers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.integer(visitor)
        })*
    };
}

impl<'de, S: Source<'de>> Deserializer<'de> for &mut Reader<S> {
    type Error = Fault;

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    /// Integers of our tools are at most 2^63-1.
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Integer(Integer::Unsigned(value)) if i64::try_from(value).is_ok() => {
                visitor.visit_u64(value)
            }
            Token::Integer(Integer::Negative(value)) => visitor.visit_i64(value),
            token @ Token::Integer(_) => {
                Err(self.mismatch(mark, &token, "an integer between -2^63 and 2^63-1"))
            }
            token => Err(self.mismatch(mark, &token, "an integer")),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Null => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Integer(Integer::Unsigned(value)) => visitor.visit_u64(value),
            Token::Integer(Integer::Negative(value)) => visitor.visit_i64(value),
            token @ Token::Integer(Integer::Beyond) => {
                Err(self.mismatch(mark, &token, "an integer between -2^63 and 2^64-1"))
            }
            Token::Float(value) if value.is_finite() => visitor.visit_f64(value),
            token @ Token::Float(_) => Err(self.mismatch(mark, &token, "a number that a double can hold")),
            Token::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Token::Text(Cow::Owned(text)) => visitor.visit_string(text),
            Token::Array(open) => self.array(open, visitor),
            Token::Object(open) => self.object(open, Names::Free(BTreeSet::new()), visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Bool(value) => visitor.visit_bool(value),
            token => Err(self.mismatch(mark, &token, "true or false")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Integer(Integer::Unsigned(value)) => visitor.visit_u64(value),
            Token::Integer(Integer::Negative(value)) => visitor.visit_i64(value),
            Token::Float(value) => visitor.visit_f64(value),
            token => Err(self.mismatch(mark, &token, "a number")),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.text()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_byte_buf(self.source.bytes()?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_byte_buf(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.source.null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Null => visitor.visit_unit(),
            token => Err(self.mismatch(mark, &token, "null")),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Array(open) => self.array(open, visitor),
            token => Err(self.mismatch(mark, &token, "an array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Object(open) => self.object(open, Names::Free(BTreeSet::new()), visitor),
            token => Err(self.mismatch(mark, &token, "an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Object(open) => self.object(open, Names::Known(known), visitor),
            token => Err(self.mismatch(mark, &token, "an object")),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let mark = self.source.mark();
        match self.source.token()? {
            Token::Text(text) => {
                let text: StrDeserializer<Fault> = text.as_ref().into_deserializer();
                visitor.visit_enum(text)
            }
            token => Err(self.mismatch(mark, &token, &one_of(variants))),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.skip()?;
        visitor.visit_unit()
    }
}

struct Items<'r, S> {
    reader: &'r mut Reader<S>,
    open: Open,
    index: usize,
}

impl<'de, S: Source<'de>> SeqAccess<'de> for Items<'_, S> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        if !self.reader.source.item(&mut self.open)? {
            return Ok(None);
        }
        let value = seed.deserialize(&mut *self.reader).map_err(|fault| fault.within_item(self.index))?;
        self.index += 1;
        Ok(Some(value))
    }
}

struct Members<'r, 'de, S> {
    reader: &'r mut Reader<S>,
    open: Open,
    names: Names<'de>,
    /// Of the member whose value is next.
    name: Cow<'de, str>,
}

/// Who sees to it that no name repeats.
enum Names<'de> {
    /// The struct that has these members.
    Known(&'static [&'static str]),
    /// This reader; these were read.
    Free(BTreeSet<Cow<'de, str>>),
}

impl<'de, S: Source<'de>> MapAccess<'de> for Members<'_, 'de, S> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(name) = self.reader.source.member(&mut self.open)? else {
            return Ok(None);
        };
        match &mut self.names {
            Names::Known(known) => {
                // The struct itself would take the hidden member, and name it among the known ones.
                if let Some(hidden) = self.reader.hidden
                    && (hidden == name || !known.contains(&name.as_ref()))
                {
                    return Err(Fault::unknown(
                        &name,
                        known.iter().copied().filter(|known| *known != hidden),
                    ));
                }
            }
            Names::Free(read) => {
                if !read.insert(name.clone()) {
                    return Err(Fault::repeated(&name));
                }
            }
        }
        let plain: StrDeserializer<Fault> = name.as_ref().into_deserializer();
        let key = seed.deserialize(plain)?;
        self.name = name;
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        seed.deserialize(&mut *self.reader).map_err(|fault| fault.within(&self.name))
    }
}
