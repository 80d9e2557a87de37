//! Results as text: for hosts that show a model the text alone.
//!
//! Compact, and nothing that the structured content does not say too. The content of a file stands by itself, so that
//! not a byte of it is in doubt.

use std::fmt::Write as _;

use axlr_protocol::tool::{
    EditOutput, Entry, EntryType, ExecOutput, ListOutput, Match, ReadOutput, SearchOutput, WriteOutput,
};
use axlr_protocol::{Call, Output};

#[cfg(test)]
mod tests;

/// What a text says of the call's arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Subject {
    path: String,
    with_context: bool,
}

impl Subject {
    pub(super) fn of(call: &Call) -> Self {
        let path = match call {
            Call::Write(write) => &write.path,
            Call::Edit(edit) => &edit.path,
            Call::Search(search) => {
                let with_context = search.context_lines.is_some_and(|lines| lines > 0);
                return Self { with_context, ..Self::default() };
            }
            _ => return Self::default(),
        };
        Self { path: path.clone(), ..Self::default() }
    }
}

/// The blocks of text that tell an output.
pub(super) fn render(subject: &Subject, output: &Output) -> Vec<String> {
    match output {
        Output::Read(read) => page(read),
        Output::Write(write) => vec![written(&subject.path, write)],
        Output::Edit(edit) => vec![edited(&subject.path, edit)],
        Output::Exec(exec) => vec![ended(exec)],
        Output::Search(search) => vec![found(search, subject.with_context)],
        Output::List(list) => vec![listed(list)],
        // No other tool has a face.
        _ => Vec::new(),
    }
}

fn page(read: &ReadOutput) -> Vec<String> {
    let mut blocks = vec![read.content.clone()];
    let ReadOutput { start_offset_bytes: start, next_offset_bytes: next, .. } = read;
    if read.truncated {
        blocks.push(format!("[bytes {start} to {next}; the file goes on: offset_bytes {next}]"));
    } else if *start > 0 {
        blocks.push(format!("[bytes {start} to {next}, the end of the file]"));
    }
    blocks
}

fn written(path: &str, output: &WriteOutput) -> String {
    let WriteOutput { written_bytes, content_sha256 } = output;
    format!("Wrote {path}: {written_bytes} bytes, sha256 {content_sha256}.")
}

fn edited(path: &str, output: &EditOutput) -> String {
    let EditOutput { written_bytes, content_sha256, replacements } = output;
    let replaced = match replacements {
        Some(1) => ", 1 replacement".to_owned(),
        Some(number) => format!(", {number} replacements"),
        None => String::new(),
    };
    format!("Edited {path}{replaced}: now {written_bytes} bytes, sha256 {content_sha256}.")
}

/// Stdout, then stderr, then how it ended.
fn ended(output: &ExecOutput) -> String {
    let mut text = output.stdout.clone();
    end_line(&mut text);
    if !output.stderr.is_empty() {
        if !text.is_empty() {
            text.push_str("stderr:\n");
        }
        text.push_str(&output.stderr);
        end_line(&mut text);
    }
    match &output.signal {
        Some(signal) => put(&mut text, format_args!("killed by signal {signal}")),
        None => put(&mut text, format_args!("exit code {}", output.exit_code)),
    }
    if output.discarded_bytes > 0 {
        put(&mut text, format_args!(" ({} bytes of output left out)", output.discarded_bytes));
    }
    text
}

fn found(output: &SearchOutput, with_context: bool) -> String {
    let mut text = String::new();
    let mut last: Option<(&str, u64)> = None;
    for found in &output.matches {
        let first = found.line.saturating_sub(found.before.len() as u64);
        if with_context && last.is_some_and(|(path, line)| path != found.path || first > line + 1) {
            text.push_str("--\n");
        }
        lines_of(&mut text, found, first);
        last = Some((&found.path, found.line + found.after.len() as u64));
    }
    match output.matches.len() {
        0 => put(&mut text, format_args!("no match in {} files", output.files_scanned)),
        number => put(&mut text, format_args!("[{number} matches")),
    }
    more(&mut text, output.next_offset, output.limit_reached);
    if !output.matches.is_empty() {
        text.push(']');
    }
    text
}

fn lines_of(text: &mut String, found: &Match, first: u64) {
    let path = &found.path;
    for (number, line) in (first..).zip(&found.before) {
        put(text, format_args!("{path}-{number}- {line}\n"));
    }
    put(text, format_args!("{path}:{}: {}\n", found.line, found.text));
    for (number, line) in (found.line + 1..).zip(&found.after) {
        put(text, format_args!("{path}-{number}- {line}\n"));
    }
}

fn listed(output: &ListOutput) -> String {
    let mut text = String::new();
    for Entry { path, kind, size, .. } in &output.entries {
        match (kind, size) {
            (EntryType::File, Some(size)) => put(&mut text, format_args!("{path}  {size} bytes\n")),
            (EntryType::File, None) => put(&mut text, format_args!("{path}\n")),
            (EntryType::Dir, _) => put(&mut text, format_args!("{path}/\n")),
            (EntryType::Symlink, _) => put(&mut text, format_args!("{path}  symlink\n")),
            (EntryType::Other, _) => put(&mut text, format_args!("{path}  neither file nor folder\n")),
        }
    }
    match output.entries.len() {
        0 => text.push_str("no entries"),
        number => put(&mut text, format_args!("[{number} entries")),
    }
    more(&mut text, output.next_offset, output.limit_reached);
    if !output.entries.is_empty() {
        text.push(']');
    }
    text
}

/// How to go on, or why that would not help.
fn more(text: &mut String, next_offset: Option<u64>, limit_reached: bool) {
    if let Some(offset) = next_offset {
        put(text, format_args!("; more follow: offset {offset}"));
    }
    if limit_reached {
        text.push_str("; stopped at a limit, narrow it with path or glob");
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = text.write_fmt(arguments);
}
