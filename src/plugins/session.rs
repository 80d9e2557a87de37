//! One MCP session: opened, asked, closed.
//!
//! Source: MCP 2025-11-25, Lifecycle; MCP 2026-07-28, Versioning.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axlr_protocol::tool::{PluginTool, PluginsCallOutput};
use axlr_protocol::{EventBody, limits};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;

use super::arguments::PluginCall;
use super::exchange::{Exchange, Progress, SUBSCRIBE};
use super::fault::{Fault, not_advertised, within};
use super::handshake::{Agreed, shake_hands};
use super::home::Home;
use super::log::Log;
use super::outcome;
use super::rpc::{self, Trouble};
use super::setup::Plugin;
use super::tools::{Listed, Listing};
use super::transport::{Ask, Era, Transport};
use crate::cancel::Cancel;
use crate::capacity::{PLUGIN_PROGRESS_WAITING, PLUGIN_REOPEN_PAUSE_MAX, PLUGIN_REOPEN_PAUSE_MIN};
use crate::tools::{Error, Events};

/// An open session with a plugin's server. Any number of requests may be in flight on it. Dropped, it is closed.
pub(crate) struct Session {
    plugin: Arc<Plugin>,
    exchange: Arc<Exchange>,
    transport: Arc<Transport>,
    agreed: Agreed,
    /// Whether changes to the tools come on a stream of its own, and may be missed while that is not open.
    has_own_stream: bool,
    /// The tools as they were last listed. Held while they are, so that nobody lists them beside.
    listed: Mutex<Option<Listed>>,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionState {
    Open,
    /// The server has forgotten it, or cannot be reached: what is in flight may still be answered, but whoever comes
    /// needs another one.
    Retired,
    Ended,
}

impl Session {
    /// Starts the server and shakes hands. That takes no longer than [`limits::PLUGIN_START_MAX_MS`].
    ///
    /// # Errors
    /// `plugin_unavailable`, with what the server said or how it ended.
    pub(crate) async fn open(plugin: Arc<Plugin>, home: Home) -> Result<Self, Error> {
        let unavailable = |trouble| Fault::Unavailable.about(plugin.id(), &trouble);
        let exchange = Exchange::new(Arc::new(Log::new(plugin.id())));
        let start = async {
            let transport = Transport::open(&plugin, &home, exchange.clone()).await?;
            let agreed = shake_hands(&transport).await?;
            Ok((transport, agreed))
        };
        let most = Duration::from_millis(limits::PLUGIN_START_MAX_MS);
        let (transport, agreed) = match tokio::time::timeout(most, start).await {
            Ok(started) => started.map_err(unavailable)?,
            Err(_) => {
                let seconds = most.as_secs();
                let words = format!("its launch and handshake were not done within {seconds} seconds");
                return Err(unavailable(Trouble::broken(words)));
            }
        };
        tracing::debug!(plugin = plugin.id(), version = agreed.version, "a session was opened");
        let transport = Arc::new(transport);
        let has_own_stream = listen(&transport, &exchange, &agreed);
        Ok(Self { plugin, exchange, transport, agreed, has_own_stream, listed: Mutex::default() })
    }

    /// Whether the session may be used for more.
    pub(crate) fn state(&self) -> SessionState {
        if self.exchange.ended().is_some() {
            SessionState::Ended
        } else if self.exchange.is_retired() {
            SessionState::Retired
        } else {
            SessionState::Open
        }
    }

    /// Waits until the session has ended, and says why. Holds nothing of it open.
    pub(crate) fn ended(&self) -> impl Future<Output = String> + Send + use<> {
        let exchange = self.exchange.clone();
        async move { exchange.until_ended().await.to_string() }
    }

    /// The tools that the server advertises and the manifest allows.
    ///
    /// # Errors
    /// `plugin_unavailable`: the list is no list, or the session has ended.
    pub(crate) async fn list(&self) -> Result<Vec<PluginTool>, Error> {
        let listed =
            self.tools().await.map_err(|trouble| Fault::Unavailable.about(self.plugin.id(), &trouble))?;
        let allowed = listed.tools.iter().filter(|tool| self.plugin.manifest.allows(&tool.name));
        Ok(allowed.map(|tool| tool.shown(self.plugin.id())).collect())
    }

    /// Calls a tool, once. Given up before its answer, the server is told.
    ///
    /// # Errors
    /// `unknown_plugin_tool` when it is not advertised; `plugin_failed`; `timeout` at the deadline, and `cancelled`.
    pub(crate) async fn call(
        &self,
        call: &PluginCall,
        deadline: Instant,
        cancel: &Cancel,
        events: Option<Events>,
    ) -> Result<PluginsCallOutput, Error> {
        let (progress, mut told) = events.as_ref().map(|_| mpsc::channel(PLUGIN_PROGRESS_WAITING)).unzip();
        let answer = async {
            tokio::select! {
                biased;
                answer = self.ask(call, progress) => answer,
                never = pass_on_for_ever(&mut told, events.as_ref()) => match never {},
            }
        };
        let output = within(call.timeout, deadline, cancel, answer).await?;
        // The answer is there: only a cancellation keeps back what was told before it.
        tokio::select! {
            () = pass_on(&mut told, events.as_ref()) => {}
            () = cancel.cancelled() => {}
        }
        Ok(output)
    }

