//! The process of a server, from its birth to its end.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axlr_protocol::limits;
use axlr_protocol::tool::SignalName;
use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::frames::{Frames, TooLong};
use super::outbox::Outbox;
use crate::cancel::Cancel;
use crate::capacity::{PLUGIN_EOF_GRACE, PLUGIN_EXIT_WAIT, PLUGIN_READ_BYTES, PLUGIN_TERM_GRACE};
use crate::plugins::rpc::{self, Trouble};
use crate::plugins::tap::{Heard, Tap};
use crate::process::{Child, ExitStatus, PipeReader};

/// Owns the process and reads what it writes.
pub(super) struct Life {
    child: Child,
    /// None once it has ended.
    stdout: Option<PipeReader>,
    stderr: Option<PipeReader>,
    frames: Frames,
    /// Bytes of lines that were no messages.
    noise: usize,
    tap: Arc<Tap>,
    outbox: Arc<Outbox>,
    /// To the SDK.
    incoming: mpsc::UnboundedSender<ServerJsonRpcMessage>,
    closing: Cancel,
    /// What is wrong with the server, and until when its exit status may say it better.
    doom: Option<(Instant, String)>,
    status: Option<ExitStatus>,
}

impl Life {
    pub(super) fn new(
        mut child: Child,
        tap: Arc<Tap>,
        outbox: Arc<Outbox>,
        incoming: mpsc::UnboundedSender<ServerJsonRpcMessage>,
        closing: Cancel,
    ) -> Self {
        outbox.open(child.stdin.take());
        Self {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child,
            frames: Frames::default(),
            noise: 0,
            tap,
            outbox,
            incoming,
            closing,
            doom: None,
            status: None,
        }
    }

    /// Serves until the server has ended, broke the protocol or is to end, and sees it off.
    pub(super) async fn live(mut self) {
        let trouble = match self.serve().await {
            None => Trouble::Closed,
            Some(why) => match self.tap.log.tail().as_str() {
                "" => Trouble::broken(format!("{why}; it wrote nothing on stderr")),
                tail => Trouble::broken(format!("{why}; the last of its stderr:\n{tail}")),
            },
        };
        self.tap.end(trouble);
        self.see_off().await;
        self.tap.log.stderr_ended();
    }

    /// Why it ended; `None` when it is we who end it.
    async fn serve(&mut self) -> Option<String> {
        let closing = self.closing.clone();
        let closed = closing.cancelled();
        tokio::pin!(closed);
        loop {
            let doomed = until(self.doom.as_ref().map(|(at, _)| *at));
            tokio::select! {
                () = &mut closed => return None,
                status = self.child.exited() => {
                    self.status = Some(status);
                    let fault = self.read_rest(PLUGIN_EXIT_WAIT).await;
                    return fault.or_else(|| Some(exit_words(status)));
                }
                ready = readable(&self.stdout) => {
                    if let Some(fault) = self.read_stdout(ready) {
                        return Some(fault);
                    }
                }
                ready = readable(&self.stderr) => self.read_stderr(ready),
                written = self.outbox.write() => {
                    if written.is_err() {
                        self.outbox.close();
                        self.doom("it closed its stdin");
                    }
                }
                () = doomed => return self.doom.take().map(|(_, why)| why),
            }
        }
    }

    /// Something is wrong, and its exit status may be about to tell what.
    fn doom(&mut self, why: &str) {
        self.doom.get_or_insert_with(|| (Instant::now() + PLUGIN_EXIT_WAIT, why.to_owned()));
    }

