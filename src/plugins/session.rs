//! One MCP session: opened, asked, closed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axlr_protocol::tool::{PluginTool, PluginsCallOutput};
use axlr_protocol::{EventBody, limits};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetExtensions as _, ListToolsRequest,
    PaginatedRequestParams, ServerResult, SubscriptionFilter,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::value::RawValue;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;

use super::arguments::PluginCall;
use super::fault::{Fault, not_advertised, within};
use super::handshake::{Agreed, Service, shake_hands, transport_trouble};
use super::home::{Counted, Home};
use super::http::Http;
use super::log::Log;
use super::manifest::Server;
use super::outcome;
use super::rpc::{self, Trouble};
use super::setup::{Plugin, Veil};
use super::stdio::Pipe;
use super::tap::{Progress, Tap, Wanted};
use super::tools::{Listed, Listing};
use crate::cancel::Cancel;
use crate::capacity::{
    PLUGIN_GOODBYE_MAX, PLUGIN_PROGRESS_WAITING, PLUGIN_REOPEN_PAUSE_MAX, PLUGIN_REOPEN_PAUSE_MIN,
};
use crate::tools::{Error, Events};

/// An open session with a plugin's server. Any number of requests may be in flight on it. Dropped, it is closed.
pub(crate) struct Session {
    plugin: Arc<Plugin>,
    link: Arc<Link>,
    agreed: Agreed,
    /// Whether changes to the tools come on a stream of its own, and may be missed while that is not open.
    has_own_stream: bool,
    /// The tools as they were last listed. Held while they are, so that nobody lists them beside.
    listed: Mutex<Option<Listed>>,
}

/// The connection, for as long as somebody has something to say on it.
struct Link {
    peer: Peer<RoleClient>,
    tap: Arc<Tap>,
    closing: Closing,
}

