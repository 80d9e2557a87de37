//! A server that speaks on its stdin and stdout, one message a line.
//!
//! [`Stdio`] is held by those who call; [`life::Life`] is the task that owns the process, reads what it writes, and
//! sees it off. Between them stands the [`outbox::Outbox`] of its stdin, which a caller that leaves halfway never
//! leaves halfway.

mod frames;
mod life;
mod outbox;

use std::sync::Arc;

use serde::Serialize;

use self::life::Life;
use self::outbox::Outbox;
use super::exchange::Exchange;
use super::home::Home;
use super::rpc::{self, Reply, Trouble};
use super::setup::Plugin;
use super::transport::Ask;
use crate::cancel::Cancel;
use crate::process::{Command, Input};

/// A running server. Dropped, it is closed.
pub(super) struct Stdio {
    exchange: Arc<Exchange>,
    outbox: Arc<Outbox>,
    closing: Cancel,
}

impl Stdio {
    /// Starts the program.
    ///
    /// # Errors
    /// It could not be started.
    pub(super) async fn start(
        plugin: &Plugin,
        program: &str,
        arguments: &[String],
        home: &Home,
        exchange: Arc<Exchange>,
    ) -> Result<Self, Trouble> {
        let directory = (home.directory)()
            .map_err(|error| Trouble::broken(format!("its working directory can't be opened: {error}")))?;
        let command = Command {
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            environment: plugin.env.clone(),
            directory,
            stdin: Input::Pipe,
        };
        let containment = home.containment.clone();
        // In a task of its own: whoever is born after nobody wants it any more is killed unseen, and not forgotten.
        let birth = tokio::spawn(async move { containment.spawn(command).await });
        let child = match birth.await {
            Ok(Ok(child)) => child,
            Ok(Err(error)) => return Err(Trouble::broken(format!("its command {error}"))),
            Err(_) => return Err(Trouble::broken("its command could not be started")),
        };
        let outbox = Arc::new(Outbox::default());
        let closing = Cancel::new();
        let life = Life::new(child, exchange.clone(), outbox.clone(), closing.clone());
        let counted = home.running.enter();
        tokio::spawn(async move {
            life.live().await;
            drop(counted);
        });
        Ok(Self { exchange, outbox, closing })
    }

    /// Sends a request and waits for its answer. Given up, the server is told.
    pub(super) async fn request<P: Serialize + Sync>(&self, ask: Ask<'_, P>) -> Reply {
        let mut waiting = self.exchange.expect(ask.method, ask.progress.clone())?;
        let line = rpc::request(waiting.id, ask.method, &ask.params(waiting.id))? + "\n";
        tokio::select! {
            biased;
            () = self.outbox.room() => {}
            reply = &mut waiting.reply => return reply.unwrap_or_else(|_| Err(self.lost())),
        }
        self.outbox.push(line.as_bytes());
        let mut courtesy = Courtesy { outbox: &self.outbox, id: ask.is_cancellable().then_some(waiting.id) };
        let reply = (&mut waiting.reply).await;
        courtesy.id = None;
        reply.unwrap_or_else(|_| Err(self.lost()))
    }

    /// Sends a notification.
    pub(super) fn notify(&self, text: &str) {
        self.outbox.push(format!("{text}\n").as_bytes());
    }

    /// Asks the server to end.
    pub(super) fn begin_close(&self) {
        self.closing.cancel();
    }

    fn lost(&self) -> Trouble {
        self.exchange.ended().unwrap_or(Trouble::Closed)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.begin_close();
    }
}

/// Tells the server when a request is given up.
struct Courtesy<'s> {
    outbox: &'s Outbox,
    id: Option<u64>,
}

impl Drop for Courtesy<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.outbox.push(format!("{}\n", rpc::cancelled(id)).as_bytes());
        }
    }
}