    /// Begins to close.
    pub(crate) fn begin_close(&self) {
        self.transport.begin_close();
    }

    async fn ask(&self, call: &PluginCall, progress: Option<Progress>) -> Result<PluginsCallOutput, Error> {
        #[derive(Serialize)]
        struct Params<'a> {
            name: &'a str,
            arguments: &'a Map<String, Value>,
        }
        let failed = |trouble: Trouble| Fault::Failed.about(self.plugin.id(), &trouble);
        let listed = self.tools().await.map_err(failed)?;
        let Some(position) = listed.position(&call.tool_name) else {
            return Err(not_advertised(self.plugin.id(), &call.tool_name));
        };
        let params = Params { name: &call.tool_name, arguments: &call.arguments };
        let mut ask = Ask::new("tools/call", &params, self.agreed.era);
        ask.progress = progress;
        if self.obeys_headers() {
            ask.headers = listed.tools[position].param_headers.headers(&call.tool_name, &call.arguments);
        }
        let result = self.transport.request(ask).await.map_err(|trouble| match trouble {
            // The server has spoken, so it knows what came of the call; or it never heard of it.
            Trouble::Refused { .. } | Trouble::Unsent(_) => failed(trouble),
            trouble => Fault::Interrupted.about(self.plugin.id(), &trouble),
        })?;
        outcome::output(&result).map_err(|trouble| Fault::Interrupted.about(self.plugin.id(), &trouble))
    }

    /// The tools, from what is known or from the server.
    async fn tools(&self) -> Result<Listed, Trouble> {
        let asked = Instant::now().into_std();
        let mut known = self.listed.lock().await;
        let changes = self.exchange.changes();
        let is_heard = !self.has_own_stream || self.exchange.hears_changes();
        if let Some(listed) = &*known
            && (listed.began_after(asked) || (is_heard && listed.is_fresh(changes)))
        {
            return Ok(listed.clone());
        }
        let mut listing = Listing::begin(changes, self.obeys_headers());
        let mut params = json!({});
        loop {
            let page = match self.transport.request(Ask::new("tools/list", &params, self.agreed.era)).await {
                // A server that announced no tools need not know the question.
                Err(Trouble::Refused { code: rpc::METHOD_NOT_FOUND, .. }) if !self.agreed.has_tools => break,
                page => page?,
            };
            match listing.page(&page, &self.exchange.log)? {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        let listed = listing.end();
        *known = Some(listed.clone());
        Ok(listed)
    }

    fn obeys_headers(&self) -> bool {
        self.agreed.era == Era::Modern && self.transport.is_http()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Session").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Whoever listens for changes holds the transport too.
        self.begin_close();
    }
}

/// Passes progress on until there is no more, or nobody wants it. May be given up: nothing is lost.
async fn pass_on(told: &mut Option<mpsc::Receiver<EventBody>>, events: Option<&Events>) {
    let (Some(told), Some(events)) = (told, events) else { return };
    while let Ok(place) = events.reserve().await
        && let Some(body) = told.recv().await
    {
        place.send(body);
    }
}

async fn pass_on_for_ever(
    told: &mut Option<mpsc::Receiver<EventBody>>,
    events: Option<&Events>,
) -> Infallible {
    pass_on(told, events).await;
    std::future::pending().await
}

/// Sees to it that changes to the tools are heard of, if the server tells of any. Whether that needs a stream of its own.
fn listen(transport: &Arc<Transport>, exchange: &Arc<Exchange>, agreed: &Agreed) -> bool {
    if !agreed.tells_of_changes {
        return false;
    }
    match (&**transport, agreed.era) {
        (Transport::Stdio(_), Era::Legacy) => return false,
        (Transport::Http(http), Era::Legacy) => http.listen(),
        (_, Era::Modern) => drop(tokio::spawn(subscribe(transport.clone(), exchange.clone()))),
    }
    true
}

/// Keeps a subscription open until the session ends.
async fn subscribe(transport: Arc<Transport>, exchange: Arc<Exchange>) {
    let params = json!({"notifications": {"toolsListChanged": true}});
    let mut pause = PLUGIN_REOPEN_PAUSE_MIN;
    loop {
        let ended = tokio::select! {
            ended = transport.request(Ask::new(SUBSCRIBE, &params, Era::Modern)) => ended,
            _ = exchange.until_ended() => return,
        };
        exchange.hear_changes(false);
        if let Err(Trouble::Refused { .. }) = ended {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = exchange.until_ended() => return,
        }
        pause = (pause * 2).min(PLUGIN_REOPEN_PAUSE_MAX);
    }
}
