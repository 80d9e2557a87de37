//! A daemon for tests: the real one, built beside them.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Daemon, Runtime};

/// The daemon's program. It is built with the workspace: `cargo build --bin axlrd`.
pub(crate) fn daemon() -> PathBuf {
    let mut folder = std::env::current_exe().expect("a test has a path");
    loop {
        assert!(folder.pop(), "build axlrd first: cargo build --bin axlrd");
        let program = folder.join("axlrd");
        if program.is_file() {
            return program;
        }
    }
}

/// A runtime over a daemon of its own.
pub(crate) fn runtime() -> Arc<Runtime> {
    Arc::new(Runtime::new(Daemon::Own(daemon())))
}
