//! One admitted request on its way through the actors.

use axlr_protocol::{ErrorBody, Output};
use ractor::RpcReplyPort;
use tokio::sync::OwnedSemaphorePermit;

use crate::cancel::Cancel;
use crate::tools::{Controls, Events, Exec, List, Read, Search};

/// What comes back for a request.
pub(crate) type Answer = Result<Output, ErrorBody>;

/// What is to be done, its arguments checked.
#[derive(Debug)]
pub(crate) enum Work {
    /// Reads on a blocking thread.
    Read(Read),
    /// Searches on blocking threads.
    Search(Box<Search>),
    /// Lists on a blocking thread.
    List(List),
    /// Waits for a child's place, then runs.
    Exec(Box<Exec>, Option<Controls>),
}

/// What every admitted request carries beside its work. Dropping it unanswered closes the reply port, which the caller reads as a fault of
/// the daemon; the permit goes home with it.
#[derive(Debug)]
pub(crate) struct Job {
    /// The connection that asked, for fairness.
    pub(crate) session: u64,
    /// The request among all of the daemon's.
    pub(crate) serial: u64,
    /// Its cancellation.
    pub(crate) cancel: Cancel,
    /// Where its events go, when it streams.
    pub(crate) events: Option<Events>,
    /// Its place among the running requests of the daemon.
    pub(crate) permit: OwnedSemaphorePermit,
    /// Where the answer goes.
    pub(crate) reply: RpcReplyPort<Answer>,
}
