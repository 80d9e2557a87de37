//! The side of the client that the SDK's transport calls.

use std::sync::Arc;

use axlr_protocol::limits;
use reqwest::Method;
use reqwest::header::HeaderName;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::Transport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpPostResponse,
};

use super::{EventStream, Fault, Headers, Hearing, Http, media_type};
use crate::capacity::{
    PLUGIN_GOODBYE_MAX, PLUGIN_REOPEN_PAUSE_MAX, PLUGIN_REOPEN_PAUSE_MIN, PLUGIN_REOPENS_MAX,
};
use crate::plugins::rpc::Trouble;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

impl Http {
    /// The SDK's transport over this client. A session that has ended is not begun anew there: it would send again what
    /// was under way.
    pub(in crate::plugins) fn transport(&self) -> impl Transport<RoleClient> + use<> {
        let mut retries = ExponentialBackoff::default();
        retries.max_times = Some(PLUGIN_REOPENS_MAX);
        retries.base_duration = PLUGIN_REOPEN_PAUSE_MIN;
        retries.max_delay = Some(PLUGIN_REOPEN_PAUSE_MAX);
        let address = self.url().as_str().to_owned();
        let mut config = StreamableHttpClientTransportConfig::with_uri(address)
            .max_concurrent_requests(limits::RUNNING_MAX)
            .control_request_timeout(PLUGIN_GOODBYE_MAX)
            .max_sse_event_size(limits::PLUGIN_MESSAGE_MAX_BYTES)
            .reinit_on_expired_session(false);
        config.retry_config = Arc::new(retries);
        StreamableHttpClientTransport::with_client(self.clone(), config)
    }
}

impl StreamableHttpClient for Http {
    type Error = Trouble;

    async fn post_message(
        &self,
        _: Arc<str>,
        mut message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let outgoing = self.0.tap.outgoing(&mut message);
        if !self.0.tap.leaves(&outgoing) {
            return Err(Fault::Client(Trouble::Closed));
        }
        let (request, is_handshake) = match &message {
            ClientJsonRpcMessage::Request(request) => {
                let opens = matches!(
                    request.request,
                    ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                (Some(request.id.clone()), opens)
            }
            _ => (None, false),
        };
        if request.is_some() {
            *self.last() = (session.clone(), headers.clone());
        }
        let text = serde_json::to_string(&message)?;
        let response =
            self.post(text, is_handshake, session.as_deref(), headers).await.map_err(Fault::Client)?;
        self.received(response, request, session.is_some()).await
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), Fault> {
        let url = self.url().clone();
        let request = self.request(Method::DELETE, url, Some(&session), headers).send();
        // A goodbye that is not heard harms nobody.
        let _ = tokio::time::timeout(PLUGIN_GOODBYE_MAX, request).await;
        Ok(())
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<EventStream, Fault> {
        let url = self.url().clone();
        let mut request = self.request(Method::GET, url, session.as_deref(), headers);
        if let Some(last_event) = &last_event {
            request = request.header(LAST_EVENT, last_event);
        }
        let response = request.send().await.map_err(|error| {
            // What the SDK takes for good: a server that is gone does not come back with our answers.
            tracing::debug!(plugin = self.0.tap.log.id(), "no stream: {}", self.broke(error));
            Fault::ServerDoesNotSupportSse
        })?;
        let is_stream = media_type(&response) == "text/event-stream";
        match response.status() {
            status if status.is_success() && is_stream => {
                // The stream of what no request asked for. One that is taken up again cannot be told from an answer.
                let hearing = last_event.is_none().then(|| Hearing::begin(self.0.tap.clone()));
                Ok(self.tapped(response, hearing))
            }
            status if status.is_server_error() => {
                Err(Fault::Client(Trouble::broken(format!("it answered with HTTP status {status}"))))
            }
            _ => Err(Fault::ServerDoesNotSupportSse),
        }
    }
}
