//! The one strict reader of requests, for JSON and MessagePack alike.
//!
//! A document has one meaning or none: everything that a lenient decoder would guess at (a repeated or unknown member,
//! `1.0` for an integer, an array for an object, half a surrogate pair) is refused, with a message that names the
//! member, its value and the rule. The usual decoders can't be held to that: serde_json reads structs from arrays,
//! rounds long integers, gives a member of a certain private name a meaning of its own, and says neither which member
//! it disliked nor what it was. So the two small parsers below are our own, over a slice, without recursion deeper than
//! [`limits::DEPTH_MAX`].
//!
//! A good request takes one pass from the slice into its types. Only a malformed one is looked at again, to echo what
//! can be echoed.
//!
//! Source: SPEC §1.2, §2.3 and §4.1.

use std::borrow::Cow;

use crate::frame::Encoding;
use crate::limits;
use crate::request::{Call, Request, Tool};

mod echo;
mod fault;
mod json;
mod msgpack;
mod reader;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use fault::Fault;
use fault::{one_of, quoted};
pub(crate) use json::Json;
pub(crate) use msgpack::MessagePack;
pub(crate) use reader::Reader;
pub(crate) use source::Source;

/// Where a request comes in, which decides what it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The one-request process: the eight tools of the worker, and none of the members of a connection.
    Worker,
    /// A connection to the daemon: every tool, `workspace`, `stream` and exec's `stdin_open`.
    Socket,
}

impl Door {
    fn tool(self, name: &str) -> Option<Tool> {
        Tool::from_name(name).filter(|tool| self.knows(*tool))
    }

    fn knows(self, tool: Tool) -> bool {
        match self {
            Door::Worker => tool.is_worker_tool(),
            Door::Socket => true,
        }
    }

    fn members(self) -> &'static [&'static str] {
        match self {
            Door::Worker => &["protocol_version", "request_id", "tool", "arguments"],
            Door::Socket => &["protocol_version", "request_id", "tool", "arguments", "workspace", "stream"],
        }
    }
}

/// A request that is answered with `invalid_request`, and what can be echoed of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// The request's id when it is one well-formed object that holds one valid id, else "".
    pub request_id: String,
    /// The request's tool, likewise.
    pub tool: Option<Tool>,
    /// What is wrong, for the person or model that must mend it.
    pub message: String,
}

impl Malformed {
    /// A fault of something that is no document, so that nothing can be echoed.
    pub(crate) fn unread(message: String) -> Malformed {
        Malformed { request_id: String::new(), tool: None, message }
    }
}

/// Decodes one request.
///
/// Ranges and forms of arguments (a path, a digest, a limit) are for the tools to judge; here are names, types and the
/// form of the document.
///
/// # Errors
/// [`Malformed`] for everything that SPEC §1.2 and §2.3 call malformed.
pub fn request(encoding: Encoding, frame: &[u8], door: Door) -> Result<Request, Malformed> {
    if frame.len() > limits::REQUEST_MAX_BYTES {
        let (size, limit) = (frame.len(), limits::REQUEST_MAX_BYTES);
        return Err(Malformed::unread(format!("the request has {size} bytes, over the limit of {limit}")));
    }
    if frame.is_empty() {
        return Err(Malformed::unread("the request is empty; expected one object".to_owned()));
    }
    let decoded = match encoding {
        Encoding::Json => Json::new(frame).and_then(|source| envelope(source, door)),
        Encoding::MessagePack => envelope(MessagePack::new(frame), door),
    };
    decoded.map_err(|fault| {
        let (request_id, tool) = echo::echo(encoding, frame, door);
        Malformed { request_id, tool, message: fault.message("the request") }
    })
}

/// Decodes a JSON document of another kind by the same rules: one object, no member unknown (when the type says
/// `deny_unknown_fields`) or repeated, null as good as absent, nothing behind it.
///
/// # Errors
/// What is wrong, in words for whoever must mend it.
pub fn document<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let decode = || {
        let mut reader = Reader::new(Json::new(text)?, limits::DEPTH_MAX);
        let value = reader.value()?;
        reader.source.end()?;
        Ok(value)
    };
    decode().map_err(|fault: Fault| fault.message("the document"))
}

/// What the envelope held so far.
#[derive(Default)]
struct Parts<'de> {
    protocol_version: Option<u64>,
    request_id: Option<Cow<'de, str>>,
    tool: Option<Tool>,
    arguments: Option<Arguments>,
    workspace: Option<Option<String>>,
    stream: Option<Option<bool>>,
}

enum Arguments {
    Read(Call),
    /// They stood before the tool, at this mark.
    Passed(usize),
}

fn envelope<'de, S: Source<'de>>(source: S, door: Door) -> Result<Request, Fault> {
    let mut reader = Reader::new(source, limits::DEPTH_MAX);
    if door == Door::Worker {
        reader = reader.hiding("stdin_open");
    }
    let mut open = reader.open()?;
    let mut parts = Parts::default();
    while let Some(name) = reader.source.member(&mut open)? {
        parts.member(&name, &mut reader, door)?;
    }
    reader.source.end()?;
    parts.request(&mut reader)
}

