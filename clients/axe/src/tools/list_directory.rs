//! `list_directory`.

use axlr_client::limits;
use axlr_client::tool::{Entry, EntryType};

use super::toolbox::refusal;
use super::{Input, Outcome, Toolbox};
use crate::runtime::{self, Listing};

pub(super) async fn run(tools: &Toolbox, input: Input<'_>) -> Result<Outcome, runtime::Error> {
    let target = match tools.target(input, false).await? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let summary = target.summary();
    Ok(match runtime::list_directory(&target.workspace, &target.path).await {
        Ok(Listing::Directory { entries, is_cut }) => {
            let summary = format!("{summary} ({} entries)", entries.len());
            Outcome::success(text(&entries, is_cut), summary)
        }
        Ok(Listing::NotADirectory(kind)) => {
            Outcome::error(format!("path {:?} is {}, not a directory", target.path, words(kind)), summary)
        }
        Err(error) => refusal(&error, summary),
    })
}

/// By name; a directory's slash is no part of it.
fn text(entries: &[Entry], is_cut: bool) -> String {
    let mut names: Vec<_> = entries.iter().map(|entry| (runtime::name(entry), entry.kind)).collect();
    names.sort_unstable_by_key(|(name, _)| *name);
    let mut lines: Vec<String> = names
        .into_iter()
        .map(|(name, kind)| if kind == EntryType::Dir { format!("{name}/") } else { name.to_owned() })
        .collect();
    if is_cut {
        lines.push(format!("... [listing truncated, exceeded {} entries]", limits::LIST_MAX_ENTRIES));
    }
    lines.join("\n")
}

fn words(kind: EntryType) -> &'static str {
    match kind {
        EntryType::File => "a file",
        EntryType::Dir => "a directory",
        EntryType::Symlink => "a symbolic link, which is not followed here",
        EntryType::Other => "a special file",
    }
}
