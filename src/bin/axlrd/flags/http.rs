//! The flags of the HTTP doors.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use axlr::listen::http::{Admission, Reach, Token, default_token_path};
use clap::Args;

/// For pages, and for programs that speak only HTTP. See docs/http.md.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
pub(crate) struct HttpFlags {
    /// Serve the HTTP bridge at this address, 127.0.0.1:8787 say: whoever has the token runs commands as you.
    #[arg(long, value_name = "IP:PORT")]
    pub(super) http: Option<SocketAddr>,

    /// Serve the tools of the roots as an MCP server at this address, 127.0.0.1:8788 say, under /mcp (Streamable HTTP).
    #[arg(long, value_name = "IP:PORT")]
    pub(super) mcp_http: Option<SocketAddr>,

    /// Offer only those MCP tools that change nothing.
    #[arg(long)]
    pub(super) mcp_read_only: bool,

    /// Offer the tools of the roots' plugins as MCP tools too, each as PLUGIN__TOOL.
    #[arg(long)]
    pub(super) mcp_with_plugins: bool,

    /// Ask for no token at the MCP address, which must be loopback: any process of this machine then runs programs as
    /// you. For conformance tests, whose clients can't be given one.
    #[arg(long, hide = true)]
    pub(super) mcp_http_no_token: bool,

    /// An origin whose pages may ask, such as `https://app.example`; repeatable.
    #[arg(long, value_name = "ORIGIN")]
    pub(super) http_allow_origin: Vec<String>,

    /// A name by which requests may call this server, beside `localhost`, `127.0.0.1` and `[::1]`; repeatable.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(super) http_host: Vec<String>,

    /// The file of the token, made on the first start [default: $AXERONDIR/axbridge/token when AXERONDIR is set, else
    /// $XDG_STATE_HOME/axlr/http-token, else ~/.local/state/axlr/http-token].
    #[arg(long, value_name = "FILE")]
    pub(super) http_token_file: Option<PathBuf>,

    /// Allow an address that other machines can reach.
    #[arg(long)]
    pub(super) http_allow_remote: bool,

    /// Serve a page at / that runs commands and shows what the daemon does; it asks for the token.
    #[arg(long)]
    pub(super) http_console: bool,
}

/// The HTTP doors, decided.
#[derive(Debug)]
pub(crate) struct HttpOptions {
    /// Where the bridge is served, if it is.
    pub(crate) bridge: Option<SocketAddr>,
    /// Where the tools are served to MCP clients, if they are.
    pub(crate) mcp: Option<McpOptions>,
    pub(crate) reach: Reach,
    pub(crate) has_console: bool,
    origins: Vec<String>,
    hosts: Vec<String>,
    token_file: Option<PathBuf>,
}

/// The MCP door, decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct McpOptions {
    pub(crate) address: SocketAddr,
    pub(crate) read_only: bool,
    pub(crate) with_plugins: bool,
    pub(crate) needs_token: bool,
}

impl HttpFlags {
    pub(super) fn resolve(self) -> anyhow::Result<HttpOptions> {
        let mcp = self.mcp()?;
        let Self {
            http, http_allow_origin, http_host, http_token_file, http_allow_remote, http_console, ..
        } = self;
        if http.is_none() && http_console {
            bail!("--http-console needs --http IP:PORT");
        }
        let says_more = !http_allow_origin.is_empty()
            || !http_host.is_empty()
            || http_token_file.is_some()
            || http_allow_remote;
        if http.is_none() && mcp.is_none() && says_more {
            bail!("the --http-… flags need --http IP:PORT or --mcp-http IP:PORT");
        }
        Ok(HttpOptions {
            bridge: http,
            mcp,
            reach: if http_allow_remote { Reach::Remote } else { Reach::Loopback },
            has_console: http_console,
            origins: http_allow_origin,
            hosts: http_host,
            token_file: http_token_file,
        })
    }
}

impl HttpFlags {
    fn mcp(&self) -> anyhow::Result<Option<McpOptions>> {
        let Some(address) = self.mcp_http else {
            if self.mcp_read_only || self.mcp_with_plugins || self.mcp_http_no_token {
                bail!("the --mcp-… flags need --mcp-http IP:PORT");
            }
            return Ok(None);
        };
        if self.mcp_http_no_token && (self.http_allow_remote || !address.ip().to_canonical().is_loopback()) {
            bail!("--mcp-http-no-token is for a loopback address, without --http-allow-remote");
        }
        Ok(Some(McpOptions {
            address,
            read_only: self.mcp_read_only,
            with_plugins: self.mcp_with_plugins,
            needs_token: !self.mcp_http_no_token,
        }))
    }
}

impl HttpOptions {
    /// What a door asks of every request that needs no token.
    pub(crate) fn open_admission(&self) -> anyhow::Result<Arc<Admission>> {
        Ok(Arc::new(Admission::new(self.hosts.clone(), self.origins.clone())?))
    }

    /// What the doors ask of every request, with the token, and where that is.
    pub(crate) fn admission(&self) -> anyhow::Result<(Arc<Admission>, PathBuf)> {
        let path = self.token_file.clone().map_or_else(default_token_path, Ok)?;
        // Wrong flags are told before a file is made.
        let admission = Admission::new(self.hosts.clone(), self.origins.clone())?;
        Ok((Arc::new(admission.with_token(Token::load_or_create(&path)?)), path))
    }
}