    /// Reads once. `Some` is a fault that ends the session.
    fn read_stdout(&mut self, ready: io::Result<()>) -> Option<String> {
        let pipe = self.stdout.as_ref()?;
        match ready.and_then(|()| pipe.try_read_buf(self.frames.room())) {
            Ok(1..) => self.hear(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Ok(0) | Err(_) => {
                self.stdout = None;
                self.doom("it closed its stdout");
                None
            }
        }
    }

    fn hear(&mut self) -> Option<String> {
        let Self { frames, noise, tap, outbox, incoming, .. } = self;
        let mut answer = |text: String| {
            if !outbox.offer(format!("{text}\n").as_bytes()) {
                tap.log.note(format_args!("it does not read its stdin; an answer to it was dropped"));
            }
        };
        let most = limits::PLUGIN_NOISE_MAX_BYTES;
        let heard = frames.each_line(|line| {
            if *noise > most {
                // It is over. Whether what follows was read together with the noise must not make a difference.
                return;
            }
            match tap.hear(line, &mut answer) {
                Heard::Nothing => {}
                // No more than there are requests: a second answer never comes so far.
                Heard::Message(message) => drop(incoming.send(*message)),
                Heard::Noise => {
                    *noise += line.len() + 1;
                    let text = rpc::shown(&String::from_utf8_lossy(&line[..line.len().min(200)]));
                    tap.log.note(format_args!("a line on its stdout is no message: {text:?}"));
                }
            }
        });
        if heard == Err(TooLong) {
            let most = limits::PLUGIN_MESSAGE_MAX_BYTES;
            return Some(format!("it sent a message of more than {most} bytes"));
        }
        (*noise > most).then(|| format!("it wrote more than {most} bytes on its stdout that are no JSON-RPC"))
    }

    fn read_stderr(&mut self, ready: io::Result<()>) {
        let Some(pipe) = &self.stderr else { return };
        let mut bytes = Vec::with_capacity(PLUGIN_READ_BYTES);
        match ready.and_then(|()| pipe.try_read_buf(&mut bytes)) {
            Ok(1..) => self.tap.log.stderr(&bytes),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => self.stderr = None,
        }
    }

    /// Reads to the ends of both pipes, or until somebody has held them open for too long.
    async fn read_rest(&mut self, most: Duration) -> Option<String> {
        let enough = tokio::time::sleep(most);
        tokio::pin!(enough);
        while self.stdout.is_some() || self.stderr.is_some() {
            tokio::select! {
                ready = readable(&self.stdout) => {
                    if let Some(fault) = self.read_stdout(ready) {
                        return Some(fault);
                    }
                }
                ready = readable(&self.stderr) => self.read_stderr(ready),
                () = &mut enough => break,
            }
        }
        None
    }

    /// Asks the server to end by the end of its stdin, then by TERM; then kills whatever is left of it.
    async fn see_off(&mut self) {
        if self.status.is_none() && !self.ends_within(PLUGIN_EOF_GRACE).await {
            self.child.signal(SignalName::Term);
            if !self.ends_within(PLUGIN_TERM_GRACE).await {
                tracing::warn!(
                    plugin = self.tap.log.id(),
                    "it ignored the end of its stdin and TERM; killed"
                );
            }
        }
        self.outbox.close();
        self.child.kill().await;
    }

    /// Whether it ends by itself. What it writes meanwhile is read, so that it is not held up by that.
    async fn ends_within(&mut self, most: Duration) -> bool {
        let enough = tokio::time::sleep(most);
        tokio::pin!(enough);
        loop {
            if self.outbox.is_empty() {
                self.outbox.close();
            }
            tokio::select! {
                status = self.child.exited() => {
                    self.status = Some(status);
                    return true;
                }
                written = self.outbox.write() => {
                    if written.is_err() {
                        self.outbox.close();
                    }
                }
                ready = readable(&self.stdout) => self.pass_over(ready),
                ready = readable(&self.stderr) => self.read_stderr(ready),
                () = &mut enough => {
                    self.outbox.close();
                    return false;
                }
            }
        }
    }

    fn pass_over(&mut self, ready: io::Result<()>) {
        let Some(pipe) = &self.stdout else { return };
        let mut bytes = Vec::with_capacity(PLUGIN_READ_BYTES);
        match ready.and_then(|()| pipe.try_read_buf(&mut bytes)) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => self.stdout = None,
        }
    }
}

fn exit_words(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("it was killed by SIG{signal}"),
        None => format!("it exited with status {}", status.code()),
    }
}

async fn readable(pipe: &Option<PipeReader>) -> io::Result<()> {
    match pipe {
        Some(pipe) => pipe.readable().await,
        None => pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => pending().await,
    }
}
