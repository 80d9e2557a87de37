//! The socket's protocol on stdin and stdout, for one connection: an editor that starts its own daemon, or ssh.

use std::os::fd::AsFd;

use tokio::io::{Stdout, stdin, stdout};

use super::connection::{Watched, serve};
use crate::runtime::Runtime;

/// Serves stdin and stdout until the input ends and all is answered, or until nobody reads stdout any more.
pub async fn serve_stdio(runtime: Runtime) {
    runtime.traffic().open();
    let watched = Watched { descriptor: |stdout: &Stdout| stdout.as_fd(), is_one_socket: false };
    serve(runtime.clone(), stdin(), stdout(), watched).await;
    runtime.traffic().close();
}
