//! Reading files and directories through the runtime.

use std::path::Path;
use std::sync::Arc;

use axlr_client::tool::{self, ContentEncoding, EntryType, ListArguments, ReadArguments, ReadOutput};
use axlr_client::{CallError, Workspace, limits};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::Runtime;
use crate::prepare::Workdirs;
use crate::prompt::{Entry, EntryKind, Files, FilesError};
use crate::provider::Boxed;

/// One page of a file.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) bytes: Vec<u8>,
    /// Where the next page begins; None at the end of the file.
    pub(crate) next: Option<u64>,
    /// The digest of the whole file, when the page is the whole file.
    pub(crate) sha256: Option<String>,
}

/// Reads a page as bytes: whether they are text is for the caller to judge.
pub(crate) async fn read_page(
    workspace: &Workspace,
    path: &str,
    offset: u64,
    max_bytes: u64,
) -> Result<Page, CallError> {
    let arguments = ReadArguments {
        path: path.to_owned(),
        offset_bytes: Some(i64::try_from(offset).unwrap_or(i64::MAX)),
        max_bytes: Some(i64::try_from(max_bytes).unwrap_or(i64::MAX)),
        encoding: Some(ContentEncoding::Base64),
    };
    let ReadOutput { content, next_offset_bytes, truncated, content_sha256, .. } =
        workspace.read(arguments).await?;
    let bytes = BASE64.decode(content).map_err(|error| CallError::Output {
        tool: "read",
        reason: format!("its content is not base64: {error}").into(),
    })?;
    Ok(Page { bytes, next: truncated.then_some(next_offset_bytes), sha256: content_sha256 })
}

/// Reads a whole file, whatever its size.
async fn read_whole(workspace: &Workspace, path: &str) -> Result<Vec<u8>, CallError> {
    let mut whole = Vec::new();
    let mut offset = Some(0);
    while let Some(at) = offset {
        let page = read_page(workspace, path, at, limits::PAGE_MAX_BYTES).await?;
        whole.extend_from_slice(&page.bytes);
        offset = page.next;
    }
    Ok(whole)
}

/// What is at a path.
pub(crate) enum Listing {
    /// Its entries, in no order that matters.
    Directory {
        entries: Vec<tool::Entry>,
        /// Whether the runtime stopped at its limit.
        is_cut: bool,
    },
    /// Something else.
    NotADirectory(EntryType),
}

/// Lists a directory, all pages of it.
pub(crate) async fn list_directory(workspace: &Workspace, path: &str) -> Result<Listing, CallError> {
    let mut entries = Vec::new();
    let mut offset = Some(0);
    let mut is_cut = false;
    while let Some(at) = offset {
        let page = workspace
            .list(ListArguments {
                path: Some(path.to_owned()),
                max_entries: i64::try_from(limits::ENTRIES_MAX).ok(),
                max_bytes: i64::try_from(limits::PAGE_MAX_BYTES).ok(),
                offset: i64::try_from(at).ok(),
                ..Default::default()
            })
            .await?;
        // What is no directory describes itself.
        if let Some(itself) = page.entries.iter().find(|entry| entry.path == path) {
            return Ok(Listing::NotADirectory(itself.kind));
        }
        entries.extend(page.entries);
        is_cut |= page.limit_reached;
        offset = page.next_offset;
    }
    Ok(Listing::Directory { entries, is_cut })
}

/// The last part of an entry's path.
pub(crate) fn name(entry: &tool::Entry) -> &str {
    entry.path.rsplit('/').next().unwrap_or(&entry.path)
}

/// Context files of agents, read through the runtime.
#[derive(Debug, Clone)]
pub struct ContextFiles(pub Arc<Runtime>);

impl Workdirs for ContextFiles {
    fn open<'a>(&'a self, workdir: &'a Path) -> Boxed<'a, Result<Box<dyn Files>, String>> {
        Box::pin(async move {
            let workspace = self.0.workspace(workdir).await.map_err(|error| error.to_string())?;
            Ok(Box::new(Workdir(workspace)) as Box<dyn Files>)
        })
    }
}

struct Workdir(Workspace);

impl Files for Workdir {
    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, Result<Vec<Entry>, FilesError>> {
        Box::pin(async move {
            let listed = list_directory(&self.0, if directory.is_empty() { "." } else { directory }).await;
            let entries = match listed.map_err(fault)? {
                Listing::Directory { entries, .. } => entries,
                Listing::NotADirectory(_) => {
                    return Err(FilesError::Unreadable("not a directory".to_owned()));
                }
            };
            let entries = entries.into_iter().filter(|entry| !entry.name_lossy);
            Ok(entries.map(|entry| Entry { name: name(&entry).to_owned(), kind: kind(entry.kind) }).collect())
        })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, Result<Vec<u8>, FilesError>> {
        Box::pin(async move { read_whole(&self.0, path).await.map_err(fault) })
    }
}

fn kind(kind: EntryType) -> EntryKind {
    match kind {
        EntryType::File => EntryKind::File,
        EntryType::Dir => EntryKind::Directory,
        EntryType::Symlink => EntryKind::Symlink,
        EntryType::Other => EntryKind::Other,
    }
}

fn fault(error: CallError) -> FilesError {
    match error {
        CallError::Refused { message, .. } => FilesError::Unreadable(message),
        other => FilesError::Unavailable(other.to_string()),
    }
}
