//! HTTP on TCP, for pages and for programs that speak nothing else.
//!
//! A door is an address ([`HttpListener`]), the checks that every request must pass ([`Guard`], which follows from one
//! shared [`Admission`]) and an axum router behind them. The checks are made before the router sees anything, so an
//! endpoint never asks who it answers; it is there only when the guard's list names its path. Sizes and times are
//! bounded for every door alike: heads, bodies, idle and stalled connections, and their number.
//!
//! Another endpoint on an address of its own is a listener, a guard and a router more:
//!
//! ```ignore
//! let listener = HttpListener::bind(address, reach).await?;
//! let endpoint = Endpoint { path: "/mcp", methods: &[Method::POST, Method::GET, Method::DELETE], .. };
//! let guard = Guard::new(admission.clone(), listener.address().port(), vec![endpoint]);
//! listener.serve(&runtime, guard, Router::new().route_service("/mcp", service)).await;
//! ```

mod admission;
mod answer;
mod body;
mod bounds;
mod bridge;
mod console;
mod exec;
mod guard;
mod request;
mod server;
mod socket;
mod spawn;
mod token;

pub use admission::{Admission, AdmissionError};
pub(super) use answer::refusal;
pub(super) use body::read;
pub use bridge::{BridgeSettings, serve_bridge};
pub use guard::{Endpoint, Guard};
pub use server::{HttpBindError, HttpListener, Reach};
pub(super) use socket::Peer;
pub use token::{Token, TokenError, default_token_path};
