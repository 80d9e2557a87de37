//! Who waits for which answer. Both transports hand it what they hear; it never waits for anybody.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axlr_protocol::EventBody;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};

use super::log::Log;
use super::rpc::{self, Incoming, Outcome, Reply, Trouble};

/// Where the progress of a call goes. What finds no room is dropped.
pub(super) type Progress = mpsc::Sender<EventBody>;

/// The requests of one session that are not answered yet.
pub(super) struct Exchange {
    pub(super) log: Arc<Log>,
    state: Mutex<State>,
    next_id: AtomicU64,
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
    waiting: HashMap<u64, Waiter>,
    /// Why nothing will be answered any more.
    ended: Option<Trouble>,
}

struct Waiter {
    method: &'static str,
    reply: oneshot::Sender<Reply>,
    progress: Option<Progress>,
}

/// A place in the exchange. Dropped, nobody waits there any more.
pub(super) struct Waiting {
    pub(super) id: u64,
    pub(super) reply: oneshot::Receiver<Reply>,
    exchange: Arc<Exchange>,
}

/// The request whose answer comes when the server has nothing more to tell.
pub(super) const SUBSCRIBE: &str = "subscriptions/listen";

/// An id of the server's that is longer is not sent back.
const FOREIGN_ID_MAX_BYTES: usize = 256;

impl Exchange {
    pub(super) fn new(log: Arc<Log>) -> Arc<Self> {
        Arc::new(Self {
            log,
            state: Mutex::default(),
            next_id: AtomicU64::new(1),
            changes: AtomicU64::new(0),
            hears_changes: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
            end: Notify::new(),
        })
    }

    /// Takes a place for the answer to a request that is about to be sent.
    ///
    /// # Errors
    /// The session is over.
    pub(super) fn expect(
        self: &Arc<Self>,
        method: &'static str,
        progress: Option<Progress>,
    ) -> Result<Waiting, Trouble> {
        let mut state = self.lock();
        if let Some(trouble) = &state.ended {
            return Err(trouble.clone());
        }
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = oneshot::channel();
        state.waiting.insert(id, Waiter { method, reply: sender, progress });
        Ok(Waiting { id, reply, exchange: self.clone() })
    }

    /// Takes what the server sent: one message, or several. `answer` gets what goes back to it. `false` when the text is
    /// no message.
    pub(super) fn hear(&self, text: &[u8], answer: &mut dyn FnMut(String)) -> bool {
        match rpc::batch(text) {
            None => self.hear_one(text, answer),
            Some(messages) => messages.iter().all(|message| self.hear_one(message.get().as_bytes(), answer)),
        }
    }

    fn hear_one(&self, text: &[u8], answer: &mut dyn FnMut(String)) -> bool {
        match rpc::incoming(text) {
            None => return false,
            Some(Incoming::Response { id, outcome }) => self.answered(id, outcome),
            Some(Incoming::Request { id, method }) => {
                if id.get().len() <= FOREIGN_ID_MAX_BYTES {
                    answer(rpc::answer(id, &method));
                }
            }
            Some(Incoming::Notification { method, params }) => self.notified(&method, params),
            Some(Incoming::Stray) => self.log.note(format_args!("it answered a request that nobody made")),
        }
        true
    }

    fn answered(&self, id: u64, outcome: Outcome) {
        let Some(Waiter { method, reply, .. }) = self.lock().waiting.remove(&id) else {
            if id < self.next_id.load(Ordering::Relaxed) {
                tracing::debug!(plugin = %self.log.id(), id, "an answer for which nobody waits any more");
            } else {
                self.log.note(format_args!("it answered request {id}, which was never made"));
            }
            return;
        };
        let _ = reply.send(match outcome {
            Outcome::Result(result) => Ok(result.to_owned()),
            Outcome::Error { code, message } => Err(Trouble::Refused { method, code, message }),
            Outcome::Neither => {
                Err(Trouble::Protocol(format!("its answer to {method} has neither a result nor an error")))
            }
        });
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match (method, params) {
            ("notifications/tools/list_changed", _) => self.tools_changed(),
            ("notifications/progress", Some(params)) => self.progressed(params),
            ("notifications/subscriptions/acknowledged", Some(params)) => self.acknowledged(params),
            ("notifications/cancelled", Some(params)) => self.subscription_ended(params),
            _ => {}
        }
    }

    fn acknowledged(&self, params: &RawValue) {
        if let Ok(Acknowledged { notifications }) = rpc::object(params) {
            self.hear_changes(notifications.tools);
        }
    }

    /// A server takes back nothing but subscriptions.
    fn subscription_ended(&self, params: &RawValue) {
        let Ok(CancelledParams { id }) = rpc::object(params) else { return };
        let Some(id) = id.number() else { return };
        let mut state = self.lock();
        if state.waiting.get(&id).is_none_or(|waiter| waiter.method != SUBSCRIBE) {
            return;
        }
        if let Some(waiter) = state.waiting.remove(&id) {
            let _ = waiter.reply.send(Err(Trouble::broken("it ended the subscription")));
        }
    }

    fn progressed(&self, params: &RawValue) {
        let Ok(ProgressParams { token, progress, total, message }) = rpc::object(params) else {
            return;
        };
        let mut state = self.lock();
        let waiter = token.number().and_then(|id| state.waiting.get_mut(&id));
        let Some(Waiter { progress: Some(listener), .. }) = waiter else { return };
        let message = message.map(|message| rpc::shown(&message));
        match listener.try_send(EventBody::PluginProgress { progress, total, message }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                tracing::debug!(plugin = %self.log.id(), "progress was dropped: its reader is slow");
            }
            Err(TrySendError::Closed(_)) => {}
        }
    }

    /// How often the tools have changed so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// What is known of the tools may be old.
    pub(super) fn tools_changed(&self) {
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

    /// Ends the session: whoever waits gets the reason, and so does whoever comes. Only the first end counts.
    pub(super) fn end(&self, trouble: Trouble) {
        let waiting = {
            let mut state = self.lock();
            if state.ended.is_some() {
                return;
            }
            state.ended = Some(trouble.clone());
            std::mem::take(&mut state.waiting)
        };
        for waiter in waiting.into_values() {
            let _ = waiter.reply.send(Err(trouble.clone()));
        }
        self.end.notify_waiters();
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

    /// Why the session is over, when it is.
    pub(super) fn ended(&self) -> Option<Trouble> {
        self.lock().ended.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.exchange.lock().waiting.remove(&self.id);
    }
}

#[derive(Deserialize)]
struct ProgressParams {
    #[serde(rename = "progressToken")]
    token: Token,
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Acknowledged {
    notifications: Filter,
}

#[derive(Deserialize)]
struct Filter {
    #[serde(rename = "toolsListChanged", default)]
    tools: bool,
}

#[derive(Deserialize)]
struct CancelledParams {
    #[serde(rename = "requestId")]
    id: Token,
}

/// Ours are the ids of the requests. Some servers send them back as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Token {
    Number(u64),
    Text(String),
}

impl Token {
    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests;
