//! `read`: one page of one file.

use std::cell::RefCell;
use std::os::fd::AsFd;

use axlr_protocol::limits;
use axlr_protocol::tool::{ContentEncoding, ReadArguments, ReadOutput};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::check::{self, Bound};
use super::{Error, Kind};
use crate::cancel::Cancel;
use crate::capacity::{CHUNK_BYTES, READ_INLINE_MAX_BYTES};
use crate::workspace::{self, Digest, Workspace, WorkspacePath};

/// A checked request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    path: WorkspacePath,
    offset: u64,
    max_bytes: usize,
    encoding: ContentEncoding,
}

/// A character has at most four bytes: so many may belong to one that began before the page, or goes on behind it.
const CHARACTER_REST: usize = 3;

impl Read {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Malformed, naming the member and the rule.
    ///
    /// Source: SPEC §3.1, §4.
    pub fn parse(arguments: ReadArguments) -> Result<Self, Error> {
        let offset = Bound { min: 0, max: i64::MAX as u64, default: 0, zero_is_default: false, unit: "byte" };
        let page = Bound {
            min: 1,
            max: limits::PAGE_MAX_BYTES,
            default: limits::PAGE_DEFAULT_BYTES,
            zero_is_default: true,
            unit: "byte",
        };
        Ok(Self {
            path: check::file_path("path", &arguments.path)?,
            offset: check::bounded("offset_bytes", arguments.offset_bytes, offset)?,
            max_bytes: check::bounded("max_bytes", arguments.max_bytes, page)? as usize,
            encoding: arguments.encoding.unwrap_or_default(),
        })
    }

    /// How much is read before the page, to see whether it begins inside a character or beyond the end.
    fn lead(&self) -> usize {
        self.offset.min(CHARACTER_REST as u64) as usize
    }

    /// Where the bytes that are read begin.
    fn start(&self) -> u64 {
        self.offset - self.lead() as u64
    }

    /// The most bytes that are read: the page, what leads to it, and a little to see whether the file goes on.
    fn window(&self) -> usize {
        self.lead() + self.max_bytes + CHARACTER_REST
    }
}

/// Reads a page of a regular file. What it says about the file is what was read, also when others write to it.
///
/// # Errors
/// `not_regular_file`, without blocking; `invalid_offset` beyond the end or inside a character; `invalid_text` for
/// invalid UTF-8 or a NUL in the page; `limit_too_small` when not one character fits; and what the file system says.
///
/// Source: SPEC §3.1.
pub fn read(workspace: &Workspace, read: &Read, cancel: &Cancel) -> Result<ReadOutput, Error> {
    refuse_cancelled(cancel)?;
    let fault = |error| check::fault(&read.path, error);
    let (file, size) = workspace::open_regular(workspace, &read.path).map_err(fault)?;
    let window = read.window();
    // One byte more than there seems to be: a file that has grown, or whose size nobody knows, says so.
    let expected = size.saturating_sub(read.start()).saturating_add(1);
    let mut bytes = Vec::with_capacity(window.min(expected.try_into().unwrap_or(window)));
    while bytes.len() < window {
        refuse_cancelled(cancel)?;
        let filled = bytes.len();
        let room = if filled < bytes.capacity() { bytes.capacity() - filled } else { CHUNK_BYTES };
        bytes.resize(filled + room.min(CHUNK_BYTES).min(window - filled), 0);
        let position = read.start() + filled as u64;
        let count = workspace::read_fully(file.as_fd(), &mut bytes[filled..], position).map_err(fault)?;
        let is_end = filled + count < bytes.len();
        bytes.truncate(filled + count);
        if is_end {
            break;
        }
    }
    refuse_cancelled(cancel)?;
    page(read, &bytes)
}

/// The same, when the kernel has all of it in memory and the page is at most [`READ_INLINE_MAX_BYTES`]; it never
/// waits. `None` says: [`read`] it where waiting does no harm.
pub fn read_cached(workspace: &Workspace, read: &Read) -> Option<Result<ReadOutput, Error>> {
    thread_local! {
        /// Reused, so that a small read allocates nothing but its answer.
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let (file, size) = match workspace::open_regular_cached(workspace, &read.path)? {
        Ok(opened) => opened,
        Err(error) => return Some(Err(check::fault(&read.path, error))),
    };
    let expected = size.checked_sub(read.start())?;
    let window = read.window().min(CHARACTER_REST + READ_INLINE_MAX_BYTES + CHARACTER_REST);
    if read.max_bytes > READ_INLINE_MAX_BYTES && expected >= window as u64 {
        return None;
    }
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < window {
            buffer.resize(window, 0);
        }
        let count = workspace::read_cached(file.as_fd(), &mut buffer[..window], read.start())?;
        // Less than there is: some of it is not in memory. More: it is growing at this moment.
        (count as u64 == expected.min(window as u64)).then(|| page(read, &buffer[..count]))
    })
}

