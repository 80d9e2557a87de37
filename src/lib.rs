//! axlr, a long-lived local tool runtime.
//!
//! Rooms, from the bottom shelf up: [`dialect`] (two pattern languages), [`workspace`] (authority over one
//! directory), [`process`] (birth and death of a child), [`tools`] (what each tool means), `actors` (order,
//! ownership, failure), [`runtime`] (the only door to them), [`listen`] (bytes to calls and back).

mod actors;
pub mod cancel;
pub mod capacity;
pub mod dialect;
mod error;
pub mod listen;
mod plugins;
pub mod process;
mod readiness;
pub mod runtime;
pub mod tools;
pub mod workspace;
