//! Accepts TCP connections and speaks HTTP/1.1 on each, for one guarded set of endpoints.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axlr_protocol::limits;
use axum::Router;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

use super::body::{self, Watched};
use super::bounds::Bounds;
use super::guard::Guard;
use super::socket::{Peer, Socket};
use crate::runtime::{Phase, Runtime};

/// How long accepting pauses when the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long the last answers may take to be written when the runtime stops.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a client that was answered before its request was read may go on sending it. The connection is closed with
/// a reset when it is closed before, and with that the answer would be lost.
const LINGER: Duration = Duration::from_secs(1);
/// Bytes that are read from such a client and dropped.
const LINGER_BYTES: u64 = 2 * limits::HTTP_BODY_MAX_BYTES as u64;

/// What is read ahead of a connection, and what may wait to be written there before more is asked for: a head, or two
/// lines of a stream.
const BUFFER_BYTES: usize = 128 * 1024;

/// Why a door could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum HttpBindError {
    /// Everybody in the network could have tried the token.
    #[error(
        "{address} is not a loopback address; only with --http-allow-remote may others connect, and who has the token runs commands as this user"
    )]
    Remote {
        /// The address.
        address: SocketAddr,
    },
    /// The operating system refused.
    #[error("{address}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Who may connect at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Processes on this machine.
    Loopback,
    /// Whoever can reach the address.
    Remote,
}

/// A listening address.
#[derive(Debug)]
pub struct HttpListener {
    listener: TcpListener,
    address: SocketAddr,
    bounds: Bounds,
}

