//! How a session begins: `initialize`, and for a server that refuses it the revision that has none.
//!
//! Source: MCP 2025-11-25, Lifecycle; MCP 2026-07-28, Versioning and Compatibility.

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{DynamicTransportError, Transport};

use super::rpc::Trouble;
use crate::tools::quoted;

/// A session as the SDK runs it.
pub(super) type Service = RunningService<RoleClient, ClientConfig>;

/// What was settled.
#[derive(Debug, Clone)]
pub(super) struct Agreed {
    pub(super) version: ProtocolVersion,
    /// Whether the server announced tools at all.
    pub(super) has_tools: bool,
    /// Whether it tells when its tools change.
    pub(super) tells_of_changes: bool,
}

impl Agreed {
    /// Whether every request says who asks, and in which revision.
    pub(super) fn is_modern(&self) -> bool {
        !self.version.has_initialize()
    }
}

/// Begins a session. Only a server that refuses `initialize` is asked what else it speaks.
///
/// # Errors
/// The server speaks no revision that we do, or says nothing that can be understood.
pub(super) async fn shake_hands<T: Transport<RoleClient> + 'static>(
    connect: impl Fn() -> T,
) -> Result<(Service, Agreed), Trouble>
where
    T::Error: Sync,
{
    let first = serve_client_with_lifecycle(ourselves(), connect(), ClientLifecycleMode::Initialize).await;
    let service = match first {
        Ok(service) => service,
        Err(ClientInitializeError::JsonRpcError(refused)) => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            let modern = ClientLifecycleMode::Discover { preferred_versions };
            let second = serve_client_with_lifecycle(ourselves(), connect(), modern).await;
            second.map_err(|error| {
                let (code, refused) = (refused.code.0, super::rpc::shown(&refused.message));
                let then = trouble(error);
                Trouble::broken(format!(
                    "it answered initialize with error {code}: {refused}; asked for the later revision, {then}"
                ))
            })?
        }
        Err(error) => return Err(trouble(error)),
    };
    let agreed = agreed(&service)?;
    Ok((service, agreed))
}

/// What we tell a server about us: that there is nothing to ask us for.
fn ourselves() -> ClientConfig {
    let client = Implementation::new("axlr", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), client)
        .with_protocol_version(ProtocolVersion::V_2025_11_25)
}

fn agreed(service: &Service) -> Result<Agreed, Trouble> {
    let Some(server) = service.peer_info() else {
        return Err(Trouble::Protocol("it did not say what it speaks".to_owned()));
    };
    let version = server.protocol_version.clone();
    if !ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect::<Vec<_>>();
        let (version, known) = (quoted(version.as_str()), known.join(", "));
        return Err(Trouble::Protocol(format!("it speaks the protocol version {version}, and axlr {known}")));
    }
    let tools = server.capabilities.tools.as_ref();
    let tells_of_changes = tools.and_then(|tools| tools.list_changed).unwrap_or(false);
    Ok(Agreed { version, has_tools: tools.is_some(), tells_of_changes })
}

fn trouble(error: ClientInitializeError) -> Trouble {
    match error {
        ClientInitializeError::TransportError { error, .. } => transport_trouble(&error),
        ClientInitializeError::JsonRpcError(error) => {
            Trouble::Refused { code: error.code.0.into(), message: super::rpc::shown(&error.message) }
        }
        // The connection's own reason is better, where there is one.
        ClientInitializeError::ConnectionClosed(_) => {
            Trouble::broken("its connection ended in the handshake")
        }
        ClientInitializeError::ExpectedInitResult(_) | ClientInitializeError::ExpectedInitResponse(_) => {
            Trouble::Protocol("its answer to the handshake is not understood".to_owned())
        }
        other => Trouble::broken(super::rpc::shown(&other.to_string())),
    }
}

/// What a transport of ours reported through the SDK.
pub(super) fn transport_trouble(error: &DynamicTransportError) -> Trouble {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.error.as_ref());
    while let Some(error) = cause {
        if let Some(trouble) = error.downcast_ref::<Trouble>() {
            return trouble.clone();
        }
        // The SDK's own error does not name ours as its cause.
        if let Some(StreamableHttpError::Client(trouble)) =
            error.downcast_ref::<StreamableHttpError<Trouble>>()
        {
            return trouble.clone();
        }
        cause = error.source();
    }
    Trouble::broken(super::rpc::shown(&error.error.to_string()))
}
