//! One admitted request on its way through the actors.

use std::sync::Arc;

use axlr_protocol::{ErrorBody, Output};
use ractor::RpcReplyPort;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::cancel::Cancel;
use crate::plugins::PluginCall;
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
    /// Asks every plugin for its tools.
    ListPlugins,
    /// Calls a plugin's tool.
    CallPlugin(Box<PluginCall>),
}

/// A request's place among the running ones of the daemon.
#[derive(Debug)]
pub(crate) enum Permit {
    /// It has one.
    Held(#[expect(dead_code, reason = "held, it counts; dropped, it is free")] OwnedSemaphorePermit),
    /// An exec takes one when it has a child's place. Who stands in that line does not count: the line has a bound of
    /// its own, and a full one must not shut out the other tools.
    Later(Arc<Semaphore>),
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
    pub(crate) permit: Permit,
    /// Where the answer goes.
    pub(crate) reply: RpcReplyPort<Answer>,
}
