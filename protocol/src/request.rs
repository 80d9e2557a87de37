//! A decoded request.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tool::{
    EditArguments, Empty, ExecArguments, ExecSignalArguments, ExecWriteArguments, ListArguments,
    PluginsCallArguments, ReadArguments, RequestCancelArguments, SearchArguments, ServerStopArguments,
    WorkspaceCloseArguments, WorkspaceOpenArguments, WriteArguments,
};

/// One request, decoded and well-formed. What its arguments mean is for the tool to judge.
///
/// Source: SPEC §1.1 and §4.1.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Correlates; 1 to 128 bytes without control characters.
    pub request_id: String,
    /// The workspace's id; `None` is the connection's default. Only on the socket.
    pub workspace: Option<String>,
    /// Whether events may precede the response. Only on the socket.
    pub stream: bool,
    /// The tool and its arguments.
    pub call: Call,
}

macro_rules! tools {
    ($($(#[$doc:meta])* $name:ident($arguments:ty) = $text:literal, $door:ident;)*) => {
        /// The name of a tool.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Tool { $($(#[$doc])* $name,)* }

        /// A tool with its arguments.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call { $($(#[$doc])* $name($arguments),)* }

        impl Tool {
            /// Every tool, in the order in which `server.info` lists them.
            pub const ALL: &[Tool] = &[$(Tool::$name),*];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Tool::$name => $text),* }
            }

            /// The tool of that name, compared exactly.
            pub fn from_name(name: &str) -> Option<Tool> {
                match name { $($text => Some(Tool::$name),)* _ => None }
            }

            /// Whether the one-request worker knows this tool too; the others are the daemon's own.
            pub const fn is_worker_tool(self) -> bool {
                match self { $(Tool::$name => tools!(@$door)),* }
            }
        }

        impl Call {
            /// The tool that is called.
            pub const fn tool(&self) -> Tool {
                match self { $(Call::$name(_) => Tool::$name),* }
            }

            /// Reads the arguments of `tool`.
            pub(crate) fn read<'de, D: Deserializer<'de>>(tool: Tool, from: D) -> Result<Call, D::Error> {
                match tool { $(Tool::$name => <$arguments>::deserialize(from).map(Call::$name)),* }
            }

            /// Writes the arguments alone.
            pub(crate) fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                match self { $(Call::$name(arguments) => arguments.serialize(to)),* }
            }
        }
    };
    (@worker) => { true };
    (@daemon) => { false };
}

tools! {
    /// Reads a page of a file.
    Read(ReadArguments) = "read", worker;
    /// Creates or replaces a file.
    Write(WriteArguments) = "write", worker;
    /// Replaces one literal occurrence in a file.
    Edit(EditArguments) = "edit", worker;
    /// Runs a program.
    Exec(ExecArguments) = "exec", worker;
    /// Searches lines of files.
    Search(SearchArguments) = "search", worker;
    /// Lists a directory.
    List(ListArguments) = "list", worker;
    /// Lists the tools of the plugins.
    PluginsList(Empty) = "plugins.list", worker;
    /// Calls a plugin's tool.
    PluginsCall(PluginsCallArguments) = "plugins.call", worker;
    /// Answers at once.
    ServerPing(Empty) = "server.ping", daemon;
    /// Describes the daemon.
    ServerInfo(Empty) = "server.info", daemon;
    /// Counts what the daemon did.
    ServerStats(Empty) = "server.stats", daemon;
    /// Stops the daemon.
    ServerStop(ServerStopArguments) = "server.stop", daemon;
    /// Opens a directory as a workspace.
    WorkspaceOpen(WorkspaceOpenArguments) = "workspace.open", daemon;
    /// Lists the open workspaces.
    WorkspaceList(Empty) = "workspace.list", daemon;
    /// Gives back one open of a workspace.
    WorkspaceClose(WorkspaceCloseArguments) = "workspace.close", daemon;
    /// Cancels a request of this connection.
    RequestCancel(RequestCancelArguments) = "request.cancel", daemon;
    /// Writes to the stdin of a running exec.
    ExecWrite(ExecWriteArguments) = "exec.write", daemon;
    /// Signals the process group of a running exec.
    ExecSignal(ExecSignalArguments) = "exec.signal", daemon;
}
