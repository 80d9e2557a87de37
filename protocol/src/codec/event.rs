//! An event on the wire: the members of its body stand beside `seq`.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::event::{Event, EventBody};
use crate::limits;

/// Names of events.
pub(super) mod name {
    pub(in crate::codec) const STARTED: &str = "started";
    pub(in crate::codec) const STDOUT: &str = "stdout";
    pub(in crate::codec) const STDERR: &str = "stderr";
    pub(in crate::codec) const MATCHES: &str = "matches";
    pub(in crate::codec) const ENTRIES: &str = "entries";
    pub(in crate::codec) const PROGRESS: &str = "progress";
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, members) = match &self.body {
            EventBody::Started { .. } => (name::STARTED, 1),
            EventBody::Stdout { .. } => (name::STDOUT, 1),
            EventBody::Stderr { .. } => (name::STDERR, 1),
            EventBody::Matches { .. } => (name::MATCHES, 1),
            EventBody::Entries { .. } => (name::ENTRIES, 1),
            EventBody::SearchProgress { .. } => (name::PROGRESS, 2),
            EventBody::ListProgress { .. } => (name::PROGRESS, 1),
            EventBody::PluginProgress { total, message, .. } => {
                (name::PROGRESS, 1 + usize::from(total.is_some()) + usize::from(message.is_some()))
            }
        };
        let mut event = serializer.serialize_struct("Event", 4 + members)?;
        event.serialize_field("protocol_version", &limits::PROTOCOL_VERSION)?;
        event.serialize_field("request_id", &self.request_id)?;
        event.serialize_field("event", name)?;
        event.serialize_field("seq", &self.seq)?;
        match &self.body {
            EventBody::Started { pid } => event.serialize_field("pid", pid)?,
            EventBody::Stdout { data } | EventBody::Stderr { data } => {
                event.serialize_field("data", &Bytes(data))?;
            }
            EventBody::Matches { matches } => event.serialize_field("matches", matches)?,
            EventBody::Entries { entries } => event.serialize_field("entries", entries)?,
            EventBody::SearchProgress { files_scanned, files_skipped } => {
                event.serialize_field("files_scanned", files_scanned)?;
                event.serialize_field("files_skipped", files_skipped)?;
            }
            EventBody::ListProgress { entries_seen } => {
                event.serialize_field("entries_seen", entries_seen)?
            }
            EventBody::PluginProgress { progress, total, message } => {
                event.serialize_field("progress", progress)?;
                if let Some(total) = total {
                    event.serialize_field("total", total)?;
                }
                if let Some(message) = message {
                    event.serialize_field("message", message)?;
                }
            }
        }
        event.end()
    }
}

/// Bytes that are bin in MessagePack; the JSON writer makes base64 of them.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}
