//! The daemon's own tools: control requests, which never wait in line, and the opening and closing of workspaces.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axlr_protocol::tool::{
    Empty, ExecSignalArguments, ExecWriteArguments, RequestCancelOutput, StringMap, WorkspaceListOutput,
    WorkspaceOpenArguments, WorkspaceOpenOutput,
};
use axlr_protocol::{Call, Code, ErrorBody, Output, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::session::{Began, Inner};
use crate::actors::{Answer, Settings, SupervisorMsg};
use crate::cancel::Cancel;
use crate::error::{failure, lost, refusal};
use crate::tools::{ControlError, Error, ExecHandle, Kind, quoted};
use crate::workspace::Workspace;

impl Inner {
    /// Answers a control request, at once where it can.
    pub(super) fn control(
        self: &Arc<Self>,
        request_id: String,
        call: Call,
        began: Began,
    ) -> Option<Response> {
        let tool = call.tool();
        if self.lock().flights.contains_key(&request_id) {
            return Some(self.in_use(request_id, tool, began));
        }
        let outcome = match call {
            Call::ServerInfo(_) => Ok(Output::ServerInfo(Box::new(super::info::info(&self.runtime)))),
            Call::ServerStats(_) => Ok(Output::ServerStats(self.runtime.stats())),
            Call::ServerStop(arguments) => self.stop(arguments.drain_ms),
            Call::RequestCancel(arguments) => {
                let cancelled = self.cancel(&arguments.request_id);
                Ok(Output::RequestCancel(RequestCancelOutput { cancelled }))
            }
            Call::ExecWrite(arguments) => match self.exec_write(arguments) {
                Ok(written) => {
                    self.spawn_control(request_id, tool, began, written);
                    return None;
                }
                Err(error) => Err(error),
            },
            Call::ExecSignal(arguments) => match self.exec_signal(arguments) {
                Ok(signalled) => {
                    self.spawn_control(request_id, tool, began, signalled);
                    return None;
                }
                Err(error) => Err(error),
            },
            // server.ping; the rest never comes here.
            _ => Ok(Output::Empty(Empty {})),
        };
        Some(self.response(request_id, tool, began, outcome))
    }

    fn stop(&self, drain_ms: Option<i64>) -> Answer {
        let drain = match drain_ms.map(u64::try_from).transpose() {
            Ok(drain) => drain.map(Duration::from_millis),
            Err(_) => {
                let message = format!("drain_ms must not be negative, got {}", drain_ms.unwrap_or_default());
                return Err(refusal(Code::InvalidRequest, message));
            }
        };
        self.runtime.request_stop(drain);
        Ok(Output::Empty(Empty {}))
    }

    /// Queues the bytes now, so that writes keep their order; the future waits until the pipe took them.
    fn exec_write(
        &self,
        arguments: ExecWriteArguments,
    ) -> Result<impl Future<Output = Answer> + Send + use<>, ErrorBody> {
        let bytes = exec_bytes(&arguments).map_err(failure)?;
        let handle = self.exec_handle(&arguments.request_id)?;
        // Queued here and now; what is left to await is the pipe.
        let written = handle.write(bytes, arguments.eof.unwrap_or(false));
        let id = arguments.request_id;
        Ok(async move { control_answer(&id, written.await) })
    }

    fn exec_signal(
        &self,
        arguments: ExecSignalArguments,
    ) -> Result<impl Future<Output = Answer> + Send + use<>, ErrorBody> {
        let handle = self.exec_handle(&arguments.request_id)?;
        let ExecSignalArguments { request_id, signal } = arguments;
        Ok(async move { control_answer(&request_id, handle.signal(signal).await) })
    }

    fn exec_handle(&self, request_id: &str) -> Result<ExecHandle, ErrorBody> {
        let state = self.lock();
        let handle = state.flights.get(request_id).and_then(|flight| flight.exec.clone());
        handle.ok_or_else(|| not_running(request_id))
    }

    pub(super) async fn open(self: &Arc<Self>, arguments: WorkspaceOpenArguments, cancel: &Cancel) -> Answer {
        let WorkspaceOpenArguments { root, name, env, plugins, plugin_env, plugin_headers, default } =
            arguments;
        let runtime = self.runtime.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let by_plugin = |map: BTreeMap<String, StringMap>| {
                map.into_iter().map(|(id, StringMap(values))| (id, values)).collect()
            };
            let (env, headers) = (plugin_env.map(by_plugin), plugin_headers.map(by_plugin));
            let path = PathBuf::from(&root);
            let fault = |error| root_error(&root, error);
            let workspace = Workspace::open(&path).map_err(fault)?;
            let path = std::fs::canonicalize(&path).map_err(fault)?;
            let setup = runtime.config.plugins.with(plugins.as_deref(), env, headers);
            let setup = setup.map_err(|error| Error::new(Kind::InvalidManifest, error.to_string()))?;
            Ok((workspace, path, setup.plugins()))
        });
        // Only the file system may keep a cancelled request waiting. What follows is done at once, and given up halfway
        // it would leave an open that nobody gives back.
        let opened = tokio::select! {
            opened = opened => opened,
            () = cancel.cancelled() => {
                return Err(refusal(Code::Cancelled, "cancelled before the root was open"));
            }
        };
        let (workspace, path, plugins) = opened.map_err(|_| lost())?.map_err(failure)?;
        let env = env.map_or_else(|| self.runtime.config.env.clone(), |env| env.0);
        let settings = Settings { env, plugins };
        let path = path.display().to_string();
        let (supervisor, background) = (&self.runtime.supervisor, &self.runtime.background);
        let entry =
            super::open(supervisor, background, Arc::new(workspace), path, name, settings).await.map_err(
                |error| refusal(Code::InternalError, format!("the workspace could not be started: {error}")),
            )?;
        let output = WorkspaceOpenOutput { workspace: entry.id.clone(), root: entry.path.clone() };
        if !self.hold(entry, default.unwrap_or(false)) {
            // The connection ended meanwhile: nobody would give it back.
            self.runtime.give_back(output.workspace.clone()).await;
        }
        Ok(Output::WorkspaceOpen(output))
    }

    pub(super) async fn list_workspaces(&self) -> Answer {
        match self.runtime.supervisor.call(|reply| SupervisorMsg::List { reply }, None).await {
            Ok(ractor::rpc::CallResult::Success(workspaces)) => {
                Ok(Output::WorkspaceList(WorkspaceListOutput { workspaces }))
            }
            _ => Err(lost()),
        }
    }

    pub(super) async fn close_workspace(&self, id: String) -> Answer {
        if self.runtime.give_back(id).await { Ok(Output::Empty(Empty {})) } else { Err(lost()) }
    }
}

