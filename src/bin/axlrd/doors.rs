//! The doors on TCP, as the flags ask for them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use axlr::listen::http::{Admission, BridgeSettings, HttpListener, Reach, serve_bridge};
use axlr::listen::mcp::{Root, Settings, serve_http};
use axlr::runtime::Runtime;

use crate::flags::{HttpOptions, McpOptions};
use crate::tell;

/// Every HTTP door that was asked for; none is usual.
pub(crate) struct HttpDoors {
    reach: Reach,
    token_file: Option<PathBuf>,
    bridge: Option<Bridge>,
    mcp: Option<Mcp>,
}

struct Bridge {
    listener: HttpListener,
    admission: Arc<Admission>,
    settings: BridgeSettings,
}

struct Mcp {
    listener: HttpListener,
    admission: Arc<Admission>,
    options: McpOptions,
}

impl HttpDoors {
    /// Listens; nothing is served yet.
    pub(crate) async fn open(
        options: HttpOptions,
        environment: BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        let reach = options.reach;
        let listen = async |address: Option<SocketAddr>, flag| match address {
            Some(address) => HttpListener::bind(address, reach).await.context(flag).map(Some),
            None => Ok(None),
        };
        let bridge = listen(options.bridge, "--http").await?;
        let mcp = listen(options.mcp.map(|mcp| mcp.address), "--mcp-http").await?;
        let needs_token = bridge.is_some() || options.mcp.is_some_and(|mcp| mcp.needs_token);
        let (admission, token_file) = if needs_token {
            let (admission, token_file) = options.admission()?;
            (admission, Some(token_file))
        } else {
            (options.open_admission()?, None)
        };
        let settings = BridgeSettings { environment, has_console: options.has_console };
        let bridge = bridge.map(|listener| Bridge { listener, admission: admission.clone(), settings });
        let mcp = match mcp.zip(options.mcp) {
            Some((listener, mcp)) => {
                let admission = if mcp.needs_token { admission } else { options.open_admission()? };
                Some(Mcp { listener, admission, options: mcp })
            }
            None => None,
        };
        Ok(Self { reach, token_file, bridge, mcp })
    }

    /// Says where they are, and what that exposes.
    pub(crate) fn announce(&self) {
        let token = match &self.token_file {
            Some(path) => format!("with the token in {}", path.display()),
            None => "without a token".to_owned(),
        };
        if let Some(Bridge { listener, settings, .. }) = &self.bridge {
            let address = listener.address();
            tell(&format!("serving HTTP on http://{address}, {token}"));
            if settings.has_console {
                tell(&format!("the console is http://{address}/"));
            }
            self.warn(listener, "the HTTP bridge");
        }
        if let Some(Mcp { listener, options, .. }) = &self.mcp {
            let token = if options.needs_token { &token } else { "without a token" };
            tell(&format!("serving MCP on http://{}/mcp, {token}", listener.address()));
            self.warn(listener, "the MCP server");
        }
    }

    fn warn(&self, listener: &HttpListener, what: &str) {
        let address = listener.address();
        if self.reach == Reach::Remote && !address.ip().to_canonical().is_loopback() {
            tracing::warn!(
                %address,
                "other machines can reach {what}: whoever has the token runs any command as this user, and \
                 requests and token cross the network unencrypted; use a tunnel or a proxy with TLS, and name the host \
                 with --http-host"
            );
        }
    }

    /// Serves until the runtime is asked to stop.
    pub(crate) async fn serve(self, runtime: &Runtime) {
        let bridge = async {
            if let Some(Bridge { listener, admission, settings }) = self.bridge {
                serve_bridge(listener, runtime, admission, settings).await;
            }
        };
        let mcp = async {
            if let Some(Mcp { listener, admission, options }) = self.mcp {
                serve_http(listener, runtime, admission, settings(runtime, options)).await;
            }
        };
        tokio::join!(bridge, mcp);
    }

    /// # Errors
    /// MCP tools work in the daemon's roots, and there is none.
    pub(crate) fn check(&self, runtime: &Runtime) -> anyhow::Result<()> {
        if self.mcp.is_some() && runtime.roots().next().is_none() {
            bail!("--mcp-http serves the roots of the daemon: give at least one --root DIR");
        }
        Ok(())
    }
}

fn settings(runtime: &Runtime, options: McpOptions) -> Arc<Settings> {
    let root =
        |(workspace, path): (&str, &str)| Root { path: path.into(), workspace: Some(workspace.to_owned()) };
    let McpOptions { read_only, with_plugins, .. } = options;
    Arc::new(Settings {
        roots: runtime.roots().map(root).collect(),
        read_only,
        with_plugins,
        open: Default::default(),
    })
}
