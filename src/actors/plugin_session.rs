//! One plugin of one workspace: its session, opened when it is first needed, kept, and opened anew when it has ended.
//!
//! Owned by the workspace. It awaits nothing: the session is opened in a task, and requests run in the tasks of those who
//! asked for it. While a server keeps failing it is left alone for a while, and who asks is told so at once. When this
//! actor ends, the session is closed, and one that is being opened is given up.

use std::sync::Arc;
use std::time::Instant;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::capacity::{PLUGIN_PAUSE_MAX, PLUGIN_PAUSE_MIN};
use crate::plugins::{Home, Plugin, Session, SessionState};
use crate::tools::{Error, Kind, quoted};

/// The answer to who asks for the session.
pub(crate) type Opened = Result<Arc<Session>, Error>;

#[derive(Debug)]
pub(crate) enum PluginSessionMsg {
    /// Asks for the session, which is opened if there is none.
    Use { reply: RpcReplyPort<Opened> },
    /// The opening has come to its end.
    Opened { opened: Result<Session, Error> },
    /// The session has ended by itself.
    Ended { serial: u64, why: String },
}

pub(crate) struct PluginSession;

pub(crate) struct PluginSessionArguments {
    /// The plugin.
    pub(crate) plugin: Arc<Plugin>,
    /// Where it is started.
    pub(crate) home: Home,
}

pub(crate) struct PluginSessionState {
    arguments: PluginSessionArguments,
    phase: Phase,
    /// How often the server failed in a row.
    failures: u32,
    serial: u64,
}

enum Phase {
    /// Nobody has needed it, or it has ended.
    Idle,
    /// It is being opened, and these wait for it.
    Opening {
        waiting: Vec<RpcReplyPort<Opened>>,
        task: tokio::task::AbortHandle,
    },
    Open {
        session: Arc<Session>,
        since: Instant,
    },
    /// It failed more than once, and rests.
    Resting {
        until: Instant,
        why: String,
    },
}

impl Actor for PluginSession {
    type Msg = PluginSessionMsg;
    type State = PluginSessionState;
    type Arguments = PluginSessionArguments;

    async fn pre_start(
        &self,
        _: ActorRef<PluginSessionMsg>,
        arguments: PluginSessionArguments,
    ) -> Result<PluginSessionState, ActorProcessingErr> {
        Ok(PluginSessionState { arguments, phase: Phase::Idle, failures: 0, serial: 0 })
    }

    async fn handle(
        &self,
        me: ActorRef<PluginSessionMsg>,
        message: PluginSessionMsg,
        state: &mut PluginSessionState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            PluginSessionMsg::Use { reply } => state.hand_out(me, reply),
            PluginSessionMsg::Opened { opened } => state.opened(me, opened),
            PluginSessionMsg::Ended { serial, why } => state.ended(serial, why),
        }
        Ok(())
    }
}

impl PluginSessionState {
    fn hand_out(&mut self, me: ActorRef<PluginSessionMsg>, reply: RpcReplyPort<Opened>) {
        if let Phase::Open { session, since } = &self.phase {
            let since = *since;
            match session.state() {
                SessionState::Open => {}
                // No failure: the server may be as well as ever. Those who use it still hold it.
                SessionState::Retired => self.phase = Phase::Idle,
                // The word that it ended is still on its way.
                SessionState::Ended => self.failed(since, "its session has ended".to_owned()),
            }
        }
        match &mut self.phase {
            Phase::Open { session, .. } => {
                let _ = reply.send(Ok(session.clone()));
            }
            Phase::Opening { waiting, .. } => waiting.push(reply),
            Phase::Resting { until, why } => match until.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => {
                    let _ = reply.send(Err(resting(self.arguments.plugin.id(), left, why)));
                }
                _ => self.open(me, reply),
            },
            Phase::Idle => self.open(me, reply),
        }
    }

    fn open(&mut self, me: ActorRef<PluginSessionMsg>, reply: RpcReplyPort<Opened>) {
        let PluginSessionArguments { plugin, home } = &self.arguments;
        let opening = Session::open(plugin.clone(), home.clone());
        let task = tokio::spawn(async move {
            // An actor that is gone drops the session, which closes it.
            let _ = me.cast(PluginSessionMsg::Opened { opened: opening.await });
        });
        self.phase = Phase::Opening { waiting: vec![reply], task: task.abort_handle() };
    }

    fn opened(&mut self, me: ActorRef<PluginSessionMsg>, opened: Result<Session, Error>) {
        let Phase::Opening { waiting, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        match opened {
            Ok(session) => {
                let session = Arc::new(session);
                for reply in waiting {
                    let _ = reply.send(Ok(session.clone()));
                }
                self.serial += 1;
                watch(me, self.serial, &session);
                self.phase = Phase::Open { session, since: Instant::now() };
            }
            Err(error) => {
                let again = || Error::new(error.kind, error.message.clone());
                for reply in waiting {
                    let _ = reply.send(Err(again()));
                }
                self.failed(Instant::now(), error.message);
            }
        }
    }

    fn ended(&mut self, serial: u64, why: String) {
        if serial == self.serial
            && let Phase::Open { since, .. } = &self.phase
        {
            let since = *since;
            tracing::warn!(
                plugin = self.arguments.plugin.id(),
                "the session has ended: {}",
                why.escape_debug()
            );
            self.failed(since, why);
        }
    }

    /// The first failure costs nothing; each one after it doubles the rest.
    fn failed(&mut self, opened_at: Instant, why: String) {
        if opened_at.elapsed() >= PLUGIN_PAUSE_MAX {
            self.failures = 0;
        }
        self.failures += 1;
        self.phase = match rest(self.failures) {
            None => Phase::Idle,
            Some(rest) => Phase::Resting { until: Instant::now() + rest, why },
        };
    }
}

impl Drop for PluginSessionState {
    fn drop(&mut self) {
        match &self.phase {
            Phase::Opening { task, .. } => task.abort(),
            // A call that still holds it must not keep it open.
            Phase::Open { session, .. } => session.begin_close(),
            Phase::Idle | Phase::Resting { .. } => {}
        }
    }
}

/// Tells the actor when the session has ended.
fn watch(me: ActorRef<PluginSessionMsg>, serial: u64, session: &Arc<Session>) {
    let ended = session.ended();
    tokio::spawn(async move {
        let why = ended.await;
        let _ = me.cast(PluginSessionMsg::Ended { serial, why });
    });
}

fn rest(failures: u32) -> Option<std::time::Duration> {
    let doublings = failures.checked_sub(2)?;
    Some(PLUGIN_PAUSE_MIN.saturating_mul(1 << doublings.min(16)).min(PLUGIN_PAUSE_MAX))
}

fn resting(id: &str, left: std::time::Duration, why: &str) -> Error {
    let left = left.as_millis().max(1);
    let id = quoted(id);
    // What was already said about the plugin stands behind its name.
    let why = why.strip_prefix(&format!("plugin {id} is not available: ")).unwrap_or(why);
    let message =
        format!("plugin {id} keeps failing and is not tried before {left} ms from now; at last {why}");
    Error::new(Kind::PluginUnavailable, message)
}

#[cfg(test)]
mod tests;
