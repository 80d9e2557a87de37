//! Connections for the AWS crates, so that they bring no HTTP stack and no TLS of their own.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use reqwest::Method;
use url::Url;

use super::connector::impatient;

/// Asks services for credentials: the container's, the instance's, SSO, STS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwsClient;

impl HttpClient for AwsClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            connect: settings.connect_timeout(),
            read: settings.read_timeout(),
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Connector {
    connect: Option<Duration>,
    read: Option<Duration>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let connector = *self;
        HttpConnectorFuture::new(async move { connector.send(&request).await })
    }
}

impl Connector {
    async fn send(self, request: &HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let url = Url::parse(request.uri()).map_err(|error| ConnectorError::user(error.into()))?;
        let method: Method =
            request.method().parse().map_err(|_| ConnectorError::user("no such method".into()))?;
        // Credentials are asked for once in a long while: a client for each request keeps no connections about.
        let client =
            impatient(&url, self.connect, self.read).map_err(|error| ConnectorError::user(error.into()))?;
        let mut builder = client.request(method, url);
        for (name, value) in request.headers().iter() {
            builder = builder.header(name, value);
        }
        let body = request.body().bytes().unwrap_or_default().to_vec();
        let response = builder.body(body).send().await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(failed)?;
        let status = status.as_u16().try_into().map_err(|_| ConnectorError::user("no such status".into()))?;
        let mut answer = HttpResponse::new(status, SdkBody::from(body));
        for (name, value) in &headers {
            if let Ok(value) = value.to_str() {
                answer.headers_mut().append(name.as_str().to_owned(), value.to_owned());
            }
        }
        Ok(answer)
    }
}

fn failed(error: reqwest::Error) -> ConnectorError {
    // The URL may hold a token; the cause says enough.
    let error = error.without_url();
    if error.is_timeout() { ConnectorError::timeout(error.into()) } else { ConnectorError::io(error.into()) }
}
