//! A server at an address: Streamable HTTP.
//!
//! Each message is a POST of its own, sent once. The answer is a JSON body or a stream of events; what is on a stream
//! goes to the exchange as if it had come over a pipe. A connection belongs to one request and is closed with it, which
//! in the revision 2026-07-28 is how a request is cancelled.

mod client;
mod line;
pub(super) mod param_headers;
mod sse;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serde::Serialize;
use tokio::sync::mpsc;

use self::line::Line;
use super::exchange::Exchange;
use super::home::Home;
use super::rpc::{self, Reply, Trouble};
use super::setup::Plugin;
use super::transport::{Ask, Era};
use crate::cancel::Cancel;
use crate::capacity::{
    PLUGIN_ANSWERS_WAITING, PLUGIN_GOODBYE_MAX, PLUGIN_REOPEN_PAUSE_MAX, PLUGIN_REOPEN_PAUSE_MIN,
    PLUGIN_RETRY_MIN,
};

/// A connection to a server, which is none between requests. Dropped, it is closed.
pub(super) struct Http {
    line: Arc<Line>,
    /// Small messages that nobody waits for: answers to the server, and words that a call was given up.
    asides: mpsc::Sender<String>,
    closing: Cancel,
}

impl Http {
    /// Makes ready; nothing is sent yet.
    ///
    /// # Errors
    /// There is no TLS here.
    pub(super) fn open(
        plugin: &Plugin,
        url: &Url,
        home: &Home,
        exchange: Arc<Exchange>,
    ) -> Result<Self, Trouble> {
        let (asides, waiting) = mpsc::channel(PLUGIN_ANSWERS_WAITING);
        let client = client::client()?;
        let line = Arc::new(Line::new(client, url.clone(), plugin.headers(), exchange, asides.clone()));
        let closing = Cancel::new();
        let counted = home.running.enter();
        let clerk = Clerk { line: line.clone(), waiting, closing: closing.clone() };
        tokio::spawn(async move {
            clerk.work().await;
            drop(counted);
        });
        Ok(Self { line, asides, closing })
    }

    /// Sends a request, once, and waits for its answer.
    pub(super) async fn request<P: Serialize + Sync>(&self, ask: Ask<'_, P>) -> Reply {
        let exchange = &self.line.exchange;
        let mut waiting = exchange.expect(ask.method, ask.progress.clone())?;
        let text = rpc::request(waiting.id, ask.method, &ask.params(waiting.id))?;
        let is_told = ask.is_cancellable() && ask.era == Era::Legacy;
        let mut courtesy = Courtesy { asides: &self.asides, id: is_told.then_some(waiting.id) };
        let trouble = tokio::select! {
            biased;
            reply = &mut waiting.reply => {
                courtesy.id = None;
                return reply.unwrap_or_else(|_| Err(self.lost()));
            }
            trouble = self.line.carry(&ask, text) => trouble,
        };
        courtesy.id = None;
        // The answer may have been the last on its stream.
        waiting.reply.try_recv().unwrap_or(Err(trouble))
    }

    /// Sends a notification. That it was not taken is no fault of ours.
    pub(super) async fn notify(&self, text: String) {
        self.line.post_aside(text).await;
    }

    /// The handshake is over.
    pub(super) fn agreed(&self, version: &str, era: Era) {
        self.line.agreed(version, era);
    }

    /// Opens the stream on which an older server says what no request asked for, and keeps it open.
    pub(super) fn listen(&self) {
        let (line, closing) = (self.line.clone(), self.closing.clone());
        let listening = async move {
            let mut pause = PLUGIN_REOPEN_PAUSE_MIN;
            while let Some(wanted) = line.listen().await {
                tokio::time::sleep(wanted.map_or(pause, bounded)).await;
                pause = (pause * 2).min(PLUGIN_REOPEN_PAUSE_MAX);
            }
        };
        tokio::spawn(async move {
            tokio::select! {
                () = listening => {}
                () = closing.cancelled() => {}
            }
        });
    }

    /// Says goodbye.
    pub(super) fn begin_close(&self) {
        self.closing.cancel();
    }

    fn lost(&self) -> Trouble {
        self.line.exchange.ended().unwrap_or(Trouble::Closed)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.begin_close();
    }
}

/// A pause that a server asks for, as far as that is reasonable.
fn bounded(pause: Duration) -> Duration {
    pause.clamp(PLUGIN_RETRY_MIN, PLUGIN_REOPEN_PAUSE_MAX)
}

/// Tells the server when a request is given up.
struct Courtesy<'s> {
    asides: &'s mpsc::Sender<String>,
    id: Option<u64>,
}

impl Drop for Courtesy<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // Without room the server works for nobody, which harms nobody.
            let _ = self.asides.try_send(rpc::cancelled(id));
        }
    }
}

/// Sends what nobody waits for, one after the other, and says goodbye.
struct Clerk {
    line: Arc<Line>,
    waiting: mpsc::Receiver<String>,
    closing: Cancel,
}

impl Clerk {
    async fn work(mut self) {
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => break,
                text = self.waiting.recv() => match text {
                    Some(text) => self.line.post_aside(text).await,
                    None => break,
                },
            }
        }
        self.line.exchange.end(Trouble::Closed);
        let goodbye = async {
            while let Ok(text) = self.waiting.try_recv() {
                self.line.post_aside(text).await;
            }
            self.line.delete().await;
        };
        let _ = tokio::time::timeout(PLUGIN_GOODBYE_MAX, goodbye).await;
    }
}
