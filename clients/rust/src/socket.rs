//! Where the socket is, and whether its listener may be trusted.
//!
//! Source: SPEC §2, unix(7).

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixStream;

use crate::error::ConnectError;

/// `$AXLR_SOCKET`, else `$XDG_RUNTIME_DIR/axlr/axlr.sock`, else `/tmp/axlr-UID/axlr.sock`.
pub fn default_socket_path() -> PathBuf {
    socket_path(std::env::var_os("AXLR_SOCKET"), std::env::var_os("XDG_RUNTIME_DIR"))
}

pub(crate) fn socket_path(named: Option<OsString>, runtime: Option<OsString>) -> PathBuf {
    if let Some(path) = named.filter(|path| !path.is_empty()) {
        return PathBuf::from(path);
    }
    match runtime.map(PathBuf::from).filter(|folder| folder.is_absolute()) {
        Some(folder) => folder.join("axlr/axlr.sock"),
        None => PathBuf::from(format!("/tmp/axlr-{}/axlr.sock", own_uid())),
    }
}

/// Connects without an event loop, for programs that send one request.
///
/// # Errors
/// See [`ConnectError`]; a listener that is not this user's is a stranger, and is sent nothing.
pub fn connect_blocking(path: &Path) -> Result<StdUnixStream, ConnectError> {
    let stream = StdUnixStream::connect(path).map_err(|source| failed(path, source))?;
    check(path, stream.as_fd())?;
    Ok(stream)
}

pub(crate) async fn connect(path: &Path) -> Result<UnixStream, ConnectError> {
    let stream = UnixStream::connect(path).await.map_err(|source| failed(path, source))?;
    check(path, stream.as_fd())?;
    Ok(stream)
}

fn failed(path: &Path, source: std::io::Error) -> ConnectError {
    ConnectError::Connect { path: path.to_owned(), source }
}

fn check(path: &Path, stream: BorrowedFd<'_>) -> Result<(), ConnectError> {
    let stranger = |reason| ConnectError::Stranger { path: path.to_owned(), reason };
    judge_listener(path, stream, own_uid()).map_err(stranger)
}

pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The kernel remembers who called listen(2).
#[cfg(target_os = "linux")]
pub(crate) fn judge_listener(_path: &Path, stream: BorrowedFd<'_>, own: u32) -> Result<(), String> {
    match rustix::net::sockopt::socket_peercred(stream) {
        Ok(peer) if peer.uid.as_raw() == own => Ok(()),
        Ok(peer) => Err(format!("its listener is user {}, and you are user {own}", peer.uid.as_raw())),
        Err(error) => Err(format!("the user of its listener can't be known: {error}")),
    }
}

/// Where the kernel can't be asked: nobody else can have put the socket there.
#[cfg(not(target_os = "linux"))]
pub(crate) fn judge_listener(path: &Path, _stream: BorrowedFd<'_>, own: u32) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    for place in [folder, path] {
        let metadata = std::fs::metadata(place).map_err(|error| format!("{}: {error}", place.display()))?;
        if metadata.uid() != own || metadata.mode() & 0o022 != 0 {
            return Err(format!("{} is not this user's alone", place.display()));
        }
    }
    Ok(())
}
