//! A writer of compact JSON, for two things that serde_json's does not do: bytes become base64, and text is escaped at
//! the speed of a copy, which is most of what a response is.
//!
//! The output is that of serde_json to the byte, which a property test holds.

use std::fmt::{self, Display};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{self, Impossible, Serialize};

use crate::text::plain_len;

/// Where the bytes go.
pub(super) trait Sink {
    fn put(&mut self, bytes: &[u8]);

    /// Puts the text between quotes, with the escapes that RFC 8259 demands and no other.
    fn put_string(&mut self, text: &str) {
        self.put(b"\"");
        let mut rest = text.as_bytes();
        loop {
            let (plain, special) = rest.split_at(plain_len(rest));
            self.put(plain);
            let Some((byte, after)) = special.split_first() else {
                break;
            };
            self.put_escape(*byte);
            rest = after;
        }
        self.put(b"\"");
    }

    fn put_escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'"' => self.put(b"\\\""),
            b'\\' => self.put(b"\\\\"),
            b'\n' => self.put(b"\\n"),
            b'\t' => self.put(b"\\t"),
            b'\r' => self.put(b"\\r"),
            0x08 => self.put(b"\\b"),
            0x0c => self.put(b"\\f"),
            _ => {
                self.put(&[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]])
            }
        }
    }

    fn put_base64(&mut self, bytes: &[u8]) {
        let mut encoded = [0; 1024];
        self.put(b"\"");
        // Whole groups of three bytes, so that only the last chunk is padded.
        for chunk in bytes.chunks(768) {
            if let Ok(length) = STANDARD.encode_slice(chunk, &mut encoded) {
                self.put(&encoded[..length]);
            }
        }
        self.put(b"\"");
    }

    fn put_unsigned(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.put(&digits[start..]);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Counts what would be written.
#[derive(Default)]
pub(super) struct Count(usize);

impl Count {
    pub(super) fn bytes(&self) -> usize {
        self.0
    }
}

impl Sink for Count {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Why a value has no JSON.
#[derive(Debug)]
pub(super) struct JsonError(String);

impl Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JsonError {}

impl ser::Error for JsonError {
    fn custom<T: Display>(message: T) -> JsonError {
        JsonError(message.to_string())
    }
}

/// Writes one value.
pub(super) struct JsonWriter<'s, S>(&'s mut S);

impl<'s, S: Sink> JsonWriter<'s, S> {
    pub(super) fn new(sink: &'s mut S) -> JsonWriter<'s, S> {
        JsonWriter(sink)
    }

    fn open(self, bracket: &[u8], close: &'static [u8]) -> Compound<'s, S> {
        self.0.put(bracket);
        Compound { sink: self.0, comma: b"", close }
    }

    fn float(self, value: impl Into<serde_json::Value>) {
        self.0.put(value.into().to_string().as_bytes());
    }
}

macro_rules! unsigned {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<(), JsonError> {
            self.0.put_unsigned(u64::from(value));
            Ok(())
        })*
    };
}

macro_rules! signed {
    ($($method:ident($type:ty))*) => {
        $(fn $method(self, value: $type) -> Result<(), JsonError> {
            if value < 0 {
                self.0.put(b"-");
            }
            self.0.put_unsigned(u64::from(value.unsigned_abs()));
            Ok(())
        })*
    };
}

impl<'s, S: Sink> ser::Serializer for JsonWriter<'s, S> {
    type Ok = ();
    type Error = JsonError;
    type SerializeSeq = Compound<'s, S>;
    type SerializeTuple = Impossible<(), JsonError>;
    type SerializeTupleStruct = Impossible<(), JsonError>;
    type SerializeTupleVariant = Impossible<(), JsonError>;
    type SerializeMap = Compound<'s, S>;
    type SerializeStruct = Compound<'s, S>;
    type SerializeStructVariant = Impossible<(), JsonError>;

    unsigned! { serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) }
    signed! { serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) }

    fn serialize_bool(self, value: bool) -> Result<(), JsonError> {
        self.0.put(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), JsonError> {
        self.float(value);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), JsonError> {
        self.float(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), JsonError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), JsonError> {
        self.0.put_string(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), JsonError> {
        self.0.put_base64(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), JsonError> {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), JsonError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), JsonError> {
        self.0.put(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), JsonError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), JsonError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), JsonError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), JsonError> {
        foreign()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'s, S>, JsonError> {
        Ok(self.open(b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, JsonError> {
        foreign()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTuple, JsonError> {
        foreign()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, JsonError> {
        foreign()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'s, S>, JsonError> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'s, S>, JsonError> {
        Ok(self.open(b"{", b"}"))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, JsonError> {
        foreign()
    }
}

/// Tuples, and variants with content, are no part of the wire types: they would have more than one natural form.
fn foreign<T>() -> Result<T, JsonError> {
    Err(JsonError("a tuple or a variant with content has no form on the wire".to_owned()))
}

/// An array or object that is being written.
pub(super) struct Compound<'s, S> {
    sink: &'s mut S,
    comma: &'static [u8],
    close: &'static [u8],
}

impl<S: Sink> Compound<'_, S> {
    fn next(&mut self) {
        self.sink.put(self.comma);
        self.comma = b",";
    }

    fn close(self) -> Result<(), JsonError> {
        self.sink.put(self.close);
        Ok(())
    }
}

impl<S: Sink> ser::SerializeSeq for Compound<'_, S> {
    type Ok = ();
    type Error = JsonError;

    fn serialize_element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), JsonError> {
        self.next();
        value.serialize(JsonWriter(self.sink))
    }

    fn end(self) -> Result<(), JsonError> {
        self.close()
    }
}

impl<S: Sink> ser::SerializeMap for Compound<'_, S> {
    type Ok = ();
    type Error = JsonError;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, name: &T) -> Result<(), JsonError> {
        self.next();
        // All our maps are named by strings.
        name.serialize(JsonWriter(self.sink))
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), JsonError> {
        self.sink.put(b":");
        value.serialize(JsonWriter(self.sink))
    }

    fn end(self) -> Result<(), JsonError> {
        self.close()
    }
}

impl<S: Sink> ser::SerializeStruct for Compound<'_, S> {
    type Ok = ();
    type Error = JsonError;

    /// Names of members of structs are ours, and need no escapes.
    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), JsonError> {
        self.next();
        self.sink.put(b"\"");
        self.sink.put(name.as_bytes());
        self.sink.put(b"\":");
        value.serialize(JsonWriter(self.sink))
    }

    fn end(self) -> Result<(), JsonError> {
        self.close()
    }
}
