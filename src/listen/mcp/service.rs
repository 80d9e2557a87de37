//! One session of the protocol: what its client may call, and where.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axlr_protocol::tool::{Empty, PluginTool, WorkspaceCloseArguments, WorkspaceOpenArguments};
use axlr_protocol::{Call, Code, ErrorBody, Output};
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig, Tool as Described};
use serde_json::value::RawValue;
use tokio::sync::watch::Sender;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use super::arguments;
use super::caller::{Answer, Caller, Job};
use super::faces::{FACES, Face};
use super::plugins::{Named, Plugins};
use super::render::Subject;
use super::reply::Reply;
use super::roots::folder_of;
use super::watch::{Note, Watch};
use crate::capacity::{PROGRESS_EVERY, ROOTS_PATIENCE};

#[cfg(test)]
mod tests;

/// What every session of a door has in common.
pub struct Settings {
    /// The directories that may be worked in; the first is the default. At least one.
    pub roots: Vec<Root>,
    /// Whether only the tools that change nothing are offered.
    pub read_only: bool,
    /// Whether the tools of the workspace's plugins are offered too; never together with `read_only`.
    pub with_plugins: bool,
    /// How a folder inside of a root is opened as a workspace; its own `root` is not looked at.
    pub open: WorkspaceOpenArguments,
}

/// A directory that may be worked in.
pub struct Root {
    /// Absolute and without symlinks.
    pub path: PathBuf,
    /// The workspace that stands for it; `None` is the caller's default.
    pub workspace: Option<String>,
}

/// The tools of one client.
pub struct Service<C> {
    caller: C,
    settings: Arc<Settings>,
    faces: Vec<&'static Face>,
    plugins: Option<Plugins>,
    /// The folder that the client's roots named.
    folder: Mutex<Option<Folder>>,
    /// Whether it is known where paths begin. Calls wait for that, for a while.
    is_settled: Sender<bool>,
    /// Whether the client offered to name roots.
    has_roots: AtomicBool,
    /// Counts how often the roots had to be asked for; only the last answer holds.
    asked: Sender<u64>,
    /// Held while the folder is exchanged.
    moving: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Folder {
    workspace: String,
    path: PathBuf,
    /// Held by the calls that work there.
    in_use: Arc<RwLock<()>>,
}

/// Where a call works. The workspace is not closed before it is dropped.
#[derive(Default)]
struct Place {
    workspace: Option<String>,
    _in_use: Option<OwnedRwLockReadGuard<()>>,
}

/// Takes the steps of progress of one call to the client.
pub(super) type Steps = Box<dyn Fn(Note) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A call as the client sent it.
pub(super) struct Incoming<'m> {
    pub(super) name: &'m str,
    pub(super) arguments: Option<&'m RawValue>,
    /// The root that the call names, where there are several.
    pub(super) root: Option<&'m str>,
    /// Where the client wants to hear of progress.
    pub(super) steps: Option<Steps>,
}

/// A call that can be carried out without what the client sent.
pub(super) struct Prepared {
    what: Result<What, ErrorBody>,
    workspace: Option<String>,
    bytes: usize,
    steps: Option<Steps>,
}

enum What {
    Ours(Call),
    /// Not known yet: the plugins must be asked again.
    Plugin {
        name: String,
        arguments: Option<Box<RawValue>>,
    },
}

/// No tool has that name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownTool(pub(super) String);

impl<C: Caller> Service<C> {
    /// A session whose calls `caller` carries out.
    pub fn new(caller: C, settings: Arc<Settings>) -> Self {
        let faces = FACES.iter().filter(|face| !settings.read_only || face.only_reads()).collect();
        // Nobody knows what a plugin's tool changes.
        let plugins = (settings.with_plugins && !settings.read_only).then(Plugins::default);
        Self {
            caller,
            settings,
            faces,
            plugins,
            folder: Mutex::default(),
            is_settled: Sender::new(true),
            has_roots: AtomicBool::new(false),
            asked: Sender::default(),
            moving: tokio::sync::Mutex::default(),
        }
    }

