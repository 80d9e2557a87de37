//! What JSON and MessagePack have in common: a document is a walk over tokens.

use std::borrow::Cow;

use super::fault::Fault;

/// A value's beginning: a scalar whole, an array or object only opened.
#[derive(Debug)]
pub(crate) enum Token<'de> {
    Null,
    Bool(bool),
    Integer(Integer),
    /// A JSON number with a fraction or an exponent, or a MessagePack float. May be infinite or NaN.
    Float(f64),
    Text(Cow<'de, str>),
    Array(Open),
    Object(Open),
}

/// A number without fraction and exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    /// 0 to 2^64-1.
    Unsigned(u64),
    /// -2^63 to -1.
    Negative(i64),
    /// Beyond both.
    Beyond,
}

/// How far an open array or object has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Open {
    /// JSON: nothing was read yet, so no comma is due.
    Fresh,
    /// JSON: a comma or the end is due.
    Started,
    /// MessagePack: so many items or members are claimed to follow. Only ever counted down.
    Left(u32),
}

/// A document, read token by token from a slice. Nothing is reserved or repeated because a length claims so.
pub(crate) trait Source<'de> {
    /// Where the next value begins.
    fn mark(&mut self) -> usize;

    /// Goes back to a mark.
    fn rewind(&mut self, mark: usize);

    /// Reads a scalar, or opens an array or object.
    fn token(&mut self) -> Result<Token<'de>, Fault>;

    /// Reads a null if one is next.
    fn null(&mut self) -> Result<bool, Fault>;

    /// Whether an item of the array follows; its end is read otherwise.
    fn item(&mut self, open: &mut Open) -> Result<bool, Fault>;

    /// The name of the object's next member, up to its value; its end is read otherwise.
    fn member(&mut self, open: &mut Open) -> Result<Option<Cow<'de, str>>, Fault>;

    /// Bytes: base64 text in JSON, bin in MessagePack.
    fn bytes(&mut self) -> Result<Vec<u8>, Fault>;

    /// The text of the scalar that began at `mark`, where the encoding has one.
    fn spelling(&self, mark: usize) -> Option<&'de str>;

    /// Refuses anything that follows the document.
    fn end(&mut self) -> Result<(), Fault>;
}
