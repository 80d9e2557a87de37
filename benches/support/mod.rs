//! What the benches share: a daemon, a client that counts instead of decoding, yardsticks in processes of their own,
//! short alternating turns, and the table of ratios.
//!
//! A virtual machine changes its pace within minutes, so that a number by itself says little. What is promised are
//! ratios: both sides do short turns one after the other in the same run, and the run is made twice.

#![allow(dead_code, unused_imports, reason = "each bench uses its part")]

pub(crate) mod contest;
pub(crate) mod daemon;
pub(crate) mod data;
pub(crate) mod place;
pub(crate) mod suite;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod wire;
pub(crate) mod yardstick;

pub(crate) use contest::{Contestant, Effort, Measure};
pub(crate) use daemon::Daemon;
pub(crate) use place::Placement;
pub(crate) use suite::Suite;
pub(crate) use table::Aim;
pub(crate) use wire::{Encoding, Wire};
pub(crate) use yardstick::Yardstick;
