//! The daemon's side of keepers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;

use super::warden::{Charge, Post};
use super::wire::{self, CHUNK_BYTES, Reply, Request};
use crate::process::capacity::{IDLE_KEEPERS_MAX, TREE_DEATH_WAIT};
use crate::process::command::Order;
use crate::process::error::StartError;
use crate::process::{ExitStatus, descriptors};

/// The keepers that wait for work, and the warden who makes more.
pub(in crate::process) struct Keepers {
    idle: Mutex<Vec<OwnedFd>>,
    pub(super) post: Post,
}

/// A program that a keeper started, and its tree.
pub(in crate::process) struct Kept {
    /// None only while it is dropped.
    socket: Option<AsyncFd<OwnedFd>>,
    keepers: Arc<Keepers>,
    pid: i32,
    status: Option<ExitStatus>,
    is_empty: bool,
    /// Whether the keeper still lives and can be used again.
    is_sound: bool,
}

impl Keepers {
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let keepers = Arc::new(Self { idle: Mutex::default(), post: Post::man(&Charge::Keepers)? });
        let first = keepers.hire()?;
        keepers.idle().push(first);
        Ok(keepers)
    }

    /// Has a new keeper made.
    fn hire(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = wire::pair()?;
        self.post.keep(&Charge::Keepers)?;
        self.post.make_keeper(&theirs)?;
        Ok(ours)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, socket: OwnedFd) {
        let mut idle = self.idle();
        if idle.len() < IDLE_KEEPERS_MAX {
            idle.push(socket);
        }
    }
}

impl Kept {
    /// Has a keeper start a program.
    pub(super) async fn start(keepers: &Arc<Keepers>, order: &Order) -> Result<Self, StartError> {
        let socket = Self::ask(keepers, order).await?;
        match receive(&socket).await? {
            Reply::Started(pid) => Ok(Self {
                socket: Some(socket),
                keepers: Arc::clone(keepers),
                pid,
                status: None,
                is_empty: false,
                is_sound: true,
            }),
            Reply::Stillborn(stillborn) => {
                keepers.give_back(socket.into_inner());
                Err(order.explain(stillborn))
            }
            Reply::Exited { .. } | Reply::Empty => {
                Err(StartError::Resources(io::ErrorKind::InvalidData.into()))
            }
        }
    }

    /// Sends the order to an idle keeper, or to a new one.
    async fn ask(keepers: &Keepers, order: &Order) -> Result<AsyncFd<OwnedFd>, StartError> {
        let [input, output, errors] = &order.stdio;
        let descriptors = [order.directory.as_fd(), input.as_fd(), output.as_fd(), errors.as_fd()];
        let request = Request::Start {
            bytes: order.block.strings.len(),
            counts: order.block.counts,
            descriptors: descriptors::before(),
        };
        let socket = loop {
            let idle = keepers.idle().pop();
            let is_new = idle.is_none();
            let socket = idle.map_or_else(|| keepers.hire(), Ok)?;
            match request.send(&socket, &descriptors) {
                // SAFETY: the registration owns the descriptor.
                Ok(()) => break unsafe { AsyncFd::register(socket) }.map_err(io::Error::from)?,
                // Somebody killed it while it was idle; it had nothing to hold.
                Err(_) if !is_new => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        };
        for chunk in order.block.strings.chunks(CHUNK_BYTES) {
            loop {
                let mut ready = socket.writable().await?;
                let sent = ready.try_io(|socket| Ok(wire::send(socket.as_fd(), chunk, &[])?));
                if let Ok(sent) = sent {
                    break sent?;
                }
            }
        }
        Ok(socket)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Waits until the program has ended. May be asked again.
    pub(super) async fn exited(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.status {
                return status;
            }
            self.learn().await;
        }
    }

    /// Waits until no process of the tree is left.
    pub(super) async fn emptied(&mut self) {
        while !self.is_empty {
            self.learn().await;
        }
    }

    /// Waits until a killed tree is gone, for [`TREE_DEATH_WAIT`] at most.
    pub(super) async fn dead(&mut self) {
        let _ = tokio::time::timeout(TREE_DEATH_WAIT, self.emptied()).await;
    }

    async fn learn(&mut self) {
        let reply = match &self.socket {
            Some(socket) => receive(socket).await,
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        self.note(reply);
    }

    /// Learns what has been told already.
    fn peek(&mut self) {
        if let Some(socket) = &self.socket {
            let reply = Reply::receive(socket.get_ref().as_fd());
            if !matches!(&reply, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
                self.note(reply);
            }
        }
    }

    fn note(&mut self, reply: io::Result<Reply>) {
        match reply {
            Ok(Reply::Exited { status, empty }) => {
                self.status = Some(status);
                self.is_empty = empty;
            }
            Ok(Reply::Empty) => self.is_empty = true,
            // The keeper was killed. Its warden kills the tree, so this is how the program ends.
            Ok(Reply::Started(_) | Reply::Stillborn(_)) | Err(_) => {
                self.is_sound = false;
                self.is_empty = true;
                self.status.get_or_insert(ExitStatus::Signal(libc::SIGKILL));
            }
        }
    }

    /// Sends a signal to the process group; false when the program has ended.
    pub(super) fn signal(&mut self, signal: Signal) -> bool {
        self.peek();
        self.status.is_none() && self.tell(&Request::Signal(signal.as_raw()))
    }

    /// Kills the process group, ended or not.
    pub(super) fn kill_group(&mut self) {
        self.tell_or_end(&Request::KillGroup);
    }

    /// Kills the whole tree at once.
    pub(super) fn kill(&mut self) {
        self.tell_or_end(&Request::Kill);
    }

    fn tell(&self, request: &Request) -> bool {
        self.socket.as_ref().is_some_and(|socket| request.send(socket.get_ref(), &[]).is_ok())
    }

    /// A keeper that cannot be told is told by the end of its socket.
    fn tell_or_end(&mut self, request: &Request) {
        if !self.is_empty && !self.tell(request) {
            self.is_sound = false;
            if let Some(socket) = &self.socket {
                let _ = rustix::net::shutdown(socket.get_ref(), rustix::net::Shutdown::Write);
            }
        }
    }

    /// What the program left running, when it has ended.
    pub(super) fn settle(mut self) -> Option<Self> {
        self.peek_empty();
        (self.status.is_some() && !self.is_empty).then_some(self)
    }

    fn peek_empty(&mut self) {
        if !self.is_empty {
            self.peek();
        }
    }
}

impl Drop for Kept {
    /// A keeper whose tree is gone can be used again. Any other sees the end of its socket and ends what it holds.
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take()
            && self.is_empty
            && self.is_sound
        {
            self.keepers.give_back(socket.into_inner());
        }
    }
}

async fn receive(socket: &AsyncFd<OwnedFd>) -> io::Result<Reply> {
    loop {
        let mut ready = socket.readable().await?;
        if let Ok(reply) = ready.try_io(|socket| Reply::receive(socket.as_fd())) {
            return reply;
        }
    }
}
