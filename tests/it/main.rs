//! The real daemon over a real socket: one binary, a module for each promise.

#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod support;

mod cli;
mod frames;
mod house;
mod http;
mod http_life;
mod hung;
mod life;
mod mcp;
mod once;
mod plugins;
mod plugins_http;
mod plugins_life;
mod requests;
mod settings;
mod socket;
mod streams;
mod surroundings;
