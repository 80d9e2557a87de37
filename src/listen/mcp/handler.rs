//! The service as the SDK knows a server: for Streamable HTTP, and for everything on stdio that is not a call.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InitializeRequestParams, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerConfig,
};
use rmcp::service::{NotificationContext, Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
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
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let as_sent = http_parts(&context).and_then(|parts| parts.extensions.get::<AsSent>());
        let arguments: Option<Box<RawValue>> = match as_sent {
            Some(AsSent(arguments)) => arguments.clone(),
            None => request.arguments.as_ref().map(to_raw_value).transpose().map_err(|error| {
                ErrorData::invalid_params(format!("the arguments can't be carried on: {error}"), None)
            })?,
        };
        let (arguments, root) =
            if self.0.takes_root(&request.name) { without_root(arguments) } else { (arguments, None) };
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

/// The arguments of a call to the letter, from a door that has kept them. The SDK reads them into a map, where the last of
/// repeated members wins.
#[derive(Clone)]
pub(super) struct AsSent(pub(super) Option<Box<RawValue>>);

fn http_parts(context: &RequestContext<RoleServer>) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Returns when the client has ended the session that the request belongs to.
async fn session_ended(context: &RequestContext<RoleServer>) {
    match http_parts(context).and_then(|parts| parts.extensions.get::<SessionEnd>()) {
        Some(end) => end.ended().await,
        None => std::future::pending().await,
    }
}

/// Takes the root out of the arguments; a mistake is told in the words of whoever looks for it.
fn without_root(arguments: Option<Box<RawValue>>) -> (Option<Box<RawValue>>, Option<String>) {
    let mut members: BTreeMap<Cow<'_, str>, &RawValue> = match &arguments {
        Some(arguments) => serde_json::from_str(arguments.get()).unwrap_or_default(),
        None => BTreeMap::new(),
    };
    let Some(root) = members.remove("root") else { return (arguments, None) };
    let root = serde_json::from_str(root.get()).unwrap_or_else(|_| root.get().to_owned());
    let rest = to_raw_value(&members).ok();
    (rest, Some(root))
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
