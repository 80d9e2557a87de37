//! One server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, JsonObject, Tool,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Map, Value};
use url::Url;

use super::process::Process;
use super::sse::Sse;
use super::{Error, result};
use crate::config::{Environment, McpServer, Transport};
use crate::net::connector;
use crate::secret::{Secret, mask};
use crate::tools::Outcome;

/// What is said of a server that leaves at once.
const ENDED_EARLY: &str = "it ended the connection before it was ready";
/// How long the end of a session may take.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);

/// An open session.
pub(super) struct Session {
    pub(super) server: String,
    service: RunningService<RoleClient, ClientConfig>,
    /// What its words must not hold.
    secrets: Vec<Secret>,
    /// The server's program, when it is axe's own.
    process: Option<Process>,
}

impl Session {
    /// Connects, and lists the tools, all pages of them.
    pub(super) async fn open(
        server: &McpServer,
        environment: &Environment,
    ) -> Result<(Self, Vec<Tool>), Error> {
        let unset = |source| Error::Unset { server: server.name.clone(), source };
        let secrets = server.transport.resolve_secrets(environment).map_err(unset)?;
        let unusable = |reason| Error::Unusable { server: server.name.clone(), reason };
        let (service, process) = match &server.transport {
            Transport::Stdio { command, args, .. } => {
                let start =
                    |source| Error::Start { server: server.name.clone(), command: command.clone(), source };
                let (process, pipes) = Process::start(command, args, &secrets, environment).map_err(start)?;
                (identity().serve(pipes).await, Some(process))
            }
            Transport::Sse { url, .. } => {
                let (url, client) = http(url).map_err(unusable)?;
                let headers = headers(&server.name, &secrets)?;
                let transport = Sse::connect(client, &url, headers).await;
                (identity().serve(transport.map_err(|error| unusable(error.to_string()))?).await, None)
            }
            Transport::StreamableHttp { url, .. } => {
                let (url, client) = http(url).map_err(unusable)?;
                let headers = headers(&server.name, &secrets)?;
                let headers: HashMap<HeaderName, HeaderValue> =
                    headers.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
                let config =
                    StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
                let transport = StreamableHttpClientTransport::with_client(client, config);
                (identity().serve(transport).await, None)
            }
        };
        let is_hidden = |(name, secret): (String, Secret)| server.transport.hides(&name).then_some(secret);
        let secrets: Vec<Secret> = secrets.into_iter().filter_map(is_hidden).collect();
        let service = service.map_err(|error| unusable(mask(&initialize_failure(&error), &secrets)))?;
        let tools = service.peer().list_all_tools().await;
        let tools = tools.map_err(|error| unusable(mask(&failure(&error), &secrets)))?;
        Ok((Self { server: server.name.clone(), service, secrets, process }, tools))
    }

    /// Calls a tool. Everything that goes wrong is for the model.
    pub(super) async fn call(&self, tool: &str, arguments: &Map<String, Value>) -> Outcome {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(JsonObject::from_iter(arguments.clone()));
        let summary = format!("server {:?}", self.server);
        match self.service.peer().call_tool(params).await {
            Ok(answer) => result::outcome(&answer, summary),
            Err(error) => {
                let reason = mask(&failure(&error), &self.secrets);
                Outcome::error(format!("MCP tool {tool:?} failed: {reason}"), summary)
            }
        }
    }

    /// Ends the session, within a bounded time whatever the server does.
    pub(super) async fn close(mut self) {
        let _ = self.service.close_with_timeout(CLOSE_TIMEOUT).await;
        if let Some(process) = self.process.take() {
            process.end().await;
        }
    }
}

fn identity() -> ClientConfig {
    let implementation = Implementation::new("axe", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), implementation)
}

fn http(url: &str) -> Result<(Url, reqwest::Client), String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let client = connector::client(&url).map_err(|error| error.to_string())?;
    Ok((url, client))
}

fn headers(server: &str, secrets: &BTreeMap<String, Secret>) -> Result<HeaderMap, Error> {
    let header = |(name, value): (&String, &Secret)| {
        let unusable = || Error::Header { server: server.to_owned(), header: name.clone() };
        let header = HeaderName::try_from(name).map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unusable())?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    secrets.iter().map(header).collect()
}

/// The innermost reason. Outer ones name types and URLs, whose query may be a secret.
fn initialize_failure(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => ENDED_EARLY.to_owned(),
        ClientInitializeError::TransportError { error, .. } if is_broken_pipe(&*error.error) => {
            ENDED_EARLY.to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::TransportError { error, .. } => connector::root_cause(&*error.error),
        other => other.to_string(),
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn failure(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => connector::root_cause(&*error.error),
        ServiceError::TransportClosed => "the server ended the connection".to_owned(),
        other => other.to_string(),
    }
}

/// What the model is told of a tool: the server's own words and schema.
pub(super) fn schema(tool: &Tool) -> Value {
    Value::Object(Arc::unwrap_or_clone(tool.input_schema.clone()))
}
