//! The service as the SDK knows a server: for Streamable HTTP, and for everything on stdio that is not a call.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InitializeRequestParams, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerConfig,
};
use rmcp::service::{NotificationContext, Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::caller::Caller;
use super::http::SessionEnd;
use super::service::{Incoming, Service, Steps, UnknownTool};
use super::watch::Note;

/// One client's server.
pub(super) struct Handler<C>(pub(super) Arc<Service<C>>);

impl<C: Caller> ServerHandler for Handler<C> {
    fn get_info(&self) -> ServerConfig {
        self.0.info()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.0.begin(request.capabilities.roots.is_some());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let reason = format!("Invalid cursor {cursor:?}: all tools come in one page");
            return Err(ErrorData::invalid_params(reason, None));
        }
        Ok(ListToolsResult::with_all_items(self.0.tools().await))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let root = match (self.0.has_several_roots(), &mut request.arguments) {
            (true, Some(arguments)) => arguments.remove("root").map(text_or_json),
            _ => None,
        };
        let arguments: Option<Box<RawValue>> =
            request.arguments.as_ref().map(to_raw_value).transpose().map_err(|error| {
                ErrorData::invalid_params(format!("the arguments can't be carried on: {error}"), None)
            })?;
        let steps = context.meta.get_progress_token().map(|token| steps_to(context.peer.clone(), token));
        let incoming =
            Incoming { name: &request.name, arguments: arguments.as_deref(), root: root.as_deref(), steps };
        let prepared = self.0.prepare(incoming).map_err(unknown)?;
        tokio::select! {
            reply = self.0.run(prepared) => Ok(reply.map_err(unknown)?.into_result().into()),
            // The SDK answers nothing then; what ran is cancelled as it is dropped.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
            () = session_ended(&context) => Err(ErrorData::internal_error("the session has ended", None)),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        ask_for_roots(&self.0, &context.peer).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        ask_for_roots(&self.0, &context.peer).await;
    }
}

/// Returns when the client has ended the session that the request belongs to.
async fn session_ended(context: &RequestContext<RoleServer>) {
    let request = context.extensions.get::<Parts>();
    match request.and_then(|request| request.extensions.get::<SessionEnd>()) {
        Some(end) => end.ended().await,
        None => std::future::pending().await,
    }
}

/// What a root was given as; a mistake is told in the words of whoever looks for it.
fn text_or_json(root: Value) -> String {
    match root {
        Value::String(root) => root,
        other => other.to_string(),
    }
}

/// What the protocol says of a name that no tool has.
pub(super) fn unknown(UnknownTool(name): UnknownTool) -> ErrorData {
    ErrorData::invalid_params(format!("Unknown tool: {name}"), None)
}

fn steps_to(peer: Peer<RoleServer>, token: ProgressToken) -> Steps {
    Box::new(move |note| {
        let (peer, step) = (peer.clone(), step(token.clone(), note));
        Box::pin(async move {
            // A client that is gone hears nothing more.
            let _ = peer.notify_progress(step).await;
        })
    })
}

/// A step of progress as the protocol has it.
pub(super) fn step(token: ProgressToken, note: Note) -> ProgressNotificationParam {
    let mut step = ProgressNotificationParam::new(token, note.progress);
    step.total = note.total;
    step.message = note.message;
    step
}

/// Asks a client for its roots, when it offered to name them. Revisions since 2026-07-28 let no server ask.
#[expect(deprecated, reason = "clients of the revisions with a handshake have roots")]
async fn ask_for_roots<C: Caller>(service: &Service<C>, peer: &Peer<RoleServer>) {
    let Some(question) = service.roots_are_unknown() else { return };
    let answer = tokio::select! {
        answer = peer.list_roots() => answer,
        // Whatever is answered is out of date.
        () = service.is_asked_again(question) => return,
    };
    let uris = match answer {
        Ok(listed) => Some(listed.roots.into_iter().map(|root| root.uri).collect()),
        Err(error) => {
            tracing::info!(%error, "the client offered roots and did not name them");
            None
        }
    };
    service.take_roots(question, uris).await;
}