impl<'de> Parts<'de> {
    fn member<S: Source<'de>>(
        &mut self,
        name: &str,
        reader: &mut Reader<S>,
        door: Door,
    ) -> Result<(), Fault> {
        match (name, door) {
            ("protocol_version", _) => put(&mut self.protocol_version, name, || protocol_version(reader)),
            ("request_id", _) => put(&mut self.request_id, name, || request_id(reader)),
            ("tool", _) => put(&mut self.tool, name, || tool(reader, door)),
            ("arguments", _) => {
                let tool = self.tool;
                put(&mut self.arguments, name, || match tool {
                    Some(tool) => arguments(reader, tool).map(Arguments::Read),
                    None => {
                        let mark = reader.source.mark();
                        reader.skip()?;
                        Ok(Arguments::Passed(mark))
                    }
                })
            }
            ("workspace", Door::Socket) => put(&mut self.workspace, name, || within(name, reader.value())),
            ("stream", Door::Socket) => put(&mut self.stream, name, || within(name, reader.value())),
            _ => Err(Fault::unknown(name, door.members().iter().copied())),
        }
    }

    /// The envelope is closed and nothing follows it.
    fn request<S: Source<'de>>(self, reader: &mut Reader<S>) -> Result<Request, Fault> {
        let missing = |name| move || Fault::missing(name);
        self.protocol_version.ok_or_else(missing("protocol_version"))?;
        let request_id = self.request_id.ok_or_else(missing("request_id"))?;
        let tool = self.tool.ok_or_else(missing("tool"))?;
        let stream = self.stream.flatten().unwrap_or(false);
        let call = match self.arguments.ok_or_else(missing("arguments"))? {
            Arguments::Read(call) => call,
            Arguments::Passed(mark) => {
                reader.source.rewind(mark);
                arguments(reader, tool)?
            }
        };
        if let Call::Exec(exec) = &call
            && exec.stdin_open.is_some()
            && !stream
        {
            let note = "stdin_open is allowed only with \"stream\": true beside the arguments";
            return Err(Fault::note(note));
        }
        let workspace = self.workspace.flatten();
        Ok(Request { request_id: request_id.into_owned(), workspace, stream, call })
    }
}

/// Fills a slot that must be empty.
fn put<T>(slot: &mut Option<T>, name: &str, read: impl FnOnce() -> Result<T, Fault>) -> Result<(), Fault> {
    if slot.is_some() {
        return Err(Fault::repeated(name));
    }
    *slot = Some(read()?);
    Ok(())
}

fn within<T>(name: &str, read: Result<T, Fault>) -> Result<T, Fault> {
    read.map_err(|fault| fault.within(name))
}

fn protocol_version<'de, S: Source<'de>>(reader: &mut Reader<S>) -> Result<u64, Fault> {
    let version = within("protocol_version", reader.value::<i64>())?;
    if u64::try_from(version) == Ok(limits::PROTOCOL_VERSION) {
        return Ok(limits::PROTOCOL_VERSION);
    }
    let wanted = limits::PROTOCOL_VERSION;
    Err(Fault::rule(format_args!("must be {wanted}, got {version}")).within("protocol_version"))
}

fn request_id<'de, S: Source<'de>>(reader: &mut Reader<S>) -> Result<Cow<'de, str>, Fault> {
    let request_id = within("request_id", reader.text())?;
    match fault_of_id(&request_id) {
        None => Ok(request_id),
        Some(rule) => Err(Fault::rule(rule).within("request_id")),
    }
}

/// The rule that an id breaks.
fn fault_of_id(request_id: &str) -> Option<String> {
    let (length, limit) = (request_id.len(), limits::REQUEST_ID_MAX_BYTES);
    if length == 0 || length > limit {
        let shown = quoted(request_id);
        return Some(format!("must have 1 to {limit} bytes, got {length}: {shown}"));
    }
    if request_id.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        let shown = quoted(request_id);
        return Some(format!("must have no character below U+0020 and no U+007F, got {shown}"));
    }
    None
}

fn tool<'de, S: Source<'de>>(reader: &mut Reader<S>, door: Door) -> Result<Tool, Fault> {
    let name = within("tool", reader.text())?;
    door.tool(&name).ok_or_else(|| {
        let known = Tool::ALL.iter().copied().filter(|tool| door.knows(*tool));
        let known: Vec<&str> = known.map(Tool::as_str).collect();
        Fault::rule(format_args!("must be {}, got {}", one_of(&known), quoted(&name))).within("tool")
    })
}

fn arguments<'de, S: Source<'de>>(reader: &mut Reader<S>, tool: Tool) -> Result<Call, Fault> {
    Call::read(tool, reader).map_err(|fault| fault.within_arguments(tool.as_str()))
}
