//! The turn loop: a model is asked, its calls are run, and it is asked again, until it has no more calls.
//!
//! | file | what it holds |
//! |---|---|
//! | `context` | what all agents of a run share: budget, deadline, runtime, models, an observer |
//! | `member` | one agent made ready: its provider, tools, MCP servers and artifacts |
//! | `conversation` | its turns |
//! | `calls` | the calls of one turn: at once where they may, in order where they must |
//! | `sub_agents` | `call_agent`: a member below a member |
//! | `budget` | tokens, counted over all of them |
//!
//! This room prints nothing: an [`Observer`] is told each [`Step`]. It knows files and commands only as tools.

mod budget;
mod calls;
mod context;
mod conversation;
mod error;
mod member;
mod observer;
mod sub_agents;
#[cfg(test)]
mod tests;
mod tools;

pub use budget::{Budget, Totals};
pub use context::{Context, Models, OnRetry, Wanted};
pub use conversation::{Answer, CallRecord, End};
pub use error::Error;
pub use member::{Outcome, run};
pub use observer::{Observer, Step, Who};
pub use tools::CALL_AGENT;
