//! The real daemon over a real socket: one binary, a module for each promise.

#![expect(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod support;

mod frames;
mod house;
mod life;
mod requests;
mod socket;
mod streams;
