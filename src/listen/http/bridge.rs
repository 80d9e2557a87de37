//! The bridge: `/health`, `/exec` and `/spawn`; with the console, its page at `/` and `/stats` too.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, Response, StatusCode};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::json;

use super::admission::Admission;
use super::console::Console;
use super::guard::{Endpoint, Guard};
use super::server::HttpListener;
use super::socket::Peer;
use super::{answer, body, console, exec, request, spawn};
use crate::runtime::Runtime;
use crate::runtime::command::{Command, Refused, Running};

const HEALTH: Endpoint = Endpoint {
    path: "/health",
    methods: &[Method::GET, Method::HEAD],
    needs_token: false,
    takes_json: false,
    ..EXEC
};
const EXEC: Endpoint = Endpoint {
    path: "/exec",
    methods: &[Method::POST],
    needs_token: true,
    takes_json: true,
    allow_headers: "Authorization, Content-Type",
    expose_headers: None,
};
const SPAWN: Endpoint = Endpoint { path: "/spawn", ..EXEC };

const PAGE: Endpoint = Endpoint { path: "/", ..HEALTH };
const STATS: Endpoint = Endpoint { path: "/stats", needs_token: true, ..HEALTH };

/// What a bridge offers.
#[derive(Debug, Clone, Default)]
pub struct BridgeSettings {
    /// The environment of commands, to which each request may add.
    pub environment: BTreeMap<String, String>,
    /// Whether there is a console. Its own origin is allowed then.
    pub has_console: bool,
}

/// What the endpoints share.
struct Bridge {
    runtime: Runtime,
    environment: BTreeMap<String, String>,
}

/// Serves the bridge until the runtime is asked to stop.
pub async fn serve_bridge(
    listener: HttpListener,
    runtime: &Runtime,
    admission: Arc<Admission>,
    settings: BridgeSettings,
) {
    let BridgeSettings { environment, has_console } = settings;
    let mut endpoints = vec![HEALTH, EXEC, SPAWN];
    let mut router = Router::new()
        .route(HEALTH.path, get(health))
        .route(EXEC.path, post(execute))
        .route(SPAWN.path, post(stream));
    if has_console {
        let console = Console::new();
        endpoints.extend([PAGE, STATS]);
        router = router.route(PAGE.path, get(async move || console.page())).route(
            STATS.path,
            get(async |State(bridge): State<Arc<Bridge>>| console::stats(&bridge.runtime)),
        );
    }
    let mut guard = Guard::new(admission, listener.address().port(), endpoints);
    if has_console {
        guard = guard.with_own_pages();
    }
    let router = router.with_state(Arc::new(Bridge { runtime: runtime.clone(), environment }));
    listener.serve(runtime, guard, router).await;
}

async fn health() -> Response<Body> {
    answer::json(StatusCode::OK, &json!({ "ok": true }))
}

async fn execute(
    State(bridge): State<Arc<Bridge>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Response<Body> {
    match bridge.run(&peer, request, request::exec).await {
        Ok((running, _)) => exec::answer(running).await,
        Err(refused) => *refused,
    }
}

async fn stream(
    State(bridge): State<Arc<Bridge>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Response<Body> {
    match bridge.run(&peer, request, request::spawn).await {
        Ok((running, timeout)) => spawn::answer(running, timeout),
        Err(refused) => *refused,
    }
}

/// How a body is read, in a given environment.
type Reading = fn(&[u8], &BTreeMap<String, String>) -> Result<Command, String>;

impl Bridge {
    /// Reads a command and starts it. The number is its timeout in seconds.
    async fn run(
        &self,
        peer: &Peer,
        request: Request,
        reading: Reading,
    ) -> Result<(Running, f64), Box<Response<Body>>> {
        let body = body::read(request.into_body()).await?;
        let command = reading(&body, &self.environment)
            .map_err(|error| Box::new(answer::refusal(StatusCode::BAD_REQUEST, error)))?;
        // Up to 4 MiB, which a long command need not hold.
        drop(body);
        let timeout = command.timeout.as_secs_f64();
        let running = self.runtime.run(peer.client, command, peer.gone()).await;
        running.map(|running| (running, timeout)).map_err(|refused| Box::new(refusal(refused)))
    }
}

fn refusal(refused: Refused) -> Response<Body> {
    let status = match refused {
        Refused::Overloaded | Refused::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        Refused::Lost => StatusCode::INTERNAL_SERVER_ERROR,
        // Nobody is there to read it.
        Refused::Left => StatusCode::REQUEST_TIMEOUT,
    };
    answer::refusal(status, refused.to_string())
}