/// Makes the answer of the bytes that were read from [`Read::start`] on, up to the window or the end of the file.
fn page(read: &Read, bytes: &[u8]) -> Result<ReadOutput, Error> {
    let Some(rest) = bytes.get(read.lead()..) else {
        return Err(Error::new(
            Kind::InvalidOffset,
            format!(
                "offset_bytes {} lies beyond the end of {}",
                read.offset,
                check::quoted(read.path.as_str())
            ),
        ));
    };
    let (content, returned) = match read.encoding {
        ContentEncoding::Utf8 => {
            refuse_split_offset(read, bytes)?;
            let text = text_page(read, rest)?;
            (text.to_owned(), text.len())
        }
        ContentEncoding::Base64 => {
            let page = &rest[..rest.len().min(read.max_bytes)];
            (STANDARD.encode(page), page.len())
        }
    };
    let truncated = returned < rest.len();
    let is_whole = read.offset == 0 && !truncated;
    Ok(ReadOutput {
        content,
        start_offset_bytes: read.offset,
        returned_bytes: returned as u64,
        next_offset_bytes: read.offset + returned as u64,
        truncated,
        content_sha256: is_whole.then(|| Digest::of(&rest[..returned]).to_string()),
    })
}

/// Refuses an offset inside a character. One inside of what is no character is a matter of the text.
fn refuse_split_offset(read: &Read, bytes: &[u8]) -> Result<(), Error> {
    let lead = read.lead();
    if !bytes.get(lead).is_some_and(|byte| is_continuation(*byte)) {
        return Ok(());
    }
    let Some(begin) = (0..lead).rev().find(|index| !is_continuation(bytes[*index])) else { return Ok(()) };
    match character_at(&bytes[begin..]) {
        Some(length) if begin + length > lead => Err(Error::new(
            Kind::InvalidOffset,
            format!(
                "offset_bytes {} points into the middle of a character, which begins at {}",
                read.offset,
                read.start() + begin as u64
            ),
        )),
        _ => Ok(()),
    }
}

/// The page as text, ending at a character's end.
fn text_page<'a>(read: &Read, rest: &'a [u8]) -> Result<&'a str, Error> {
    let mut page = &rest[..rest.len().min(read.max_bytes)];
    if page.len() < rest.len() {
        page = &page[..complete(page)];
        if page.is_empty()
            && let Some(length) = character_at(rest)
        {
            return Err(Error::new(
                Kind::LimitTooSmall,
                format!(
                    "max_bytes {} is less than the {length} bytes of the character at offset {}",
                    read.max_bytes, read.offset
                ),
            ));
        }
        if page.is_empty() {
            page = &rest[..1];
        }
    }
    workspace::text(page).ok_or_else(|| not_text(read, page))
}

/// The length without a character that is cut off at the end.
fn complete(page: &[u8]) -> usize {
    for back in 1..=page.len().min(CHARACTER_REST) {
        let byte = page[page.len() - back];
        if !is_continuation(byte) {
            return if expected_length(byte) > back { page.len() - back } else { page.len() };
        }
    }
    page.len()
}

/// How many bytes the character has that begins here, if one does.
fn character_at(bytes: &[u8]) -> Option<usize> {
    let length = expected_length(*bytes.first()?);
    std::str::from_utf8(bytes.get(..length)?).is_ok().then_some(length)
}

/// How many bytes a character has that begins with this one.
fn expected_length(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

fn not_text(read: &Read, page: &[u8]) -> Error {
    let nul = memchr::memchr(0, page);
    let valid = std::str::from_utf8(page).map_or_else(|error| error.valid_up_to(), str::len);
    let (what, position) = match nul {
        Some(nul) if nul < valid => ("a NUL", nul),
        _ => ("invalid UTF-8", valid),
    };
    let path = check::quoted(read.path.as_str());
    let offset = read.offset + position as u64;
    Error::new(
        Kind::InvalidText,
        format!("path {path} is not text: {what} at offset {offset}; encoding \"base64\" reads any bytes"),
    )
}

fn refuse_cancelled(cancel: &Cancel) -> Result<(), Error> {
    if cancel.is_cancelled() {
        Err(Error::new(Kind::Cancelled, "cancelled before the read was done"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
