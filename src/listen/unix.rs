//! The Unix socket: where it is, who owns it, who may connect.
//!
//! Source: SPEC §2, unix(7).

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axlr_protocol::decode::{self, Door};
use axlr_protocol::frame::{Decoder, Frame};
use axlr_protocol::{Code, ErrorBody, Response, codec, limits};
use rustix::buffer::spare_capacity;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use super::connection::{Watched, serve};
use super::glance::Arrived;
use crate::runtime::{Phase, Runtime};

/// How long a connection that is one too many may take to say what it wants before it is closed without an answer.
const EXCESS_PATIENCE: Duration = Duration::from_secs(1);
/// How long accepting pauses when the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why the socket could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The kernel takes no longer path.
    #[error("the socket path {} has {} bytes; a Unix socket takes at most {}", path.display(), path.as_os_str().len(), limits::SOCKET_PATH_MAX_BYTES)]
    TooLong {
        /// The path.
        path: PathBuf,
    },
    /// Somebody else could put a socket of his own there.
    #[error("the folder {} of the socket {reason}; it must belong to this user and be writable by nobody else", folder.display())]
    UnsafeFolder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A live daemon holds the lock.
    #[error("another axlrd is already listening on {}", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// What stands there is not removed.
    #[error("{} exists and is no socket; it is left alone", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A listening socket, and the lock that says that its daemon lives.
#[derive(Debug)]
pub struct SocketListener {
    listener: UnixListener,
    /// What to remove at the end; a socket that came by activation belongs to its maker.
    bound: Option<Bound>,
}

#[derive(Debug)]
struct Bound {
    path: PathBuf,
    inode: u64,
    /// Locked for as long as this process lives.
    _lock: File,
}

/// `$XDG_RUNTIME_DIR/axlr/axlr.sock`, else `/tmp/axlr-UID/axlr.sock`.
pub fn default_socket_path() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute());
    match runtime {
        Some(folder) => Path::new(&folder).join("axlr/axlr.sock"),
        None => PathBuf::from(format!("/tmp/axlr-{}/axlr.sock", own_uid())),
    }
}

impl SocketListener {
    /// Makes the socket, 0600, in a folder that is made 0700 when it is missing.
    ///
    /// # Errors
    /// See [`BindError`]. Must be called within a tokio runtime.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let failed = |source| BindError::Io { path: path.to_owned(), source };
        if path.as_os_str().len() > limits::SOCKET_PATH_MAX_BYTES {
            return Err(BindError::TooLong { path: path.to_owned() });
        }
        prepare_folder(path)?;
        let lock = lock(path)?;
        remove_stale(path)?;
        let listener = bind_private(path).map_err(failed)?;
        let inode = std::fs::symlink_metadata(path).map_err(failed)?.ino();
        let bound = Bound { path: path.to_owned(), inode, _lock: lock };
        Ok(Self { listener: register(listener).map_err(failed)?, bound: Some(bound) })
    }

    /// Takes a socket that listens already, from systemd.
    ///
    /// # Errors
    /// It can't be registered. Must be called within a tokio runtime.
    pub fn from_activation(listener: StdListener) -> io::Result<Self> {
        Ok(Self { listener: register(listener)?, bound: None })
    }

    /// The socket's path; `None` when it came by activation.
    pub fn path(&self) -> Option<&Path> {
        self.bound.as_ref().map(|bound| bound.path.as_path())
    }

    /// Accepts until the runtime is asked to stop. The socket is removed when the listener is dropped.
    pub async fn accept(&self, runtime: &Runtime) {
        let mut phase = runtime.phase();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => welcome(runtime, stream),
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                _ = phase.wait_for(|phase| *phase != Phase::Running) => return,
            }
        }
    }
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        let Some(bound) = &self.bound else { return };
        let is_ours =
            std::fs::symlink_metadata(&bound.path).is_ok_and(|metadata| metadata.ino() == bound.inode);
        if is_ours && let Err(error) = std::fs::remove_file(&bound.path) {
            tracing::warn!(%error, "the socket could not be removed");
        }
    }
}

/// A socket that is 0600 from its first moment: by the time that a chmod(2) came, somebody could have connected. The
/// umask is the process's, but nothing makes files yet.
fn bind_private(path: &Path) -> io::Result<StdListener> {
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let bound = StdListener::bind(path);
    rustix::process::umask(before);
    bound
}