impl HttpListener {
    /// Listens at an address; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is not loopback though it must be, or it can't be had. Must be called within a tokio runtime.
    pub async fn bind(address: SocketAddr, reach: Reach) -> Result<Self, HttpBindError> {
        if reach == Reach::Loopback && !address.ip().to_canonical().is_loopback() {
            return Err(HttpBindError::Remote { address });
        }
        let failed = |source| HttpBindError::Io { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, bounds: Bounds::default() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the runtime is asked to stop; then nobody can connect any more. Connections end by themselves: each
    /// writes the answers to what it has received, and closes.
    pub async fn serve(self, runtime: &Runtime, guard: Guard, router: Router) {
        let door = Door { guard: Arc::new(guard), router, bounds: self.bounds };
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => welcome(runtime, &door, stream),
                    Err(error) => {
                        tracing::warn!(%error, "an HTTP connection could not be accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                () = runtime.stopping() => return,
            }
        }
    }
}

fn welcome(runtime: &Runtime, door: &Door, stream: TcpStream) {
    let counted = Counted::new(runtime.clone());
    if counted.number > door.bounds.connections + door.bounds.excess {
        return;
    }
    // What is written is whole: lines of a stream, or an answer.
    let _ = stream.set_nodelay(true);
    let peer = Peer::new(stream, runtime.client(), door.bounds);
    if counted.number > door.bounds.connections {
        tokio::spawn(async move { refuse(Socket::new(peer, counted.runtime.clone())).await });
        return;
    }
    let door = door.clone();
    tokio::spawn(async move { converse(&counted.runtime, peer, door).await });
}

/// Answers the first bytes of a connection that is one too many.
async fn refuse(mut socket: Socket) {
    const ANSWER: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: 22\r\nconnection: close\r\n\r\n{\"error\":\"overloaded\"}";
    let answer = async {
        let _: usize = socket.read(&mut [0; 1024]).await?;
        socket.write_all(ANSWER.as_bytes()).await
    };
    if let Ok(Ok(())) = tokio::time::timeout(LINGER, answer).await {
        linger(socket).await;
    }
}

/// Speaks HTTP on one connection until it ends.
async fn converse(runtime: &Runtime, peer: Peer, door: Door) {
    let visit = Visit { door, peer: peer.clone() };
    let socket = TokioIo::new(Socket::new(peer.clone(), runtime.clone()));
    let connection = http1::Builder::new()
        // Whether half a client counts is for the endpoints to say: see `Peer::gone`.
        .half_close(true)
        .header_read_timeout(None)
        .max_header_size(limits::HTTP_HEAD_MAX_BYTES)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(socket, visit);
    let timer = Box::pin(tokio::time::sleep(Duration::ZERO));
    let mut conversation = Conversation { connection, peer, timer, last: None };
    let mut phase = runtime.phase();
    // A stop that was asked for before is heard as well.
    phase.mark_changed();
    loop {
        tokio::select! {
            end = std::future::poll_fn(|context| conversation.poll(context)) => match end {
                End::Over => break,
                End::Overdue => return,
            },
            Ok(()) = phase.changed() => conversation.heed(*phase.borrow_and_update()),
        }
    }
    let socket = conversation.connection.into_parts().io.into_inner();
    if !socket.has_ended && *phase.borrow() == Phase::Running {
        linger(socket).await;
    }
}

struct Conversation {
    connection: http1::Connection<TokioIo<Socket>, Visit>,
    peer: Peer,
    timer: Pin<Box<Sleep>>,
    /// When it ends in any case.
    last: Option<Instant>,
}

/// How a conversation ended.
enum End {
    /// One side has closed it.
    Over,
    /// The client took too long.
    Overdue,
}

impl Conversation {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        loop {
            if let Poll::Ready(result) = self.connection.poll_without_shutdown(context) {
                if let Err(error) = result {
                    tracing::debug!(%error, "an HTTP connection ended");
                }
                return Poll::Ready(End::Over);
            }
            // What it waits for may be another thing now.
            let Some(deadline) = self.last.into_iter().chain(self.peer.deadline()).min() else {
                return Poll::Pending;
            };
            if self.timer.deadline() != deadline {
                self.timer.as_mut().reset(deadline);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            if self.last.is_some_and(|last| last <= Instant::now()) || self.peer.is_overdue() {
                return Poll::Ready(End::Overdue);
            }
        }
    }

    fn heed(&mut self, phase: Phase) {
        if phase != Phase::Running {
            Pin::new(&mut self.connection).graceful_shutdown();
        }
        if phase == Phase::Stopped {
            self.last = Some(Instant::now() + FAREWELL);
        }
    }
}

/// Says that no more will be written, and drops what still comes.
async fn linger(mut socket: Socket) {
    let drain = async {
        socket.shutdown().await?;
        tokio::io::copy(&mut (&mut socket).take(LINGER_BYTES), &mut tokio::io::sink()).await
    };
    let _ = tokio::time::timeout(LINGER, drain).await;
}

/// The endpoints behind their guard.
#[derive(Clone)]
struct Door {
    guard: Arc<Guard>,
    router: Router,
    bounds: Bounds,
}

/// The endpoints as one connection sees them.
struct Visit {
    door: Door,
    peer: Peer,
}

impl Service<Request<Incoming>> for Visit {
    type Response = Response<Watched>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let serving = self.peer.serve();
        let (mut parts, body) = request.into_parts();
        let watched = |response: Response<_>| response.map(|body| Watched { body, _serving: serving });
        match self.door.guard.judge(&parts) {
            Ok(passed) => {
                parts.extensions.insert(self.peer.clone());
                let request = Request::from_parts(parts, body::bounded(body, self.door.bounds.body));
                let answer = TowerToHyperService::new(self.door.router.clone()).call(request);
                Box::pin(async move { Ok(watched(passed.dress(answer.await?))) })
            }
            Err(refused) => Box::pin(std::future::ready(Ok(watched(*refused)))),
        }
    }
}

/// One connection in the count of those that are open.
struct Counted {
    runtime: Runtime,
    number: usize,
}

impl Counted {
    fn new(runtime: Runtime) -> Self {
        let number = runtime.traffic().open_http();
        Self { runtime, number }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.runtime.traffic().close_http();
    }
}

#[cfg(test)]
mod tests;
