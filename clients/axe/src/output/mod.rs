//! What people and programs read of axe: the JSON envelope, events, the dry run, diagnostics, errors and exit codes.
//!
//! Everything here makes text or data; [`Console`] alone writes it. Members, labels and their order are an interface.

mod console;
mod dry_run;
mod envelope;
mod event;
mod exit;
mod mask;
#[cfg(test)]
mod tests;
pub mod verbose;

pub use console::{Console, printable};
pub use dry_run::DryRun;
pub use envelope::{Artifact, BudgetUse, Envelope, ToolCallDetail, Totals, detail_output};
pub use event::{Event, EventLine};
pub use exit::{Exit, Failure};
pub use mask::Mask;
