//! The socket's protocol on stdin and stdout, for one connection: an editor that starts its own daemon, or ssh.

use std::os::fd::AsFd;

use tokio::io::{stdin, stdout};

use super::connection::serve;
use crate::runtime::Runtime;

/// Serves stdin and stdout until the input ends and all is answered, or until nobody reads stdout any more.
pub async fn serve_stdio(runtime: Runtime) {
    runtime.traffic().open();
    serve(runtime.clone(), stdin(), stdout(), |stdout| stdout.as_fd()).await;
    runtime.traffic().close();
}
