//! `axlr call search`: matches by file as they are found, page after page.

use std::io::Write as _;

use axlr_client::tool::{SearchArguments, SearchOutput, Skipped};
use axlr_client::{Call, EventBody, limits};

use super::call::{Caller, typed};
use super::human::{count, counted};
use super::screen::Screen;
use crate::EXIT_COMPLETED;

mod groups;
mod highlight;

use groups::Groups;
use highlight::Highlight;

/// Prints page after page, until the end or `--max`.
pub(super) async fn run(caller: &mut Caller, arguments: SearchArguments) -> anyhow::Result<u8> {
    let mut page = arguments.clone();
    page.max_bytes = page.max_bytes.filter(|bytes| *bytes != 0).or(Some(limits::PAGE_MAX_BYTES as i64));
    let highlight = Highlight::of(&arguments);
    let mut groups = Groups::new(arguments.context_lines.unwrap_or(0) > 0);
    loop {
        let left = caller.max.map(|max| max - groups.matches);
        page.max_results = Some(page_size(arguments.max_results, limits::RESULTS_MAX, left));
        let running = caller.workspace.start(Call::Search(page.clone())).await?;
        let screen = &mut caller.screen;
        let show = |event| match event {
            EventBody::Matches { matches } => {
                screen.clear_progress();
                for found in &matches {
                    let text = groups.add(found, &highlight, screen.look);
                    screen.out.write_all(text.as_bytes())?;
                }
                screen.flush()
            }
            EventBody::SearchProgress { files_scanned, files_skipped } => {
                let scanned = counted(files_scanned, "file", "files");
                screen.progress(&format!("{scanned} searched, {} skipped", count(files_skipped)));
                Ok(())
            }
            _ => Ok(()),
        };
        let response = caller.interrupt.follow(running, show).await;
        let response = match response {
            Ok(response) if response.output.is_some() => response,
            ended => {
                // What was found stays whole, whatever came after it.
                finish(&mut groups, &mut caller.screen)?;
                return Ok(caller.explain(&ended?));
            }
        };
        let output: SearchOutput = typed(response.output.unwrap_or_default())?;
        let is_full = caller.max.is_some_and(|max| groups.matches >= max);
        match output.next_offset {
            Some(offset) if !is_full => page.offset = Some(offset as i64),
            _ => {
                finish(&mut groups, &mut caller.screen)?;
                conclude(&groups, &output, &mut caller.screen);
                return Ok(EXIT_COMPLETED);
            }
        }
    }
}

/// How much to ask for: what was given, or as much as the tool allows, but not more than is wanted.
pub(super) fn page_size(given: Option<i64>, most: u64, left: Option<u64>) -> i64 {
    let size = given.filter(|size| *size != 0).unwrap_or(most as i64);
    left.and_then(|left| i64::try_from(left).ok()).map_or(size, |left| size.min(left))
}

fn finish(groups: &mut Groups, screen: &mut Screen) -> anyhow::Result<()> {
    screen.clear_progress();
    let text = groups.finish(screen.look);
    screen.out.write_all(text.as_bytes())?;
    screen.flush()
}

fn conclude(groups: &Groups, output: &SearchOutput, screen: &mut Screen) {
    if let Some(skipped) = &output.skipped {
        explain(skipped, screen);
    }
    if output.limit_reached {
        screen.note("a limit of the tool was reached, there may be more; search a narrower path or glob");
    }
    let more = if output.next_offset.is_some() { ", there are more" } else { "" };
    let ignored = output.files_ignored.map(|number| format!(", {} ignored", count(number)));
    let found = match groups.matches {
        0 => "no match".to_owned(),
        matches => {
            let files = counted(groups.files, "file", "files");
            format!("{} in {files}", counted(matches, "match", "matches"))
        }
    };
    screen.remark(&format!(
        "{found}{more}; {} searched, {} skipped{}",
        counted(output.files_scanned, "file", "files"),
        count(output.files_skipped),
        ignored.unwrap_or_default(),
    ));
}

/// With `explain`: which files were not searched, and why.
fn explain(skipped: &Skipped, screen: &mut Screen) {
    let reasons = [
        ("too large", &skipped.too_large),
        ("binary", &skipped.binary),
        ("not UTF-8", &skipped.not_utf8),
        ("unreadable", &skipped.unreadable),
    ];
    for (reason, files) in reasons.into_iter().filter(|(_, files)| files.count > 0) {
        let shown: Vec<_> = files.paths.iter().map(|path| screen.look.foreign(path).into_owned()).collect();
        let more = if files.count > files.paths.len() as u64 { ", …" } else { "" };
        screen.note(&format!("skipped as {reason}: {} ({}{more})", count(files.count), shown.join(", ")));
    }
}
