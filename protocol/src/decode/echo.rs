//! What a refusal can echo of the request that it refuses.

use super::{Door, Fault, Json, MessagePack, Reader, Source, fault_of_id};
use crate::frame::Encoding;
use crate::limits;
use crate::request::Tool;

/// The id and the tool of a malformed request, each by itself: when the document is one well-formed object in which it
/// occurs once and is valid.
///
/// Source: SPEC §1.4.
pub(super) fn echo(encoding: Encoding, frame: &[u8], door: Door) -> (String, Option<Tool>) {
    let found = match encoding {
        Encoding::Json => Json::lenient(frame).and_then(look),
        Encoding::MessagePack => look(MessagePack::lenient(frame)),
    };
    let Ok(found) = found else {
        return (String::new(), None);
    };
    let request_id = found.request_id.once().filter(|id| fault_of_id(id).is_none()).unwrap_or_default();
    let tool = found.tool.once().and_then(|name| door.tool(&name));
    (request_id, tool)
}

#[derive(Default)]
struct Found {
    request_id: Occurrences,
    tool: Occurrences,
}

/// The values of a member.
#[derive(Default)]
struct Occurrences {
    count: usize,
    /// The last one, if it was a string.
    text: Option<String>,
}

impl Occurrences {
    fn once(self) -> Option<String> {
        self.text.filter(|_| self.count == 1)
    }
}

fn look<'de, S: Source<'de>>(source: S) -> Result<Found, Fault> {
    let mut reader = Reader::new(source, limits::DEPTH_MAX);
    let mut open = reader.open()?;
    let mut found = Found::default();
    while let Some(name) = reader.source.member(&mut open)? {
        let occurrences = match name.as_ref() {
            "request_id" => &mut found.request_id,
            "tool" => &mut found.tool,
            _ => {
                reader.skip()?;
                continue;
            }
        };
        occurrences.count += 1;
        occurrences.text = reader.text_or_skip()?.map(|text| text.into_owned());
    }
    reader.source.end()?;
    Ok(found)
}
