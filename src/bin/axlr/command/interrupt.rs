//! Ctrl-C: the first one cancels the request, the second one leaves.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use axlr_client::{AnyResponse, EventBody, Running};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::EXIT_NOT_COMPLETED;

/// Hears Ctrl-C from its making on.
pub(super) struct Interrupt(Signal);

impl Interrupt {
    pub(super) fn listen() -> anyhow::Result<Interrupt> {
        let was_heard = Arc::new(AtomicBool::new(false));
        // In this order, so that the first signal finds the flag unset. The second is dealt with inside of the handler,
        // because a terminal that takes no output holds the rest of the program up.
        let leaves =
            flag::register_conditional_shutdown(SIGINT, EXIT_NOT_COMPLETED.into(), was_heard.clone());
        leaves.and_then(|_| flag::register(SIGINT, was_heard)).context("Ctrl-C can't be heard")?;
        signal(SignalKind::interrupt()).map(Interrupt).context("Ctrl-C can't be heard")
    }

    /// Follows a request to its response.
    pub(super) async fn follow(
        &mut self,
        mut running: Running,
        mut on_event: impl FnMut(EventBody) -> anyhow::Result<()>,
    ) -> anyhow::Result<AnyResponse> {
        loop {
            tokio::select! {
                event = running.next_event() => match event {
                    Some(event) => on_event(event)?,
                    None => return Ok(running.response().await?),
                },
                _ = self.0.recv() => running.cancel(),
            }
        }
    }
}
