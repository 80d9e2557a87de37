//! How a session begins: `initialize`, and for a server that refuses it the revision that has none.
//!
//! Source: MCP 2025-11-25, Lifecycle; MCP 2026-07-28, Versioning and Compatibility.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::rpc::{self, Trouble};
use super::transport::{Ask, Client, Era, MODERN_VERSION, Transport};
use crate::tools::quoted;

/// Revisions that begin with `initialize`, the one that is asked for first.
const LEGACY_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// What was settled.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) era: Era,
    pub(super) version: String,
    /// Whether the server announced tools at all.
    pub(super) has_tools: bool,
    /// Whether it tells when its tools change.
    pub(super) tells_of_changes: bool,
}

#[derive(Deserialize)]
struct Initialized {
    #[serde(rename = "protocolVersion")]
    version: String,
    #[serde(default)]
    capabilities: Capabilities,
}

#[derive(Deserialize)]
struct Discovered {
    #[serde(rename = "supportedVersions")]
    versions: Vec<String>,
    #[serde(default)]
    capabilities: Capabilities,
}

#[derive(Default, Deserialize)]
struct Capabilities {
    tools: Option<ToolsCapability>,
}

#[derive(Default, Deserialize)]
struct ToolsCapability {
    #[serde(rename = "listChanged")]
    list_changed: Option<bool>,
}

/// Begins a session. Only a server that refuses `initialize` is asked what else it speaks.
///
/// # Errors
/// The server speaks no revision that we do, or says nothing that can be understood.
pub(super) async fn shake_hands(transport: &Transport) -> Result<Agreed, Trouble> {
    let params = json!({
        "protocolVersion": LEGACY_VERSIONS[0],
        "capabilities": {},
        "clientInfo": Client::default(),
    });
    let agreed = match transport.request(Ask::new("initialize", &params, Era::Legacy)).await {
        Ok(result) => initialized(&result)?,
        Err(refused @ Trouble::Refused { .. }) => {
            let agreed = discover(transport).await.map_err(|trouble| both(&refused, trouble))?;
            transport.agreed(&agreed.version, agreed.era);
            return Ok(agreed);
        }
        Err(trouble) => return Err(trouble),
    };
    transport.agreed(&agreed.version, agreed.era);
    transport.notify(rpc::notification("notifications/initialized", &json!({}))).await;
    Ok(agreed)
}

async fn discover(transport: &Transport) -> Result<Agreed, Trouble> {
    let result = transport.request(Ask::new("server/discover", &json!({}), Era::Modern)).await?;
    let Discovered { versions, capabilities } = read(&result, "server/discover")?;
    if !versions.iter().any(|version| version == MODERN_VERSION) {
        return Err(unknown(&versions.join(", ")));
    }
    Ok(agreed(Era::Modern, MODERN_VERSION.to_owned(), capabilities))
}

fn initialized(result: &RawValue) -> Result<Agreed, Trouble> {
    let Initialized { version, capabilities } = read(result, "initialize")?;
    if LEGACY_VERSIONS.contains(&version.as_str()) {
        return Ok(agreed(Era::Legacy, version, capabilities));
    }
    // It shook hands all the same; what it asks of its requests is what that revision asks.
    if version == MODERN_VERSION {
        return Ok(agreed(Era::Modern, version, capabilities));
    }
    Err(unknown(&version))
}

fn agreed(era: Era, version: String, capabilities: Capabilities) -> Agreed {
    let tells_of_changes = capabilities.tools.as_ref().and_then(|tools| tools.list_changed).unwrap_or(false);
    Agreed { era, version, has_tools: capabilities.tools.is_some(), tells_of_changes }
}

fn read<'r, T: Deserialize<'r>>(result: &'r RawValue, method: &str) -> Result<T, Trouble> {
    rpc::object(result)
        .map_err(|error| Trouble::Protocol(format!("its answer to {method} is not understood: {error}")))
}

fn unknown(versions: &str) -> Trouble {
    let known = LEGACY_VERSIONS.join(", ");
    let versions = quoted(versions);
    Trouble::Protocol(format!(
        "it speaks the protocol version {versions}, and axlr {MODERN_VERSION}, {known}"
    ))
}

/// A server that refuses the one and fails at the other is told by both.
fn both(refused: &Trouble, then: Trouble) -> Trouble {
    Trouble::broken(format!("{refused}; asked for the later revision, {then}"))
}

#[cfg(test)]
mod tests;