/// Begins the end of a session when it is dropped.
struct Closing(Cancel);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.cancel();
    }
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
        let tap = Tap::new(Arc::new(Log::new(plugin.id())), Veil::new(&plugin));
        let closing = Closing(Cancel::new());
        let start = async {
            tokio::select! {
                biased;
                started = start(&plugin, &home, &tap, &closing) => started,
                // A program that has ended says better why than the connection that ends with it.
                trouble = tap.until_ended() => Err(trouble),
            }
        };
        let most = Duration::from_millis(limits::PLUGIN_START_MAX_MS);
        let (service, agreed) = match tokio::time::timeout(most, start).await {
            Ok(Ok(started)) => started,
            Ok(Err(trouble)) => return Err(unavailable(tap.ended().unwrap_or(trouble))),
            Err(_) => {
                let seconds = most.as_secs();
                let words = format!("its launch and handshake were not done within {seconds} seconds");
                let words = match tap.log.tail().as_str() {
                    "" => words,
                    tail => format!("{words}; the last of its stderr:\n{tail}"),
                };
                return Err(unavailable(Trouble::broken(words)));
            }
        };
        tracing::debug!(plugin = plugin.id(), version = agreed.version.as_str(), "a session was opened");
        let peer = service.peer().clone();
        tokio::spawn(keep(service, tap.clone(), closing.0.clone(), home.running.enter()));
        let has_own_stream = agreed.tells_of_changes
            && (agreed.is_modern() || matches!(plugin.manifest.server, Server::Http { .. }));
        if has_own_stream && agreed.is_modern() {
            tokio::spawn(subscribe(peer.clone(), tap.clone()));
        }
        let link = Arc::new(Link { peer, tap, closing });
        Ok(Self { plugin, link, agreed, has_own_stream, listed: Mutex::default() })
    }

    /// Whether the session may be used for more.
    pub(crate) fn state(&self) -> SessionState {
        if self.link.tap.ended().is_some() {
            SessionState::Ended
        } else if self.link.tap.is_retired() {
            SessionState::Retired
        } else {
            SessionState::Open
        }
    }

    /// Waits until the session has ended, and says why. Holds nothing of it open.
    pub(crate) fn ended(&self) -> impl Future<Output = String> + Send + use<> {
        let tap = self.link.tap.clone();
        async move { tap.until_ended().await.to_string() }
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
        call: PluginCall,
        deadline: Instant,
        cancel: &Cancel,
        events: Option<Events>,
    ) -> Result<PluginsCallOutput, Error> {
        let (progress, mut told) = events.as_ref().map(|_| mpsc::channel(PLUGIN_PROGRESS_WAITING)).unzip();
        let timeout = call.timeout;
        let answer = async {
            let answer = self.ask(call, progress);
            tokio::pin!(answer);
            loop {
                tokio::select! {
                    biased;
                    answer = &mut answer => return answer,
                    () = pass_on(&mut told, events.as_ref()), if told.is_some() => told = None,
                }
            }
        };
        let output = within(timeout, deadline, cancel, answer).await?;
        // The answer is there: only a cancellation keeps back what was told before it.
        tokio::select! {
            () = pass_on(&mut told, events.as_ref()) => {}
            () = cancel.cancelled() => {}
        }
        Ok(output)
    }

    /// Begins to close.
    pub(crate) fn begin_close(&self) {
        self.link.closing.0.cancel();
    }

    async fn ask(&self, call: PluginCall, progress: Option<Progress>) -> Result<PluginsCallOutput, Error> {
        let PluginCall { tool_name, arguments, .. } = call;
        let failed = |trouble: Trouble| Fault::Failed.about(self.plugin.id(), &trouble);
        let listed = self.tools().await.map_err(failed)?;
        if !listed.has(&tool_name) {
            return Err(not_advertised(self.plugin.id(), &tool_name));
        }
        let params = CallToolRequestParams::new(tool_name).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (result, _) = self.link.request(request, progress).await.map_err(|trouble| match trouble {
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
        let tap = &self.link.tap;
        let changes = tap.changes();
        let is_heard = !self.has_own_stream || tap.hears_changes();
        if let Some(listed) = &*known
            && (listed.began_after(asked) || (is_heard && listed.is_fresh(changes)))
        {
            return Ok(listed.clone());
        }
        let mut listing = Listing::begin(changes);
        let mut cursor = None;
        loop {
            let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request = ListToolsRequest { params, ..ListToolsRequest::default() };
            let page = self.link.request(ClientRequest::ListToolsRequest(request), None).await;
            let (page, typed) = match page {
                // A server that announced no tools need not know the question.
                Err(Trouble::Refused { code: rpc::METHOD_NOT_FOUND, .. }) if !self.agreed.has_tools => break,
                page => page?,
            };
            let fit = match typed {
                ServerResult::ListToolsResult(list) => Some(list),
                _ => None,
            };
            let fit = fit.map(|list| list.tools.into_iter().map(|tool| tool.name.into_owned()).collect());
            cursor = listing.page(&page, fit.as_ref(), &tap.log)?;
            if cursor.is_none() {
                break;
            }
        }
        let listed = listing.end();
        *known = Some(listed.clone());
        Ok(listed)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Session").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Link {
    /// Sends a request and waits for its result, as the server wrote it and as the SDK read it.
    async fn request(
        self: &Arc<Self>,
        mut request: ClientRequest,
        progress: Option<Progress>,
    ) -> Result<(Box<RawValue>, ServerResult), Trouble> {
        if let Some(trouble) = self.tap.ended() {
            return Err(trouble);
        }
        let (wanted, mut written) = Wanted::new(progress);
        request.extensions_mut().insert(wanted);
        let sent = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| self.trouble(error))?;
        let mut courtesy = Courtesy { link: self, handle: Some(handle) };
        let typed = courtesy.answered().await;
        match (written.try_recv(), typed) {
            (Ok(result), Ok(typed)) => Ok((result?, typed)),
            // A server that answers and ends at once has answered, whether or not the SDK had its turn in between.
            (Ok(result), Err(_)) => Ok((result?, ServerResult::empty(()))),
            (Err(_), Err(trouble)) => Err(trouble),
            (Err(_), Ok(_)) => Err(Trouble::Protocol("its answer was lost".to_owned())),
        }
    }

    fn trouble(&self, error: ServiceError) -> Trouble {
        match error {
            ServiceError::McpError(error) => {
                Trouble::Refused { code: error.code.0.into(), message: rpc::shown(&error.message) }
            }
            ServiceError::TransportSend(error) => transport_trouble(&error),
            // A stream that ended before its answer is told in the same way as a connection that did.
            ServiceError::TransportClosed => self.tap.ended().unwrap_or_else(|| {
                self.tap.retire();
                Trouble::broken("it ended the stream before its answer; the request was not sent again")
            }),
            other => Trouble::broken(rpc::shown(&other.to_string())),
        }
    }
}

/// Tells the server when a request is given up. Until it is told the connection is kept.
struct Courtesy<'l> {
    link: &'l Arc<Link>,
    handle: Option<RequestHandle<RoleClient>>,
}

