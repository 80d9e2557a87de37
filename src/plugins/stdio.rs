//! A server that speaks on its stdin and stdout, one message a line: a transport of the SDK's.
//!
//! [`Pipe`] is what the SDK holds; [`life::Life`] is the task that owns the process, reads what it writes, and sees it
//! off. Between them stands the [`outbox::Outbox`] of its stdin, in which a line is whole or not at all.

mod frames;
mod life;
mod outbox;

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::{Mutex, mpsc};

use self::life::Life;
use self::outbox::Outbox;
use super::home::Home;
use super::rpc::Trouble;
use super::setup::Plugin;
use super::tap::{Tap, Wanted};
use crate::cancel::Cancel;
use crate::process::{Command, Input};

/// The way to a running server. Clones lead to the same one.
#[derive(Clone)]
pub(super) struct Pipe {
    tap: Arc<Tap>,
    outbox: Arc<Outbox>,
    incoming: Arc<Mutex<mpsc::UnboundedReceiver<ServerJsonRpcMessage>>>,
}

impl Pipe {
    /// Starts the program. It is asked to end when `closing` says so.
    ///
    /// # Errors
    /// It could not be started.
    pub(super) async fn start(
        plugin: &Plugin,
        program: &str,
        arguments: &[String],
        home: &Home,
        tap: Arc<Tap>,
        closing: Cancel,
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
        let (sender, incoming) = mpsc::unbounded_channel();
        let life = Life::new(child, tap.clone(), outbox.clone(), sender, closing);
        let counted = home.running.enter();
        tokio::spawn(async move {
            life.live().await;
            drop(counted);
        });
        Ok(Self { tap, outbox, incoming: Arc::new(Mutex::new(incoming)) })
    }
}

impl Transport<RoleClient> for Pipe {
    type Error = Trouble;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Trouble>> + Send + 'static {
        let outgoing = self.tap.outgoing(&mut message);
        let line = serde_json::to_string(&message);
        let (tap, outbox) = (self.tap.clone(), self.outbox.clone());
        async move {
            let line =
                line.map_err(|error| Trouble::Protocol(format!("a request can't be written: {error}")))?;
            // What nobody waits for is small, and may be what makes room.
            if outgoing.wanted.is_some() {
                tokio::select! {
                    () = outbox.room() => {}
                    () = given_up(&outgoing.wanted) => return Err(Trouble::Closed),
                }
            }
            if !Tap::is_given_up(outgoing.wanted.as_ref()) && tap.leaves(&outgoing) {
                outbox.push((line + "\n").as_bytes());
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.lock().await.recv().await
    }

    /// The process is not the SDK's to end: see [`life::Life`].
    async fn close(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// Returns when a request that waits for room is wanted no more.
async fn given_up(wanted: &Option<Wanted>) {
    match wanted {
        Some(wanted) => wanted.given_up().await,
        None => std::future::pending().await,
    }
}
