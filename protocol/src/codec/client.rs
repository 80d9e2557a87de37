//! What a client reads: responses and events.
//!
//! A client must outlive the daemon's next version, so members that it does not know are passed over here, and an
//! unknown event or code is told apart from a broken frame.

use std::borrow::Cow;
use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::event::name;
use super::{CodecError, Encoding};
use crate::code::{Code, Status};
use crate::decode::{Fault, Json, MessagePack, Reader, Source};
use crate::event::{Event, EventBody};
use crate::response::ErrorBody;
use crate::tool::Plain;

/// One frame from the daemon.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// The answer to a request; nothing of that request follows it.
    Response(AnyResponse),
    /// Something that happened before the answer.
    Event(Event),
}

/// A response as it stands on the wire, its output not yet given the type of the tool.
#[derive(Debug, Clone, PartialEq)]
pub struct AnyResponse {
    /// The request's id; empty when the daemon could not read it.
    pub request_id: String,
    /// The request's tool; empty likewise.
    pub tool: String,
    /// How it ended.
    pub status: Status,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub finished_at: String,
    /// Milliseconds between them on a monotonic clock.
    pub duration_ms: u64,
    /// What came of it, when it completed.
    pub output: Option<Value>,
    /// What went wrong otherwise. A code that this version does not know is shown as the most general one of the same
    /// status, with its name before the message.
    pub error: Option<ErrorBody>,
}

/// Nesting that a client follows. A daemon's own messages are far below; a plugin's content may come close to the 128
/// levels that MCP clients usually accept, inside of an output.
const MESSAGE_DEPTH_MAX: usize = 256;

/// Reads a response or an event.
///
/// # Errors
/// [`CodecError::UnknownEvent`] for an event of a later version, [`CodecError::Malformed`] for anything else.
///
/// Source: SPEC §1.3, §6 and §9.
pub fn message(encoding: Encoding, frame: &[u8]) -> Result<Message, CodecError> {
    match encoding {
        Encoding::Json => read(Json::new(frame)?),
        // Leniently, because bytes that are passed over on the way to their member are no text.
        Encoding::MessagePack => read(MessagePack::lenient(frame)),
    }
}

impl From<Fault> for CodecError {
    fn from(fault: Fault) -> CodecError {
        CodecError::Malformed(fault.message("the message"))
    }
}

fn read<'de, S: Source<'de>>(source: S) -> Result<Message, CodecError> {
    let mut members = Members::read(source)?;
    if members.has("event") {
        return event(members).map(Message::Event);
    }
    let code_and_message: Option<AnyError> = members.get("error")?;
    let status = members.get("status")?;
    Ok(Message::Response(AnyResponse {
        request_id: members.get("request_id")?,
        tool: members.get("tool")?,
        status,
        started_at: members.get("started_at")?,
        finished_at: members.get("finished_at")?,
        duration_ms: members.get("duration_ms")?,
        output: members.output,
        error: code_and_message.map(|error| error.body(status)),
    }))
}

fn event<'de, S: Source<'de>>(mut members: Members<'de, S>) -> Result<Event, CodecError> {
    let name: String = members.get("event")?;
    let body = match name.as_str() {
        name::STARTED => EventBody::Started { pid: members.get("pid")? },
        name::STDOUT => EventBody::Stdout { data: members.get::<Bytes>("data")?.0 },
        name::STDERR => EventBody::Stderr { data: members.get::<Bytes>("data")?.0 },
        name::MATCHES => EventBody::Matches { matches: members.get("matches")? },
        name::ENTRIES => EventBody::Entries { entries: members.get("entries")? },
        name::PROGRESS if members.has("files_scanned") => EventBody::SearchProgress {
            files_scanned: members.get("files_scanned")?,
            files_skipped: members.get("files_skipped")?,
        },
        name::PROGRESS if members.has("entries_seen") => {
            EventBody::ListProgress { entries_seen: members.get("entries_seen")? }
        }
        name::PROGRESS if members.has("progress") => EventBody::PluginProgress {
            progress: members.get("progress")?,
            total: members.get_if_there("total")?,
            message: members.get_if_there("message")?,
        },
        _ => return Err(CodecError::UnknownEvent(name)),
    };
    Ok(Event { request_id: members.get("request_id")?, seq: members.get("seq")?, body })
}

/// The members of a message by name. Only the output is read at once, because it may be large.
struct Members<'de, S> {
    reader: Reader<S>,
    marks: Vec<(Cow<'de, str>, usize)>,
    output: Option<Value>,
}

impl<'de, S: Source<'de>> Members<'de, S> {
    fn read(source: S) -> Result<Members<'de, S>, Fault> {
        let mut reader = Reader::new(source, MESSAGE_DEPTH_MAX);
        let mut open = reader.open()?;
        let mut marks = Vec::with_capacity(9);
        let mut output = None;
        while let Some(name) = reader.source.member(&mut open)? {
            if name == "output" {
                let value: Option<Plain> = reader.value().map_err(|fault| fault.within("output"))?;
                output = value.map(|Plain(value)| value);
            } else {
                marks.push((name, reader.source.mark()));
                reader.skip()?;
            }
        }
        reader.source.end()?;
        Ok(Members { reader, marks, output })
    }

    fn has(&self, name: &str) -> bool {
        self.marks.iter().any(|(known, _)| known == name)
    }

    fn get<T: Deserialize<'de>>(&mut self, name: &str) -> Result<T, Fault> {
        let found = self.marks.iter().find(|(known, _)| known == name);
        let (_, mark) = found.ok_or_else(|| Fault::missing(name))?;
        self.reader.source.rewind(*mark);
        self.reader.value().map_err(|fault| fault.within(name))
    }

    fn get_if_there<T: Deserialize<'de>>(&mut self, name: &str) -> Result<Option<T>, Fault> {
        if self.has(name) { self.get(name) } else { Ok(None) }
    }
}

/// An error whose code may be of a later version.
#[derive(Deserialize)]
struct AnyError {
    code: String,
    message: String,
}

impl AnyError {
    fn body(self, status: Status) -> ErrorBody {
        if let Some(code) = Code::ALL.iter().find(|code| code.as_str() == self.code) {
            return ErrorBody { code: *code, message: self.message };
        }
        let code = match status {
            Status::Rejected => Code::InvalidRequest,
            Status::Failed | Status::Completed => Code::InternalError,
            Status::Cancelled => Code::Cancelled,
            Status::TimedOut => Code::Timeout,
        };
        ErrorBody { code, message: format!("{}: {}", self.code, self.message) }
    }
}

/// Base64 in JSON, bin in MessagePack.
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Data;
        impl Visitor<'_> for Data {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_byte_buf<E>(self, data: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(data))
            }
        }
        deserializer.deserialize_byte_buf(Data)
    }
}
