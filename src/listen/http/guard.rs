//! What every request must pass before an endpoint sees it, in this order: Host (403), path (404), method (405),
//! Origin (403), preflight (answered here), token (401), content type (415), announced length (413).
//!
//! The Host check is what stops DNS rebinding: a page of another site can have its own name point to 127.0.0.1, but
//! not make the browser send another Host. The Origin check stops pages that are not on the list, and the token
//! everybody else.

use axlr_protocol::limits;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap,
    HeaderName, HeaderValue, ORIGIN, VARY, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode};

use super::admission::{Admission, Names};
use super::answer::refusal;

/// For pages on a public site that call a local address.
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// One path of a door, and what a request to it must bring.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The whole path.
    pub path: &'static str,
    /// The methods beside OPTIONS.
    pub methods: &'static [Method],
    /// Whether it is for those with the token only.
    pub needs_token: bool,
    /// Whether the body of a POST must be called JSON.
    pub takes_json: bool,
    /// The request headers that a page may send.
    pub allow_headers: &'static str,
    /// The response headers that a page may read beside the simple ones.
    pub expose_headers: Option<&'static str>,
}

/// The checks of one door.
#[derive(Debug)]
pub struct Guard {
    admission: std::sync::Arc<Admission>,
    names: Names,
    endpoints: Vec<Endpoint>,
    has_own_pages: bool,
}

/// What a request that passed brings back to its answer.
#[derive(Debug)]
pub(super) struct Passed {
    /// The origin that may read the answer.
    origin: Option<HeaderValue>,
    expose_headers: Option<&'static str>,
}

impl Guard {
    /// The guard of a door at a port. A path that is no endpoint is not there.
    pub fn new(admission: std::sync::Arc<Admission>, port: u16, endpoints: Vec<Endpoint>) -> Self {
        let names = Names::new(port, &admission.hosts);
        Self { admission, names, endpoints, has_own_pages: false }
    }

    /// The same for a door with pages of its own, which may ask too, at the name by which they were called.
    pub fn with_own_pages(self) -> Self {
        Self { has_own_pages: true, ..self }
    }

    /// The answer to a request that does not pass, or what is to be done to the answer of one that does.
    pub(super) fn judge(&self, request: &Parts) -> Result<Passed, Box<Response<Body>>> {
        self.check_host(request)?;
        let origin = self.origin(&request.headers);
        let allowed = match origin {
            Origin::Allowed(origin) => Some(origin.clone()),
            Origin::None | Origin::Refused => None,
        };
        let passed = Passed { origin: allowed, expose_headers: None };
        let refuse = |status, error: &str| Box::new(passed.dress(refusal(status, error)));
        let path = request.uri.path();
        let Some(endpoint) = self.endpoints.iter().find(|endpoint| endpoint.path == path) else {
            return Err(refuse(StatusCode::NOT_FOUND, "there is nothing at this path"));
        };
        if request.method != Method::OPTIONS && !endpoint.methods.contains(&request.method) {
            let mut response = refuse(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method");
            response.headers_mut().insert(ALLOW, methods(endpoint, true));
            return Err(response);
        }
        if matches!(origin, Origin::Refused) {
            let error = "pages of this origin are not allowed; --http-allow-origin adds one";
            return Err(refuse(StatusCode::FORBIDDEN, error));
        }
        if request.method == Method::OPTIONS {
            return Err(Box::new(preflight(endpoint, passed)));
        }
        if endpoint.needs_token && !self.knows_token(&request.headers) {
            let error = "the header Authorization: Bearer TOKEN is missing, or the token is wrong";
            let mut response = refuse(StatusCode::UNAUTHORIZED, error);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Err(response);
        }
        if endpoint.takes_json && request.method == Method::POST && !is_json(&request.headers) {
            let error = "the header Content-Type must be application/json";
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
        if announced_length(&request.headers) > limits::HTTP_BODY_MAX_BYTES as u64 {
            let error = format!("the body is over the limit of {} bytes", limits::HTTP_BODY_MAX_BYTES);
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &error));
        }
        Ok(Passed { expose_headers: endpoint.expose_headers, ..passed })
    }

    /// One Host, and a name of ours; so must be the one of an absolute target, which is meant before the header's.
    /// RFC 9112 §3.2.
    fn check_host(&self, request: &Parts) -> Result<(), Box<Response<Body>>> {
        let host = single(&request.headers, HOST).and_then(|host| host.to_str().ok());
        let target = request.uri.authority().map(|authority| authority.as_str());
        if host.is_some_and(|host| self.names.contain(host))
            && target.is_none_or(|target| self.names.contain(target))
        {
            return Ok(());
        }
        let error = "the Host header must be one name of this server, which are localhost, 127.0.0.1 and [::1] at its port; --http-host adds one";
        Err(Box::new(refusal(StatusCode::FORBIDDEN, error)))
    }

    fn origin<'a>(&self, headers: &'a HeaderMap) -> Origin<'a> {
        if !headers.contains_key(ORIGIN) {
            return Origin::None;
        }
        let is_listed = |origin: &HeaderValue| {
            self.admission.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes())
        };
        match single(headers, ORIGIN) {
            Some(origin) if is_listed(origin) || self.has_own_pages && is_own(origin, headers) => {
                Origin::Allowed(origin)
            }
            _ => Origin::Refused,
        }
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.admission.token else { return true };
        let said = single(headers, AUTHORIZATION).and_then(|value| value.to_str().ok());
        said.and_then(|said| said.split_once(' ')).is_some_and(|(scheme, said)| {
            scheme.eq_ignore_ascii_case("Bearer") && token.is(said.trim_matches(' '))
        })
    }
}

impl Passed {
    /// Lets the page that asked read the answer.
    pub(super) fn dress(&self, mut response: Response<Body>) -> Response<Body> {
        let Some(origin) = &self.origin else { return response };
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(names) = self.expose_headers {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(names));
        }
        response
    }
}

enum Origin<'a> {
    None,
    Allowed(&'a HeaderValue),
    Refused,
}

fn preflight(endpoint: &Endpoint, passed: Passed) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if passed.origin.is_none() {
        headers.insert(ALLOW, methods(endpoint, true));
        return response;
    }
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods(endpoint, false));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(endpoint.allow_headers));
    headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    passed.dress(response)
}

fn methods(endpoint: &Endpoint, with_options: bool) -> HeaderValue {
    let options = with_options.then_some(&Method::OPTIONS);
    let names: Vec<&str> = endpoint.methods.iter().chain(options).map(Method::as_str).collect();
    HeaderValue::from_str(&names.join(", ")).unwrap_or_else(|_| HeaderValue::from_static("OPTIONS"))
}

/// The value of a header that must not be given twice.
fn single(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).into_iter();
    values.next().filter(|_| values.next().is_none())
}

/// Whether the page that asks came from where it asks. The names of the server alone do not say that: at each of them
/// another port, 80 say, has another server's pages.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = single(headers, HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| origin.as_bytes() == format!("http://{}", host.to_ascii_lowercase()).as_bytes())
}

/// Parameters, a charset say, are no matter.
fn is_json(headers: &HeaderMap) -> bool {
    let value = single(headers, CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    media.trim_matches([' ', '\t']).eq_ignore_ascii_case("application/json")
}

fn announced_length(headers: &HeaderMap) -> u64 {
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    // What is no number does not come here: the HTTP parser refuses it.
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
