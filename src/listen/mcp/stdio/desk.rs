//! What becomes of a line: a call that is carried out here, or a message for the SDK.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, JsonRpcMessage, ProgressToken,
    ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
};
use serde_json::value::RawValue;

use super::flights::Flights;
use crate::listen::mcp::caller::Caller;
use crate::listen::mcp::handler::{step, unknown};
use crate::listen::mcp::message::{self, Declared, Line, Parameters};
use crate::listen::mcp::reply::Reply;
use crate::listen::mcp::service::{Incoming, Service, Steps, UnknownTool};

/// Sorts lines.
pub(super) struct Desk<C> {
    service: Arc<Service<C>>,
    flights: Arc<Flights>,
    /// What the handshake came to.
    agreed: OnceLock<ProtocolVersion>,
    /// A request that declares itself went to the SDK, which from then on knows that there will be no handshake.
    is_open: OnceLock<()>,
}

impl<C: Caller> Desk<C> {
    pub(super) fn new(service: Arc<Service<C>>, flights: Arc<Flights>) -> Self {
        Self { service, flights, agreed: OnceLock::new(), is_open: OnceLock::new() }
    }

    /// Takes a line; a message that is the SDK's comes back.
    pub(super) fn take(&self, line: &[u8], context: &mut Context<'_>) -> Option<ClientJsonRpcMessage> {
        match Line::read(line) {
            Ok(Line::Request { id, method, params }) => {
                if !self.flights.begin(&id, line.len()) {
                    let error = format!("Invalid request: the request with id {id} is not answered yet");
                    let error = ErrorData::invalid_request(error, None);
                    self.flights.put(|out| message::put_error(out, Some(id), error));
                    return None;
                }
                if method == "tools/call" {
                    return self.take_call(id, params, line, context);
                }
                self.pass_request(id, &method, params, line)
            }
            Ok(Line::Notification { method, params }) => {
                // The beginning can't be cancelled.
                let cancels = method == "notifications/cancelled" && self.has_begun();
                let cancelled = cancels.then(|| message::cancelled(params)).flatten();
                if method == "notifications/roots/list_changed" {
                    // Before the SDK gets round to it: a call on the next line is meant for the new roots.
                    let _ = self.service.roots_are_unknown();
                }
                let is_done = cancelled.is_some_and(|id| self.flights.cancel(&id));
                if is_done { None } else { self.pass(line) }
            }
            Ok(Line::Response) => self.pass(line),
            Err(error) => {
                self.flights.put(|out| message::put_error(out, None, error));
                None
            }
        }
    }

    fn take_call(
        &self,
        id: RequestId,
        params: Option<&RawValue>,
        line: &[u8],
        context: &mut Context<'_>,
    ) -> Option<ClientJsonRpcMessage> {
        let parameters = match Parameters::read(params) {
            Ok(parameters) => parameters,
            Err(error) => return self.refuse(id, error),
        };
        let is_modern = match (parameters.declared(), self.agreed.get()) {
            (Declared::Nothing, Some(_)) => false,
            (Declared::Version(version), _) if self.has_begun() => version >= ProtocolVersion::V_2026_07_28,
            // The SDK says what is amiss, or learns from this request that there is no handshake.
            _ => return self.pass_request(id, "tools/call", params, line),
        };
        let steps = parameters.meta.get_progress_token().map(|token| self.steps(token));
        let incoming =
            Incoming { name: &parameters.name, arguments: parameters.arguments, root: None, steps };
        let prepared = match self.service.prepare(incoming) {
            Ok(prepared) => prepared,
            Err(name) => return self.refuse(id, unknown(name)),
        };
        let service = self.service.clone();
        let mut run = Box::pin(async move { service.run(prepared).await });
        // What the runtime answers at once needs no task.
        if let Poll::Ready(reply) = run.as_mut().poll(context) {
            self.flights.end(&id, |out| put(out, &id, reply, is_modern));
            return None;
        }
        let (flights, answered) = (self.flights.clone(), id.clone());
        let task = tokio::spawn(async move {
            let reply = run.await;
            flights.end(&answered, |out| put(out, &answered, reply, is_modern));
        });
        self.flights.carried_by(&id, task.abort_handle());
        None
    }

    fn steps(&self, token: ProgressToken) -> Steps {
        let flights = self.flights.clone();
        Box::new(move |note| {
            let step = step(token.clone(), note);
            // A client that does not read is told less, not later.
            if flights.has_room() {
                flights.put(|out| message::put_progress(out, &step));
            }
            Box::pin(std::future::ready(()))
        })
    }

    fn refuse(&self, id: RequestId, error: ErrorData) -> Option<ClientJsonRpcMessage> {
        self.flights.end(&id, |out| message::put_error(out, Some(id.clone()), error));
        None
    }

    fn has_begun(&self) -> bool {
        self.agreed.get().is_some() || self.is_open.get().is_some()
    }

    /// Hands a request to the SDK.
    fn pass_request(
        &self,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
        line: &[u8],
    ) -> Option<ClientJsonRpcMessage> {
        let message = match message::request(method, params, line) {
            Ok(message) => message,
            Err(error) => return self.refuse(id, error),
        };
        if let JsonRpcMessage::Request(request) = &message
            && opens(&request.request)
        {
            let _ = self.is_open.set(());
        }
        Some(message)
    }

    /// Hands anything else to the SDK, which before the beginning would take it for the end.
    fn pass(&self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        if !self.has_begun() {
            tracing::debug!("a message before the beginning is passed over");
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(message) => Some(message),
            Err(error) => {
                tracing::debug!(%error, "a message that nobody waits for is passed over");
                None
            }
        }
    }

    /// Takes what the SDK says.
    pub(super) fn send(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(result) = &response.result {
                    let _ = self.agreed.set(result.protocol_version.clone());
                }
                Some(&response.id)
            }
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        match id {
            Some(id) => self.flights.end(id, |out| message::put(out, message)),
            None => self.flights.put(|out| message::put(out, message)),
        }
    }
}

/// Whether the SDK takes this request for the beginning of a session without a handshake.
fn opens(request: &ClientRequest) -> bool {
    if matches!(
        request,
        ClientRequest::InitializeRequest(_)
            | ClientRequest::PingRequest(_)
            | ClientRequest::DiscoverRequest(_)
    ) {
        return false;
    }
    let meta = request.get_meta();
    meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        && meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
}

fn put(out: &mut Vec<u8>, id: &RequestId, reply: Result<Reply, UnknownTool>, is_modern: bool) {
    match reply {
        Ok(reply) => message::put_reply(out, id, &reply, is_modern),
        Err(name) => message::put_error(out, Some(id.clone()), unknown(name)),
    }
}