impl Courtesy<'_> {
    async fn answered(&mut self) -> Result<ServerResult, Trouble> {
        let Some(handle) = &mut self.handle else { return Err(Trouble::Closed) };
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            trouble = self.link.tap.until_ended() => Err(match trouble {
                Trouble::Closed => return Err(Trouble::Closed),
                _ => ServiceError::TransportClosed,
            }),
        };
        self.handle = None;
        answer.map_err(|error| self.link.trouble(error))
    }
}

impl Drop for Courtesy<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let link = self.link.clone();
            tokio::spawn(async move {
                let told = handle.cancel(Some("the caller gave it up".to_owned()));
                let _ = tokio::time::timeout(PLUGIN_GOODBYE_MAX, told).await;
                drop(link);
            });
        }
    }
}

/// Starts the program, or makes ready to speak to the address, and shakes hands.
async fn start(
    plugin: &Plugin,
    home: &Home,
    tap: &Arc<Tap>,
    closing: &Closing,
) -> Result<(Service, Agreed), Trouble> {
    match &plugin.manifest.server {
        Server::Stdio { command, args } => {
            let pipe = Pipe::start(plugin, command, args, home, tap.clone(), closing.0.clone()).await?;
            shake_hands(|| pipe.clone()).await
        }
        Server::Http { url } => {
            let http = Http::new(plugin, url, tap.clone())?;
            shake_hands(|| http.transport()).await
        }
    }
}

/// Runs the SDK's part of a session until it is closed or has ended.
async fn keep(service: Service, tap: Arc<Tap>, closing: Cancel, counted: Counted) {
    let stop = service.cancellation_token();
    let running = service.waiting();
    tokio::pin!(running);
    tokio::select! {
        _ = &mut running => return tap.end(Trouble::broken("its connection ended")),
        _ = tap.until_ended() => {}
        () = closing.cancelled() => tap.end(Trouble::Closed),
    }
    stop.cancel();
    let _ = tokio::time::timeout(PLUGIN_GOODBYE_MAX, running).await;
    drop(counted);
}

/// Keeps a subscription open until the session ends.
async fn subscribe(peer: Peer<RoleClient>, tap: Arc<Tap>) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut pause = PLUGIN_REOPEN_PAUSE_MIN;
    let listening = async {
        loop {
            match peer.listen(filter.clone()).await {
                Ok(mut subscription) => {
                    tap.hear_changes(subscription.acknowledged().tools_list_changed.unwrap_or(false));
                    while let Ok(Some(_)) = subscription.next().await {}
                    tap.hear_changes(false);
                }
                Err(ServiceError::McpError(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PLUGIN_REOPEN_PAUSE_MAX);
        }
    };
    tokio::select! {
        () = listening => {}
        _ = tap.until_ended() => {}
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
