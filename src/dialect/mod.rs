//! Two pattern languages, as Go speaks them: [`path_match`] (`path.Match`, with [`glob`] on top) and [`re2`] (`regexp`).
//!
//! A string goes in, a verdict comes out. This room imports nothing of ours, opens no file and knows no request; its
//! faults are its own types, worded for the person who wrote the pattern.

pub mod glob;
pub mod path_match;
pub mod re2;
