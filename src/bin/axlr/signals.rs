//! SIGINT and SIGTERM, heard without a thread where a flag is enough.
//!
//! Nothing is set up before the request has been read: until then the signals end the process, as they do anywhere.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axlr::cancel::Cancel;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{flag, low_level};

/// A cancellation for tools that ask for it between files and chunks.
pub(crate) fn as_flag() -> io::Result<Cancel> {
    let is_set = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, is_set.clone())?;
    flag::register(SIGTERM, is_set.clone())?;
    // Past the file size limit a write fails, and is answered; unheard, the signal would end the process there.
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(Cancel::from_flag(is_set))
}

/// A cancellation for what sleeps until it is woken: a thread waits for the signal.
pub(crate) fn as_wake_up() -> io::Result<Cancel> {
    let mut signalled = as_stream()?;
    let cancel = Cancel::new();
    let cancelling = cancel.clone();
    std::thread::Builder::new().spawn(move || {
        // The other end lives in the signal handler, for good.
        if signalled.read_exact(&mut [0]).is_ok() {
            cancelling.cancel();
        }
    })?;
    Ok(cancel)
}

/// A stream that can be read once a signal has come.
pub(crate) fn as_stream() -> io::Result<UnixStream> {
    let (signalled, handler) = UnixStream::pair()?;
    low_level::pipe::register(SIGINT, handler.try_clone()?)?;
    low_level::pipe::register(SIGTERM, handler)?;
    Ok(signalled)
}