fn register(listener: StdListener) -> io::Result<UnixListener> {
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn prepare_folder(socket: &Path) -> Result<(), BindError> {
    let folder = match socket.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = |source| BindError::Io { path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let metadata = std::fs::metadata(folder).map_err(failed)?;
    // Of a symlink the owner counts too: he could point it elsewhere.
    let owner = std::fs::symlink_metadata(folder).map_err(failed)?.uid();
    let unsafe_folder = |reason: String| Err(BindError::UnsafeFolder { folder: folder.to_owned(), reason });
    if metadata.uid() != own_uid() || owner != own_uid() {
        return unsafe_folder(format!("belongs to user {}", metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return unsafe_folder(format!("has mode {:04o}", metadata.mode() & 0o7777));
    }
    Ok(())
}

fn lock(socket: &Path) -> Result<File, BindError> {
    let mut path = socket.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let failed = |source| BindError::Io { path: path.clone(), source };
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(&path)
        .map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(BindError::InUse { path: socket.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// With the lock in hand: a socket that is there was left by a dead daemon.
fn remove_stale(path: &Path) -> Result<(), BindError> {
    let failed = |source| BindError::Io { path: path.to_owned(), source };
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => std::fs::remove_file(path).map_err(failed),
        Ok(_) => Err(BindError::NotASocket { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

fn welcome(runtime: &Runtime, stream: UnixStream) {
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own_uid() => {}
        // Closed without a byte.
        Ok(peer) => return tracing::warn!(uid = peer.uid(), "refused a connection of another user"),
        Err(error) => return tracing::warn!(%error, "refused a connection whose user is unknown"),
    }
    let counted = Counted::new(runtime.clone());
    if counted.number > runtime.connections_max() {
        tokio::spawn(refuse(stream, counted));
        return;
    }
    tokio::spawn(async move {
        let (reader, writer) = stream.into_split();
        let watched =
            Watched { descriptor: |writer: &OwnedWriteHalf| writer.as_ref().as_fd(), is_one_socket: true };
        serve(counted.runtime.clone(), reader, writer, watched).await;
    });
}

/// Past the event loop: its idea of what can be read is left as it is, and put right by its own next read.
impl Arrived for OwnedReadHalf {
    fn arrived(&mut self, buffer: &mut Vec<u8>) -> Option<io::Result<usize>> {
        let stream: &UnixStream = self.as_ref();
        match recv(stream, spare_capacity(buffer), RecvFlags::DONTWAIT) {
            Ok((count, _)) => Some(Ok(count)),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(errno) => Some(Err(errno.into())),
        }
    }
}

/// Answers the first frame of a connection that is one too many.
async fn refuse(mut stream: UnixStream, counted: Counted) {
    let answer = async {
        let mut decoder = Decoder::new(limits::REQUEST_MAX_BYTES);
        loop {
            let has_ended = stream.read_buf(decoder.buffer()).await? == 0;
            let encoding = decoder.encoding();
            // A last line without LF counts, as on every connection.
            let frame = if has_ended { decoder.finish() } else { decoder.next() };
            if let Some((encoding, frame)) = encoding.zip(frame) {
                let mut response = Vec::new();
                codec::response(encoding, &excess(encoding, &frame, &counted.runtime), &mut response);
                return stream.write_all(&response).await;
            }
            if has_ended {
                return Ok(());
            }
        }
    };
    // Whatever comes of it, the connection is closed.
    let _: Result<io::Result<()>, _> = tokio::time::timeout(EXCESS_PATIENCE, answer).await;
}

fn excess(encoding: axlr_protocol::Encoding, frame: &Frame<'_>, runtime: &Runtime) -> Response {
    let received = frame.document().and_then(|document| decode::request(encoding, document, Door::Socket));
    let (request_id, tool) = match received {
        Ok(request) => (request.request_id, Some(request.call.tool())),
        Err(malformed) => (malformed.request_id, malformed.tool),
    };
    let now = std::time::SystemTime::now();
    let message =
        format!("the daemon has {} connections already; try again later", runtime.connections_max());
    Response {
        request_id,
        tool,
        started_at: now,
        finished_at: now,
        duration_ms: 0,
        outcome: Err(ErrorBody { code: Code::Overloaded, message }),
    }
}

/// One connection in the count of those that are open.
struct Counted {
    runtime: Runtime,
    number: usize,
}

impl Counted {
    fn new(runtime: Runtime) -> Self {
        let number = runtime.traffic().open();
        Self { runtime, number }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.runtime.traffic().close();
    }
}
