//! `axlr call read`: the content, and nothing else, on stdout.

use std::io::Write as _;

use axlr_client::tool::{ContentEncoding, ReadArguments, ReadOutput};
use axlr_client::{Call, limits};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::call::{Caller, typed};
use super::human::count;
use crate::EXIT_COMPLETED;

/// Prints page after page until the file's end; with `max_bytes`, one page of so many. Base64 is undone, so that any file
/// can be copied by it.
pub(super) async fn run(caller: &mut Caller, arguments: ReadArguments) -> anyhow::Result<u8> {
    let wants_one_page = arguments.max_bytes.is_some_and(|bytes| bytes != 0);
    let mut page = arguments;
    if !wants_one_page {
        page.max_bytes = Some(limits::PAGE_MAX_BYTES as i64);
    }
    loop {
        let response = caller.ask(Call::Read(page.clone())).await?;
        let Some(output) = response.output.clone() else { return Ok(caller.explain(&response)) };
        let output: ReadOutput = typed(output)?;
        match page.encoding {
            Some(ContentEncoding::Base64) => caller.screen.out.write_all(&BASE64.decode(&output.content)?)?,
            Some(ContentEncoding::Utf8) | None => caller.screen.out.write_all(output.content.as_bytes())?,
        }
        caller.screen.flush()?;
        if !output.truncated {
            return Ok(EXIT_COMPLETED);
        }
        if wants_one_page {
            let next = output.next_offset_bytes;
            caller.screen.remark(&format!("the file goes on at offset_bytes={next} ({})", count(next)));
            return Ok(EXIT_COMPLETED);
        }
        page.offset_bytes = Some(output.next_offset_bytes as i64);
    }
}
