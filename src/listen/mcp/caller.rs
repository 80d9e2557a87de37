//! Who carries calls out.

use std::sync::Arc;

use axlr_protocol::{Call, ErrorBody, Output};

use super::watch::Watch;

/// What came of a call.
pub type Answer = Result<Output, ErrorBody>;

/// One call, well-formed.
#[derive(Debug)]
pub struct Job {
    /// The tool and its arguments.
    pub call: Call,
    /// The workspace's id; `None` is the caller's default.
    pub workspace: Option<String>,
    /// Who is told what happens meanwhile. The items of a search or a listing, and the output of a program, are then
    /// kept there and not in the answer.
    pub watch: Option<Arc<Watch>>,
    /// How large the request was, for the bound on what waits.
    pub bytes: usize,
}

/// Something that carries calls out: a session of the runtime in this process, or a connection to a daemon.
pub trait Caller: Send + Sync + 'static {
    /// Carries a call out. Dropping the future cancels the call and kills what it started.
    fn call(&self, job: Job) -> impl Future<Output = Answer> + Send;

    /// Tells that the client has made the handshake, so that what follows is one session of its own.
    fn begin(&self) {}
}
