//! The workspaces that a session may use.

use std::sync::Arc;

use axlr_protocol::{Code, ErrorBody};

use super::{Inner, State};
use crate::actors::WorkspaceEntry;
use crate::error::refusal;
use crate::tools;

/// A workspace that this session opened.
pub(super) struct Held {
    pub(super) entry: Arc<WorkspaceEntry>,
    pub(super) opens: u64,
}

impl Inner {
    /// The workspace that a request names, or the default.
    pub(super) fn workspace(
        &self,
        state: &State,
        id: Option<&str>,
    ) -> Result<Arc<WorkspaceEntry>, ErrorBody> {
        match id {
            None => state.default.as_ref().or(self.runtime.roots.first()).cloned().ok_or_else(|| {
                refusal(
                    Code::UnknownWorkspace,
                    "this connection has no default workspace; open one with workspace.open",
                )
            }),
            Some(id) => {
                let held = state.held.get(id).map(|held| &held.entry);
                held.or_else(|| self.runtime.roots.iter().find(|root| root.id == id)).cloned().ok_or_else(
                    || {
                        refusal(
                            Code::UnknownWorkspace,
                            format!("workspace {} is not open here", tools::quoted(id)),
                        )
                    },
                )
            }
        }
    }

    /// Counts an open as this session's. `false` when the session has ended meanwhile.
    pub(in crate::runtime) fn hold(&self, entry: Arc<WorkspaceEntry>, as_default: bool) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        if as_default {
            state.default = Some(entry.clone());
        }
        state.held.entry(entry.id.clone()).or_insert(Held { entry, opens: 0 }).opens += 1;
        true
    }

    /// Takes one open out of the session's hands.
    pub(super) fn give_back(&self, state: &mut State, id: &str) -> Result<String, ErrorBody> {
        let Some(held) = state.held.get_mut(id) else {
            return Err(refusal(
                Code::UnknownWorkspace,
                format!("workspace {} was not opened by this connection", tools::quoted(id)),
            ));
        };
        held.opens -= 1;
        if held.opens == 0 {
            state.held.remove(id);
            if state.default.as_ref().is_some_and(|entry| entry.id == id) {
                state.default = None;
            }
        }
        Ok(id.to_owned())
    }

    /// Cancels what runs in a workspace that has ended.
    pub(in crate::runtime) fn cancel_workspace(&self, id: &str) {
        let state = self.lock();
        state
            .flights
            .values()
            .filter(|flight| flight.workspace.as_deref() == Some(id))
            .for_each(|flight| flight.cancel.cancel());
    }
}
