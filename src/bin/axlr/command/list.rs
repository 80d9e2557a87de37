//! `axlr call list`: a table, or a tree when a person lists recursively.

use std::io::Write as _;

use axlr_client::tool::{Entry, EntryType, ListArguments, ListOutput};
use axlr_client::{Call, EventBody, limits};

use super::call::{Caller, typed};
use super::human::{bytes, count, counted};
use super::screen::{Palette, Screen};
use super::search::page_size;
use crate::EXIT_COMPLETED;

#[cfg(test)]
mod tests;

/// Prints page after page, until the end or `--max`.
pub(super) async fn run(caller: &mut Caller, arguments: ListArguments) -> anyhow::Result<u8> {
    let mut page = arguments.clone();
    page.max_bytes = page.max_bytes.filter(|bytes| *bytes != 0).or(Some(limits::PAGE_MAX_BYTES as i64));
    let mut printer = Printer::new(&arguments, caller.screen.look.is_terminal);
    loop {
        let left = caller.max.map(|max| max - printer.printed);
        page.max_entries = Some(page_size(arguments.max_entries, limits::ENTRIES_MAX, left));
        let running = caller.workspace.start(Call::List(page.clone())).await?;
        let screen = &mut caller.screen;
        let show = |event| match event {
            EventBody::Entries { entries } => printer.print(&entries, screen),
            EventBody::ListProgress { entries_seen } => {
                screen.progress(&format!("{} seen", counted(entries_seen, "entry", "entries")));
                Ok(())
            }
            _ => Ok(()),
        };
        let response = caller.interrupt.follow(running, show).await?;
        let Some(output) = response.output.clone() else { return Ok(caller.explain(&response)) };
        let output: ListOutput = typed(output)?;
        if output.limit_reached {
            caller.screen.note("a limit of the tool was reached, there may be more; list a smaller part");
        }
        let is_full = caller.max.is_some_and(|max| printer.printed >= max);
        match output.next_offset {
            Some(offset) if !is_full => page.offset = Some(offset as i64),
            next => {
                let more = if next.is_some() { ", there are more" } else { "" };
                let ignored = output.entries_ignored.map(|number| format!(", {} ignored", count(number)));
                let total = counted(printer.printed, "entry", "entries");
                caller.screen.remark(&format!("{total}{}{more}", ignored.unwrap_or_default()));
                return Ok(EXIT_COMPLETED);
            }
        }
    }
}

struct Printer {
    /// How many folders lie above the entries; `None` prints whole paths.
    tree_depth: Option<usize>,
    printed: u64,
}

impl Printer {
    fn new(arguments: &ListArguments, is_terminal: bool) -> Printer {
        let is_recursive = arguments.recursive == Some(true);
        let has_glob = arguments.glob.as_ref().is_some_and(|glob| !glob.is_empty());
        // A glob or an offset leaves parents out, and a tree without parents is none.
        let is_tree = is_terminal && is_recursive && !has_glob && arguments.offset.unwrap_or(0) == 0;
        let scope = arguments.path.as_deref().unwrap_or_default();
        let above = scope.split('/').filter(|name| !matches!(*name, "" | ".")).count();
        Printer { tree_depth: is_tree.then_some(above), printed: 0 }
    }

    fn print(&mut self, entries: &[Entry], screen: &mut Screen) -> anyhow::Result<()> {
        screen.clear_progress();
        for entry in entries {
            let path = screen.look.foreign(&entry.path);
            let line = line(entry, &path, self.tree_depth, screen.look.palette);
            writeln!(screen.out, "{line}")?;
        }
        screen.flush()?;
        self.printed += entries.len() as u64;
        Ok(())
    }
}

/// One entry; `path` is how its path is shown.
fn line(entry: &Entry, path: &str, tree_depth: Option<usize>, palette: Palette) -> String {
    let (style, mark) = match entry.kind {
        EntryType::Dir => (palette.strong, "/"),
        EntryType::Symlink => (palette.path, ""),
        EntryType::File | EntryType::Other => (anstyle::Style::new(), ""),
    };
    let size = match (entry.kind, entry.size) {
        (_, Some(size)) => bytes(size),
        (EntryType::Dir, None) => "folder".to_owned(),
        (EntryType::Symlink, None) => "link".to_owned(),
        (EntryType::File | EntryType::Other, None) => "other".to_owned(),
    };
    let (indent, name) = match tree_depth {
        None => (0, path),
        Some(above) => {
            (path.matches('/').count().saturating_sub(above), path.rsplit('/').next().unwrap_or(path))
        }
    };
    let lossy = if entry.name_lossy { "  (the name is not UTF-8)" } else { "" };
    format!("{size:>8}  {:indent$}{style}{name}{style:#}{mark}{lossy}", "", indent = 2 * indent)
}