    /// What the server says of itself.
    pub(super) fn info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let implementation = Implementation::new("axlr", env!("CARGO_PKG_VERSION"))
            .with_title("axlr")
            .with_description("Files, search and programs of a directory.");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(self.instructions())
    }

    fn instructions(&self) -> String {
        let roots = self.root_names();
        let place = match &roots[..] {
            [root] => format!("The workspace is {root}."),
            roots => {
                let roots = roots.join(", ");
                format!("The workspaces are {roots}; `root` chooses one, the first is the default.")
            }
        };
        let mut text = format!(
            "{place} Paths are relative to it, with / between their parts and without \"..\"; nothing outside of it \
             can be read or written. If your host names roots inside of it, paths are relative to that root (to the \
             deepest folder that holds them all, when they are several).\n\
             Files are read in pages of at most 1 MiB and hold at most 1 MiB when they are edited. Results of \
             search_text and list_files come in pages: go on with `offset`. Mistakes are told as `code: message`."
        );
        if !self.settings.read_only {
            text.push_str(
                "\nwrite_file with mode \"replace\" wants the `expected_sha256` of what it replaces, which read_file \
                 gives as `content_sha256`: when a file has changed meanwhile, the answer is `conflict`; read it \
                 again. Prefer edit_file for changes inside of a file.",
            );
        }
        text
    }

    fn root_names(&self) -> Vec<String> {
        self.settings.roots.iter().map(|root| root.path.display().to_string()).collect()
    }

    /// The tools that can be called now.
    pub(super) async fn tools(&self) -> Vec<Described> {
        let roots = self.root_names();
        let mut tools: Vec<Described> = self.faces.iter().map(|face| face.describe(&roots)).collect();
        if let Some(plugins) = &self.plugins {
            tools.extend(plugins.renew(self.plugin_tools().await));
        }
        tools
    }

    /// What the plugins offer; nothing when one of them can't be had, which must not take our own tools away.
    async fn plugin_tools(&self) -> Vec<PluginTool> {
        let mut place = self.place();
        let workspace = place.workspace.take();
        let job = Job { call: Call::PluginsList(Empty {}), workspace, watch: None, bytes: 0 };
        match self.caller.call(job).await {
            Ok(Output::PluginsList(output)) => output.tools,
            Ok(_) => Vec::new(),
            Err(error) => {
                tracing::warn!(code = error.code.as_str(), error.message, "the plugins' tools are left out");
                Vec::new()
            }
        }
    }

    /// Whether a call of that tool may name one of several roots. The arguments of a plugin's are its own.
    pub(super) fn takes_root(&self, tool: &str) -> bool {
        self.settings.roots.len() > 1 && self.faces.iter().any(|face| face.name == tool)
    }

    /// Reads what the client sent.
    ///
    /// # Errors
    /// No tool has that name. Every other mistake is for the model, so it becomes the result.
    pub(super) fn prepare(&self, incoming: Incoming<'_>) -> Result<Prepared, UnknownTool> {
        let Incoming { name, arguments, root, steps } = incoming;
        let what = match self.faces.iter().find(|face| face.name == name) {
            Some(face) => arguments::read(face.tool, arguments)
                .map(What::Ours)
                .map_err(|error| ErrorBody { message: face.in_its_words(error.message), ..error }),
            None if self.plugins.is_some() && name.contains("__") => {
                Ok(What::Plugin { name: name.to_owned(), arguments: arguments.map(ToOwned::to_owned) })
            }
            None => return Err(UnknownTool(name.to_owned())),
        };
        let bytes = arguments.map_or(0, |arguments| arguments.get().len());
        let (what, workspace) = match root.map(|root| self.root(root)).transpose() {
            Ok(workspace) => (what, workspace.flatten()),
            Err(error) => (Err(error), None),
        };
        Ok(Prepared { what, workspace, bytes, steps })
    }

    fn root(&self, name: &str) -> Result<Option<String>, ErrorBody> {
        let root = self.settings.roots.iter().find(|root| root.path.as_os_str() == name);
        root.map(|root| root.workspace.clone()).ok_or_else(|| {
            let message = format!("root must be one of {}, got {name:?}", self.root_names().join(", "));
            ErrorBody { code: Code::InvalidRequest, message }
        })
    }

    /// Carries a call out. Dropping the future cancels it.
    ///
    /// # Errors
    /// No plugin has a tool of that name.
    pub(super) async fn run(&self, prepared: Prepared) -> Result<Reply, UnknownTool> {
        let Prepared { what, workspace, bytes, steps } = prepared;
        let call = match what {
            Ok(What::Ours(call)) => Ok(call),
            Ok(What::Plugin { name, arguments }) => {
                let Named { plugin, tool } = self.plugin(name).await?;
                arguments::of_plugin(&plugin, &tool, arguments.as_deref())
            }
            Err(error) => Err(error),
        };
        let call = match call {
            Ok(call) => call,
            Err(error) => return Ok(Reply::failure(&error)),
        };
        self.settle().await;
        let subject = Subject::of(&call);
        let mut place = match workspace {
            None => self.place(),
            workspace => Place { workspace, ..Place::default() },
        };
        let workspace = place.workspace.take();
        let watch = steps.as_ref().and_then(|_| Watch::new(&call)).map(Arc::new);
        let answer = self.caller.call(Job { call, workspace, watch: watch.clone(), bytes });
        let answer = match (watch, steps) {
            (Some(watch), Some(steps)) => watched(answer, &watch, steps).await,
            _ => answer.await,
        };
        Ok(match answer {
            Ok(output) => Reply::success(&subject, output),
            Err(error) => Reply::failure(&error),
        })
    }

    async fn plugin(&self, name: String) -> Result<Named, UnknownTool> {
        let Some(plugins) = &self.plugins else { return Err(UnknownTool(name)) };
        if let Some(named) = plugins.find(&name) {
            return Ok(named);
        }
        // The client knows a tool that this session was not asked for yet.
        plugins.renew(self.plugin_tools().await);
        plugins.find(&name).ok_or(UnknownTool(name))
    }

    /// The workspace of a call that names none.
    fn place(&self) -> Place {
        match &*self.folder() {
            // Nobody waits to close what is still the folder, so this can't fail.
            Some(folder) => Place {
                workspace: Some(folder.workspace.clone()),
                _in_use: folder.in_use.clone().try_read_owned().ok(),
            },
            None => Place { workspace: self.first_workspace(), _in_use: None },
        }
    }

    fn folder(&self) -> MutexGuard<'_, Option<Folder>> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client has made the handshake. When it is going to name its roots, calls wait until it has.
    pub(super) fn begin(&self, has_roots: bool) {
        self.caller.begin();
        self.has_roots.store(has_roots, Ordering::Release);
        self.is_settled.send_replace(!has_roots);
    }

    /// The roots are to be asked for, for the first time or because they have changed: calls wait again. Returns the
    /// number of the question; `None` when the client never offered to name roots.
    pub(super) fn roots_are_unknown(&self) -> Option<u64> {
        if !self.has_roots.load(Ordering::Acquire) {
            return None;
        }
        self.asked.send_modify(|asked| *asked += 1);
        self.is_settled.send_replace(false);
        Some(*self.asked.borrow())
    }

    /// Returns when the roots had to be asked for once more.
    pub(super) async fn is_asked_again(&self, question: u64) {
        let _ = self.asked.subscribe().wait_for(|asked| *asked != question).await;
    }

    /// Waits until the client has named its roots. A client that does not is served all the same.
    async fn settle(&self) {
        if *self.is_settled.borrow() {
            return;
        }
        let mut settled = self.is_settled.subscribe();
        let waited = tokio::time::timeout(ROOTS_PATIENCE, settled.wait_for(|is_settled| *is_settled)).await;
        if waited.is_err() {
            tracing::warn!("the client offers roots and does not name them; it works where it was");
            self.is_settled.send_replace(true);
        }
    }

    /// Takes the client's roots, the answer to that question; `None` when it did not name any after all.
    pub(super) async fn take_roots(&self, question: u64, uris: Option<Vec<String>>) {
        let last = {
            let _moving = self.moving.lock().await;
            if *self.asked.borrow() != question {
                return;
            }
            let last = match uris {
                Some(uris) => self.move_to(&uris).await,
                None => None,
            };
            if *self.asked.borrow() == question {
                self.is_settled.send_replace(true);
            }
            last
        };
        let Some(Folder { workspace, in_use, .. }) = last else { return };
        // Closing it ends what runs there, and a build need not die because its user opened one more folder.
        drop(in_use.write().await);
        let call = Call::WorkspaceClose(WorkspaceCloseArguments { workspace });
        // What is not held any more is closed already.
        let _ = self.caller.call(Job { call, workspace: None, watch: None, bytes: 0 }).await;
    }

    /// Returns the folder that is left, if one is.
    async fn move_to(&self, uris: &[String]) -> Option<Folder> {
        let found = self.settings.roots.iter().find_map(|root| {
            let folder = folder_of(&root.path, uris)?;
            Some((root, folder))
        });
        if let (Some((_, path)), Some(folder)) = (&found, &*self.folder())
            && *path == folder.path
        {
            return None;
        }
        let next = match found {
            // The whole root needs no workspace of its own.
            Some((root, folder)) if folder == root.path && root.workspace == self.first_workspace() => None,
            Some((root, folder)) => self.open(root, folder).await,
            None => None,
        };
        match &next {
            Some(folder) => {
                let folder = folder.path.display().to_string();
                tracing::info!(folder, "the client's roots narrow the workspace");
            }
            None => tracing::info!("the client's roots leave the workspace as it is"),
        }
        std::mem::replace(&mut *self.folder(), next)
    }

    fn first_workspace(&self) -> Option<String> {
        self.settings.roots.first().and_then(|root| root.workspace.clone())
    }

    async fn open(&self, root: &Root, folder: PathBuf) -> Option<Folder> {
        let Some(path) = folder.to_str() else {
            tracing::info!(folder = %folder.display(), "the name of the client's root is not UTF-8; it is passed over");
            return None;
        };
        let call = Call::WorkspaceOpen(WorkspaceOpenArguments {
            root: path.to_owned(),
            default: None,
            ..self.settings.open.clone()
        });
        match self.caller.call(Job { call, workspace: None, watch: None, bytes: 0 }).await {
            // Asked again of what was opened: the folder may have become a symlink meanwhile.
            Ok(Output::WorkspaceOpen(opened)) if PathBuf::from(&opened.root).starts_with(&root.path) => {
                Some(Folder { workspace: opened.workspace, path: folder, in_use: Arc::default() })
            }
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(code = error.code.as_str(), error.message, "the client's root was not opened");
                None
            }
        }
    }
}

/// Waits for the answer and tells of progress meanwhile, now and then.
async fn watched(answer: impl Future<Output = Answer>, watch: &Watch, steps: Steps) -> Answer {
    tokio::pin!(answer);
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
    // A client that takes steps slowly gets fewer of them.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer.map(|output| watch.complete(output)),
            _ = ticks.tick() => {
                if let Some(note) = watch.note() {
                    steps(note).await;
                }
            }
        }
    }
}
