//! The way to `axlrd`: files and commands are requests to it, and workspaces are the directories it works in.
//!
//! A running daemon is used when a socket is named. Otherwise axe starts one of its own at the first request, over its
//! stdin and stdout, and ends it with the run. This room knows neither tools nor agents.

mod child;
mod error;
mod files;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use axlr_client::tool::WorkspaceOpenArguments;
use axlr_client::{Client, Encoding, Workspace};
use futures_util::FutureExt as _;
use tokio::sync::Mutex;

use child::Child;
pub use error::Error;
pub use files::ContextFiles;
pub(crate) use files::{Listing, list_directory, name, read_page};

/// Where the daemon is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Daemon {
    /// One that listens on this socket.
    Listening(PathBuf),
    /// One of axe's own: this program, started with `--stdio`.
    Own(PathBuf),
}

impl Daemon {
    /// The one at `socket`, when there is one named; else axe's own, found beside axe's own binary, then on `PATH`,
    /// given as `path`.
    pub fn find(socket: Option<PathBuf>, path: Option<&str>) -> Self {
        match socket {
            Some(socket) => Self::Listening(socket),
            None => Self::Own(child::find_program(path)),
        }
    }
}

/// The connection, made when it is first needed, and the workspaces opened on it.
#[derive(Debug)]
pub struct Runtime {
    daemon: Daemon,
    connection: Mutex<Option<Connection>>,
}

#[derive(Debug)]
struct Connection {
    client: Client,
    workspaces: HashMap<PathBuf, Workspace>,
    child: Option<Child>,
}

impl Runtime {
    /// Connects to nothing yet.
    pub fn new(daemon: Daemon) -> Self {
        Self { daemon, connection: Mutex::new(None) }
    }

    /// The workspace of a directory, given by its absolute path. Its commands get the environment of their request and
    /// nothing else, whatever the daemon's own is. A connection that broke is made anew.
    ///
    /// # Errors
    /// There is no daemon, or it refuses the directory.
    pub async fn workspace(&self, root: &Path) -> Result<Workspace, Error> {
        let mut connection = self.connection.lock().await;
        if connection.as_ref().is_some_and(Connection::is_broken) {
            *connection = None;
        }
        let connection = match &mut *connection {
            Some(connection) => connection,
            none => none.insert(self.connect().await?),
        };
        connection.workspace(root).await
    }

    /// Ends the connection, and a daemon of axe's own with all that it runs. It takes a second at most.
    pub async fn close(&self) {
        let connection = self.connection.lock().await.take();
        if let Some(Connection { client, workspaces, child }) = connection {
            drop(workspaces);
            drop(client);
            if let Some(child) = child {
                child.end().await;
            }
        }
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let (client, child) = match &self.daemon {
            Daemon::Listening(path) => (Client::connect(path, Encoding::MessagePack).await?, None),
            Daemon::Own(program) => {
                let (client, child) = Child::start(program)?;
                (client, Some(child))
            }
        };
        Ok(Connection { client, workspaces: HashMap::new(), child })
    }
}

impl Connection {
    fn is_broken(&self) -> bool {
        self.client.closed().now_or_never().is_some()
    }

    async fn workspace(&mut self, root: &Path) -> Result<Workspace, Error> {
        if let Some(workspace) = self.workspaces.get(root) {
            return Ok(workspace.clone());
        }
        let text = root.to_str().ok_or_else(|| Error::NotText { path: root.to_owned() })?;
        let arguments = WorkspaceOpenArguments {
            root: text.to_owned(),
            env: Some(axlr_client::tool::StringMap::default()),
            plugins: Some(Vec::new()),
            ..Default::default()
        };
        let opened = match self.client.workspace_open(arguments).await {
            Ok(opened) => opened,
            Err(error @ axlr_client::CallError::Broken { .. }) => {
                let last_words = match &mut self.child {
                    Some(child) => child.last_words().await,
                    None => String::new(),
                };
                return Err(Error::Ended { reason: error.to_string(), last_words });
            }
            Err(error) => return Err(Error::Open { path: root.to_owned(), source: error }),
        };
        let workspace = self.client.workspace(opened.workspace);
        self.workspaces.insert(root.to_owned(), workspace.clone());
        Ok(workspace)
    }
}