/// The checks of `workspace.open` that open nothing.
pub(super) fn check_open(arguments: &WorkspaceOpenArguments) -> Result<(), Error> {
    let root = &arguments.root;
    if !root.starts_with('/') {
        return Err(Error::malformed(format!("root {} must be an absolute path", quoted(root))));
    }
    if root.contains('\0') {
        return Err(Error::malformed(format!("root {} must not contain NUL", quoted(root))));
    }
    for (name, value) in arguments.env.iter().flat_map(|env| &env.0) {
        crate::tools::check_variable("env", name, value)?;
    }
    Ok(())
}

fn root_error(root: &str, error: std::io::Error) -> Error {
    let (kind, what) = match error.kind() {
        std::io::ErrorKind::NotFound => (Kind::NotFound, "does not exist"),
        std::io::ErrorKind::NotADirectory => (Kind::InvalidPath, "is not a directory"),
        std::io::ErrorKind::PermissionDenied => (Kind::PermissionDenied, "may not be opened"),
        _ => (Kind::Filesystem, "could not be opened"),
    };
    Error::new(kind, format!("root {} {what}", quoted(root))).with_source(error)
}

fn exec_bytes(arguments: &ExecWriteArguments) -> Result<Vec<u8>, Error> {
    match (&arguments.data, &arguments.base64) {
        (Some(_), Some(_)) => Err(Error::malformed("data and base64 must not both be given")),
        (Some(text), None) => Ok(text.clone().into_bytes()),
        (None, Some(text)) => BASE64
            .decode(text)
            .map_err(|error| Error::malformed(format!("base64 {} is not base64: {error}", quoted(text)))),
        (None, None) if arguments.eof == Some(true) => Ok(Vec::new()),
        (None, None) => {
            Err(Error::malformed("data or base64 is missing; only with eof true may both be absent"))
        }
    }
}

fn not_running(request_id: &str) -> ErrorBody {
    let message =
        format!("request_id {}: no exec of this connection with that id takes this now", quoted(request_id));
    refusal(Code::NotRunning, message)
}

fn control_answer(request_id: &str, result: Result<(), ControlError>) -> Answer {
    match result {
        Ok(()) => Ok(Output::Empty(Empty {})),
        Err(ControlError::NotRunning) => Err(not_running(request_id)),
        Err(ControlError::Overloaded) => {
            let limit = axlr_protocol::limits::EXEC_STDIN_WAITING_MAX_BYTES;
            let message = format!("more than {limit} bytes wait for the stdin of {}", quoted(request_id));
            Err(refusal(Code::Overloaded, message))
        }
    }
}
