//! The two ways to a server, behind one set of verbs.

use std::sync::Arc;

use reqwest::header::HeaderMap;
use serde::Serialize;

use super::exchange::{Exchange, Progress};
use super::home::Home;
use super::http::Http;
use super::manifest::Server;
use super::rpc::{Reply, Trouble};
use super::setup::Plugin;
use super::stdio::Stdio;

/// Which revision of MCP a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// Up to 2025-11-25: a session begins with a handshake, and its requests say no more than they have to.
    Legacy,
    /// 2026-07-28: every request says who asks, and in which revision.
    Modern,
}

/// The revision of [`Era::Modern`].
pub(super) const MODERN_VERSION: &str = "2026-07-28";

/// A request before it has an id.
pub(super) struct Ask<'a, P> {
    pub(super) method: &'static str,
    pub(super) params: &'a P,
    pub(super) era: Era,
    /// Where its progress goes; nobody is asked for progress otherwise.
    pub(super) progress: Option<Progress>,
    /// Headers beside the plugin's own, over HTTP.
    pub(super) headers: HeaderMap,
}

impl<'a, P: Serialize> Ask<'a, P> {
    pub(super) fn new(method: &'static str, params: &'a P, era: Era) -> Self {
        Self { method, params, era, progress: None, headers: HeaderMap::new() }
    }

    /// The params as they are sent under an id, which is the token of its progress too.
    pub(super) fn params(&self, id: u64) -> impl Serialize + '_ {
        let token = self.progress.as_ref().map(|_| id);
        let is_modern = self.era == Era::Modern;
        let meta = Meta {
            token,
            version: is_modern.then_some(MODERN_VERSION),
            client: is_modern.then(Client::default),
            capabilities: is_modern.then_some(Nothing {}),
        };
        Params { params: self.params, meta: (is_modern || token.is_some()).then_some(meta) }
    }

    /// Whether the server is to hear when the request is given up: the handshake is not to be cancelled.
    pub(super) fn is_cancellable(&self) -> bool {
        !self.is_handshake()
    }

    /// Whether the request opens a session.
    pub(super) fn is_handshake(&self) -> bool {
        matches!(self.method, "initialize" | "server/discover")
    }
}

#[derive(Serialize)]
struct Params<'a, P> {
    #[serde(flatten)]
    params: &'a P,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

#[derive(Serialize)]
struct Meta {
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    token: Option<u64>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo", skip_serializing_if = "Option::is_none")]
    client: Option<Client>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", skip_serializing_if = "Option::is_none")]
    capabilities: Option<Nothing>,
}

/// Who we are.
#[derive(Serialize)]
pub(super) struct Client {
    name: &'static str,
    version: &'static str,
}

impl Default for Client {
    fn default() -> Self {
        Self { name: "axlr", version: env!("CARGO_PKG_VERSION") }
    }
}

/// An empty object: what we offer to servers.
#[derive(Serialize)]
pub(super) struct Nothing {}

/// A connection to a server. Dropped, it is closed.
pub(super) enum Transport {
    Stdio(Stdio),
    Http(Http),
}

impl Transport {
    /// Starts the program, or makes ready to speak to the address.
    ///
    /// # Errors
    /// The program could not be started, or there is no TLS here.
    pub(super) async fn open(plugin: &Plugin, home: &Home, exchange: Arc<Exchange>) -> Result<Self, Trouble> {
        match &plugin.manifest.server {
            Server::Stdio { command, args } => {
                Stdio::start(plugin, command, args, home, exchange).await.map(Self::Stdio)
            }
            Server::Http { url } => Http::open(plugin, url, home, exchange).map(Self::Http),
        }
    }

    /// Sends a request once and waits for its answer. Given up, the server is told in its revision's way.
    pub(super) async fn request<P: Serialize + Sync>(&self, ask: Ask<'_, P>) -> Reply {
        match self {
            Self::Stdio(stdio) => stdio.request(ask).await,
            Self::Http(http) => http.request(ask).await,
        }
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, text: String) {
        match self {
            Self::Stdio(stdio) => stdio.notify(&text),
            Self::Http(http) => http.notify(text).await,
        }
    }

    /// The handshake is over: what follows names this revision.
    pub(super) fn agreed(&self, version: &str, era: Era) {
        if let Self::Http(http) = self {
            http.agreed(version, era);
        }
    }

    pub(super) fn is_http(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Begins to close.
    pub(super) fn begin_close(&self) {
        match self {
            Self::Stdio(stdio) => stdio.begin_close(),
            Self::Http(http) => http.begin_close(),
        }
    }
}
