//! What the SDK does not see: every message of a server comes by here first.
//!
//! The SDK reads results into types of its own, and what those do not know is lost. So a result is handed to whoever
//! waits for it as the server wrote it, and the SDK gets a stand-in. What nobody waits for (notifications, second answers,
//! questions that are answered with "no") ends here, so that no server can fill memory or the log.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axlr_protocol::EventBody;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions as _,
    GetMeta as _, NumberOrString, ProgressToken, RequestId, RequestMetaObject, ServerJsonRpcMessage,
    ServerResult,
};
use serde_json::value::RawValue;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};

use super::log::Log;
use super::rpc::{self, CancelledParams, Incoming, Outcome, ProgressParams, Trouble};
use super::setup::Veil;

/// Where the progress of a call goes. What finds no room is dropped.
pub(super) type Progress = mpsc::Sender<EventBody>;

/// A result as the server wrote it, or why there is none.
pub(super) type Written = Result<Box<RawValue>, Trouble>;

/// What a request carries to the tap, unseen by the server: who wants its result as it was written.
#[derive(Clone)]
pub(super) struct Wanted {
    /// Taken by the first answer.
    result: Arc<Mutex<Option<oneshot::Sender<Written>>>>,
    progress: Option<Progress>,
}

/// The messages of one session with a server.
pub(super) struct Tap {
    pub(super) log: Arc<Log>,
    pub(super) veil: Veil,
    state: Mutex<State>,
    /// How often the server said that its tools changed.
    changes: AtomicU64,
    /// Whether a stream is open on which it would say so, where it needs one of its own.
    hears_changes: AtomicBool,
    /// Whether nobody more should come.
    is_retired: AtomicBool,
    /// Told when the session ends.
    end: Notify,
}

#[derive(Default)]
struct State {
    asked: HashMap<i64, Asked>,
    /// The highest id so far, to tell late answers from invented ones.
    last_id: i64,
    /// Why nothing will be answered any more.
    ended: Option<Trouble>,
}

/// A request that is not answered yet.
struct Asked {
    method: &'static str,
    wanted: Option<Wanted>,
    /// A subscription that the server has not acknowledged.
    is_unacknowledged: bool,
    /// Whether it is on its way to the server, so that the server must be told when it is given up.
    has_left: bool,
}

/// A message that the SDK is about to send.
pub(super) struct Outgoing {
    /// Who wants its answer as it was written.
    pub(super) wanted: Option<Wanted>,
    /// A request that is to be answered.
    request: Option<i64>,
    /// Takes back what never left.
    is_void: bool,
}

/// What became of a text of a server.
pub(super) enum Heard {
    /// No message at all.
    Noise,
    /// Nothing that the SDK needs to know.
    Nothing,
    /// For the SDK.
    Message(Box<ServerJsonRpcMessage>),
}

/// An id of the server's that is longer is not sent back.
const FOREIGN_ID_MAX_BYTES: usize = 256;

impl Wanted {
    /// Wants a result, and progress until then.
    pub(super) fn new(progress: Option<Progress>) -> (Self, oneshot::Receiver<Written>) {
        let (sender, receiver) = oneshot::channel();
        (Self { result: Arc::new(Mutex::new(Some(sender))), progress }, receiver)
    }

    fn answer(&self, result: Written) {
        let sender = self.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            let _ = sender.send(result);
        }
    }

    /// Returns when whoever wanted it has left.
    pub(super) async fn given_up(&self) {
        let closed = |context: &mut std::task::Context| {
            let mut sender = self.result.lock().unwrap_or_else(PoisonError::into_inner);
            match sender.as_mut() {
                Some(sender) => sender.poll_closed(context),
                // It was answered, by a server that had not read it.
                None => std::task::Poll::Ready(()),
            }
        };
        std::future::poll_fn(closed).await;
    }

    /// Whether whoever wanted it has left.
    fn is_given_up(&self) -> bool {
        let sender = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().is_some_and(oneshot::Sender::is_closed)
    }
}

impl Tap {
    pub(super) fn new(log: Arc<Log>, veil: Veil) -> Arc<Self> {
        Arc::new(Self {
            log,
            veil,
            state: Mutex::default(),
            changes: AtomicU64::new(0),
            hears_changes: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
            end: Notify::new(),
        })
    }

