//! The bodies of requests and answers: bounded in size and time, and watched to their end.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axlr_protocol::limits;
use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use super::answer::refusal;
use super::socket::Serving;

/// A request's body took too long.
#[derive(Debug, thiserror::Error)]
#[error("the body did not come within {} s", .0.as_secs_f64())]
struct TooSlow(Duration);

/// A request's body that ends in an error when it is too long or takes too long.
pub(super) fn bounded(body: Incoming, patience: Duration) -> Body {
    Body::new(Limited::new(Timed { body, patience, deadline: None }, limits::HTTP_BODY_MAX_BYTES))
}

/// Reads a request's body.
///
/// # Errors
/// The answer: 413, 408, or 400 when the client broke off.
pub(in crate::listen) async fn read(body: Body) -> Result<Bytes, Box<Response<Body>>> {
    let error = match whole(body).await {
        Ok(bytes) => return Ok(bytes),
        Err(error) => error.into_inner(),
    };
    let refuse = |status, error: &str| Err(Box::new(refusal(status, error)));
    if error.is::<LengthLimitError>() {
        let error = format!("the body is over the limit of {} bytes", limits::HTTP_BODY_MAX_BYTES);
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, &error);
    }
    if error.is::<TooSlow>() {
        return refuse(StatusCode::REQUEST_TIMEOUT, &error.to_string());
    }
    refuse(StatusCode::BAD_REQUEST, "the body broke off or is not well-formed")
}

/// In one piece as it comes: of a body in chunks of a byte, a list of them would take many times as much.
async fn whole(mut body: Body) -> Result<Bytes, axum::Error> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await.transpose()? {
        // What is no data is a trailer, and says nothing to us.
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes.into())
}

/// A body that must have come whole some time after its reader first waits for it.
struct Timed {
    body: Incoming,
    patience: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        deadline.as_mut().poll(context).map(|()| Some(Err(TooSlow(patience).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body; when it is dropped the request has been answered.
pub(super) struct Watched {
    pub(super) body: Body,
    pub(super) _serving: Serving,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
