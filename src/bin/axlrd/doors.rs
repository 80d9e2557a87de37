//! The doors on TCP, as the flags ask for them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use axlr::listen::http::{Admission, BridgeSettings, HttpListener, Reach, serve_bridge};
use axlr::runtime::Runtime;

use crate::flags::HttpOptions;
use crate::tell;

/// Every HTTP door that was asked for; none is usual.
pub(crate) struct HttpDoors {
    bridge: Option<Bridge>,
}

struct Bridge {
    listener: HttpListener,
    admission: Arc<Admission>,
    token_file: PathBuf,
    reach: Reach,
    settings: BridgeSettings,
}

impl HttpDoors {
    /// Listens; nothing is served yet.
    pub(crate) async fn open(
        options: HttpOptions,
        environment: BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        let Some(address) = options.bridge else { return Ok(Self { bridge: None }) };
        let listener = HttpListener::bind(address, options.reach).await.context("--http")?;
        let (admission, token_file) = options.admission()?;
        let settings = BridgeSettings { environment, has_console: options.has_console };
        Ok(Self { bridge: Some(Bridge { listener, admission, token_file, reach: options.reach, settings }) })
    }

    /// Says where they are, and what that exposes.
    pub(crate) fn announce(&self) {
        let Some(Bridge { listener, token_file, reach, settings, .. }) = &self.bridge else { return };
        let address = listener.address();
        tell(&format!("serving HTTP on http://{address}, with the token in {}", token_file.display()));
        if settings.has_console {
            tell(&format!("the console is http://{address}/"));
        }
        if *reach == Reach::Remote && !address.ip().to_canonical().is_loopback() {
            tracing::warn!(
                %address,
                "other machines can reach the HTTP bridge: whoever has the token runs any command as this user, and \
                 requests and token cross the network unencrypted; use a tunnel or a proxy with TLS, and name the host \
                 with --http-host"
            );
        }
    }

    /// Serves until the runtime is asked to stop.
    pub(crate) async fn serve(self, runtime: &Runtime) {
        if let Some(Bridge { listener, admission, settings, .. }) = self.bridge {
            serve_bridge(listener, runtime, admission, settings).await;
        }
    }
}
