//! `edit_file`.

use axlr_client::tool::EditArguments;
use axlr_client::{CallError, Code, Workspace, limits};
use memchr::memmem;

use super::limits::EDIT_TRIES;
use super::toolbox::{Target, refusal};
use super::{Input, Outcome, Toolbox};
use crate::runtime::{self, read_page};

pub(super) async fn run(tools: &Toolbox, input: Input<'_>) -> Result<Outcome, runtime::Error> {
    let wanted = input.required("old_string").and_then(|old| Ok((old, input.flag("replace_all")?)));
    let (old_text, replaces_all) = match wanted {
        Ok(wanted) => wanted,
        Err(outcome) => return Ok(outcome),
    };
    let target = match tools.target_in_workdir(input).await? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let edit = Edit { old_text, new_text: input.text("new_string").unwrap_or_default(), target: &target };
    Ok(match edit.apply(replaces_all).await {
        Ok(count) => {
            let content = format!("replaced {count} occurrence(s) in {}", target.written);
            Outcome::success(content, target.summary())
        }
        Err(Failure::NotFound(detail)) => {
            Outcome::error(format!("old_string not found in file: {detail}"), target.summary())
        }
        Err(Failure::Several(count, detail)) => {
            let content = format!("old_string found {count} times; {detail}");
            Outcome::error(content, target.summary())
        }
        Err(Failure::Refused(error)) => refusal(&error, target.summary()),
    })
}

struct Edit<'a> {
    old_text: String,
    new_text: String,
    target: &'a Target,
}

enum Failure {
    NotFound(String),
    Several(usize, String),
    Refused(CallError),
}

impl Edit<'_> {
    /// Returns how many occurrences were replaced.
    async fn apply(&self, replaces_all: bool) -> Result<u64, Failure> {
        if replaces_all {
            return match self.ask(true, None).await {
                Err(CallError::Refused { code: Code::Conflict, message, .. }) => {
                    Err(Failure::NotFound(message))
                }
                answer => answer.map_err(Failure::Refused),
            };
        }
        let mut conflict = match self.ask(false, None).await {
            Err(CallError::Refused { code: Code::Conflict, message, .. }) => message,
            answer => return answer.map_err(Failure::Refused),
        };
        // The runtime says that there is not exactly one; how many there are is in the file.
        for _ in 0..EDIT_TRIES {
            let (count, sha256) = self.count().await.map_err(Failure::Refused)?;
            match count {
                0 => return Err(Failure::NotFound(conflict)),
                // Occurrences that overlap are several to the runtime, and one to whoever replaces from left to right;
                // or the file has changed meanwhile.
                1 => match self.ask(true, sha256).await {
                    Err(CallError::Refused { code: Code::Conflict, message, .. }) => conflict = message,
                    answer => return answer.map_err(Failure::Refused),
                },
                several => return Err(Failure::Several(several, conflict)),
            }
        }
        Err(Failure::NotFound(conflict))
    }

    async fn ask(&self, replaces_all: bool, expected_sha256: Option<String>) -> Result<u64, CallError> {
        let arguments = EditArguments {
            path: self.target.path.clone(),
            old_text: self.old_text.clone(),
            new_text: self.new_text.clone(),
            expected_sha256,
            replace_all: replaces_all.then_some(true),
        };
        let output = self.target.workspace.edit(arguments).await?;
        Ok(output.replacements.unwrap_or(1))
    }

    /// Occurrences that do not overlap, and the digest of the file that has them.
    async fn count(&self) -> Result<(usize, Option<String>), CallError> {
        let workspace: &Workspace = &self.target.workspace;
        // What can be edited fits into one page.
        let page = read_page(workspace, &self.target.path, 0, limits::PAGE_MAX_BYTES).await?;
        Ok((memmem::find_iter(&page.bytes, &self.old_text).count(), page.sha256))
    }
}