    /// Notes a message that the SDK is about to send. Progress is asked for only where somebody wants it.
    pub(super) fn outgoing(&self, message: &mut ClientJsonRpcMessage) -> Outgoing {
        let mut outgoing = Outgoing { wanted: None, request: None, is_void: false };
        match message {
            ClientJsonRpcMessage::Request(request) => {
                let wanted = request.request.extensions().get::<Wanted>().cloned();
                if wanted.as_ref().is_none_or(|wanted| wanted.progress.is_none()) {
                    let meta = request.request.get_meta_mut();
                    meta.remove("progressToken");
                    if meta.is_empty() {
                        request.request.extensions_mut().remove::<RequestMetaObject>();
                    }
                } else {
                    // One number for both, so that progress finds its request.
                    let token = ProgressToken(request.id.clone());
                    request.request.get_meta_mut().set_progress_token(token);
                }
                outgoing.wanted = wanted.clone();
                let NumberOrString::Number(id) = &request.id else { return outgoing };
                outgoing.request = Some(*id);
                let asked = Asked {
                    method: method(&request.request),
                    wanted,
                    has_left: false,
                    is_unacknowledged: matches!(
                        request.request,
                        ClientRequest::SubscriptionsListenRequest(_)
                    ),
                };
                let mut state = self.lock();
                state.last_id = state.last_id.max(*id);
                state.asked.insert(*id, asked);
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(NumberOrString::Number(id)) = &cancelled.params.request_id
                {
                    outgoing.is_void = self.lock().asked.remove(id).is_some_and(|asked| !asked.has_left);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
        outgoing
    }

    /// Whether a message may leave now. From then on the server must be told when it is given up; what was taken back
    /// before does not leave at all, nor does the word about it: a server that reads nothing would fill memory with them.
    pub(super) fn leaves(&self, outgoing: &Outgoing) -> bool {
        let Some(id) = outgoing.request else { return !outgoing.is_void };
        let mut state = self.lock();
        let Some(asked) = state.asked.get_mut(&id) else { return false };
        asked.has_left = true;
        true
    }

    /// Whether a request that waits to be sent is wanted no more.
    pub(super) fn is_given_up(wanted: Option<&Wanted>) -> bool {
        wanted.is_some_and(Wanted::is_given_up)
    }

    /// Takes what the server sent. `answer` gets what goes back to it.
    pub(super) fn hear(&self, text: &[u8], answer: &mut dyn FnMut(String)) -> Heard {
        match rpc::incoming(text) {
            None => return Heard::Noise,
            Some(Incoming::Response { id, outcome }) => return self.answered(id, outcome, text),
            Some(Incoming::Request { id, method }) => {
                if id.get().len() <= FOREIGN_ID_MAX_BYTES {
                    answer(rpc::answer(id, &method));
                }
            }
            Some(Incoming::Notification { method, params }) => return self.notified(&method, params, text),
            Some(Incoming::Stray) => self.log.note(format_args!("it answered a request that nobody made")),
        }
        Heard::Nothing
    }

    fn answered(&self, id: i64, outcome: Outcome, text: &[u8]) -> Heard {
        let (asked, last_id) = {
            let mut state = self.lock();
            (state.asked.remove(&id), state.last_id)
        };
        let Some(Asked { method, wanted, .. }) = asked else {
            if id <= last_id {
                tracing::debug!(plugin = %self.log.id(), id, "an answer for which nobody waits any more");
            } else {
                self.log.note(format_args!("it answered request {id}, which was never made"));
            }
            return Heard::Nothing;
        };
        let request = RequestId::Number(id);
        let message = match outcome {
            Outcome::Error { code, message, data } => {
                let message = rpc::shown(&self.veil.over(message));
                if let Some(wanted) = &wanted {
                    wanted.answer(Err(Trouble::Refused { code, message: message.clone() }));
                }
                let code = ErrorCode(i32::try_from(code).unwrap_or(i32::MIN));
                ServerJsonRpcMessage::error(ErrorData::new(code, message, data), Some(request))
            }
            Outcome::Result(result) => {
                if let Some(wanted) = &wanted {
                    wanted.answer(Ok(result.to_owned()));
                }
                // Of a call the SDK needs to know no more than that it was answered.
                let typed = if method == "tools/call" { None } else { serde_json::from_slice(text).ok() };
                match typed {
                    // Under our id, which some servers send back as text.
                    Some(ServerJsonRpcMessage::Response(typed)) => {
                        ServerJsonRpcMessage::response(typed.result, request)
                    }
                    _ => stand_in(request),
                }
            }
            Outcome::Neither => {
                if let Some(wanted) = &wanted {
                    let words = format!("its answer to {method} has neither a result nor an error");
                    wanted.answer(Err(Trouble::Protocol(words)));
                }
                stand_in(request)
            }
        };
        Heard::Message(Box::new(message))
    }

    fn notified(&self, method: &str, params: Option<&RawValue>, text: &[u8]) -> Heard {
        match (method, params) {
            ("notifications/tools/list_changed", _) => self.tools_changed(),
            ("notifications/progress", Some(params)) => self.progressed(params),
            ("notifications/subscriptions/acknowledged", Some(_)) if self.acknowledges() => {
                return typed(text);
            }
            // A server takes back nothing but subscriptions.
            ("notifications/cancelled", Some(params)) if self.ends_a_subscription(params) => {
                return typed(text);
            }
            _ => {}
        }
        Heard::Nothing
    }

    /// The first word on a subscription, which only one can have.
    fn acknowledges(&self) -> bool {
        let mut state = self.lock();
        let waiting = state.asked.values_mut().find(|asked| asked.is_unacknowledged);
        waiting.is_some_and(|asked| std::mem::take(&mut asked.is_unacknowledged))
    }

    fn ends_a_subscription(&self, params: &RawValue) -> bool {
        let Ok(CancelledParams { id }) = rpc::object(params) else { return false };
        let mut state = self.lock();
        let is_one = |id: &i64| state.asked.get(id).is_some_and(|asked| asked.method == SUBSCRIBE);
        id.number().filter(is_one).is_some_and(|id| state.asked.remove(&id).is_some())
    }

    fn progressed(&self, params: &RawValue) {
        let Ok(ProgressParams { token, progress, total, message }) = rpc::object(params) else { return };
        let state = self.lock();
        let asked = token.number().and_then(|id| state.asked.get(&id));
        let Some(listener) = asked.and_then(|asked| asked.wanted.as_ref()?.progress.as_ref()) else { return };
        let message = message.map(|message| rpc::shown(&message));
        match listener.try_send(EventBody::PluginProgress { progress, total, message }) {
            Ok(()) | Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(_)) => {
                tracing::debug!(plugin = %self.log.id(), "progress was dropped: its reader is slow");
            }
        }
    }

    /// How often the tools have changed so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// What is known of the tools may be old.
    fn tools_changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether changes of the tools would be heard now, where they need a stream of their own.
    pub(super) fn hears_changes(&self) -> bool {
        self.hears_changes.load(Ordering::Acquire)
    }

    /// That stream was opened, or has ended. Whatever was listed before may be old.
    pub(super) fn hear_changes(&self, does: bool) {
        self.hears_changes.store(does, Ordering::Release);
        self.tools_changed();
    }

    /// The session is of no use to those who come. Those who wait may still be answered.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    /// Ends the session. Only the first end counts.
    pub(super) fn end(&self, trouble: Trouble) {
        let mut state = self.lock();
        if state.ended.is_none() {
            state.ended = Some(trouble);
            state.asked.clear();
            drop(state);
            self.end.notify_waiters();
        }
    }

    /// Why the session is over, when it is.
    pub(super) fn ended(&self) -> Option<Trouble> {
        self.lock().ended.clone()
    }

    /// Returns why the session is over, once it is.
    pub(super) async fn until_ended(&self) -> Trouble {
        loop {
            let end = self.end.notified();
            tokio::pin!(end);
            // Registered before the question, so that no word falls between the two.
            end.as_mut().enable();
            if let Some(trouble) = self.ended() {
                return trouble;
            }
            end.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The request whose answer comes when the server has nothing more to tell.
const SUBSCRIBE: &str = "subscriptions/listen";

fn method(request: &ClientRequest) -> &'static str {
    match request {
        ClientRequest::InitializeRequest(_) => "initialize",
        ClientRequest::DiscoverRequest(_) => "server/discover",
        ClientRequest::ListToolsRequest(_) => "tools/list",
        ClientRequest::CallToolRequest(_) => "tools/call",
        ClientRequest::SubscriptionsListenRequest(_) => SUBSCRIBE,
        // We make no others.
        _ => "a request",
    }
}

fn stand_in(request: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::empty(()), request)
}

fn typed(text: &[u8]) -> Heard {
    serde_json::from_slice(text).map_or(Heard::Nothing, |message| Heard::Message(Box::new(message)))
}

#[cfg(test)]
mod tests;
