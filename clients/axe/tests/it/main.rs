//! The program from outside: one binary, a module for each promise.

#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod agents;
mod dry_run;
mod gc;
mod house;
mod model;
mod run;
mod support;
mod usage;
