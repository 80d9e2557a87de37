//! The command line.

use std::path::{Path, PathBuf};

use axlr::runtime::{Durability, plugin_sources};
use axlr_protocol::Tool;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::mcp;

mod plain;

pub(crate) use plain::plain;

/// Answers one request on stdin with the tools of axlr, or talks to a running axlrd.
///
/// Without a subcommand it reads one JSON request from stdin, runs it in --root, writes one JSON response and exits:
/// 0 when a valid request was answered (whatever its status), 2 when it was malformed, 1 when the flags are wrong or
/// the response could not be written. No daemon is needed for that.
#[derive(Debug, Parser)]
#[command(
    name = "axlr",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    after_long_help = EXAMPLES
)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) worker: WorkerFlags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const EXAMPLES: &str = r#"Examples:
  One request, no daemon:
    echo '{"protocol_version":1,"request_id":"1","tool":"read","arguments":{"path":"README.md"}}' |
      axlr --root . --profile trusted-local

  A daemon for you and your editor, in another terminal:
    axlrd --env-pass PATH --env-pass HOME

  and then:
    axlr call search pattern='fn main' glob='*.rs'
    axlr call exec -- cargo test
    axlr status"#;

/// The one-request mode.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct WorkerFlags {
    /// The directory that the request works in.
    #[arg(long, value_name = "DIR", required = true)]
    root: Option<PathBuf>,

    /// What the request may do; there is one profile: programs run with your rights.
    #[arg(long, value_enum, value_name = "PROFILE", required = true)]
    profile: Option<Profile>,

    /// A variable of the programs' environment, which is otherwise empty; repeatable.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(crate) env: Vec<String>,

    /// A file of KEY=VALUE lines for that environment; keeps secrets off the command line.
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,

    /// Whether a write is on stable storage before it is answered, or only all at once. With --socket it is the
    /// daemon that decides.
    #[arg(long, value_enum, value_name = "WHEN")]
    durability: Option<DurabilityFlag>,

    /// Hand the request to the daemon that listens there; AXLR_SOCKET is not looked at here.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    #[command(flatten)]
    plugins: PluginFlags,
}

/// The plugins of the workspace, in the worker and for a host.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct PluginFlags {
    /// The absolute path of an MCP server's manifest, whose tools plugins.list and plugins.call reach; repeatable.
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,

    /// A variable of a plugin's environment, which is otherwise empty; repeatable.
    #[arg(long, value_name = "ID:KEY=VALUE", allow_hyphen_values = true)]
    plugin_env: Vec<String>,

    /// A file of KEY=VALUE lines for a plugin's environment; keeps secrets off the command line.
    #[arg(long, value_name = "ID:FILE")]
    plugin_env_file: Vec<String>,

    /// A header of every request to a plugin at a URL: its value is what a file or a variable of axlr's holds.
    #[arg(long, value_name = "ID:NAME=@FILE|$VARIABLE")]
    plugin_header: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    TrustedLocal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DurabilityFlag {
    Synced,
    Atomic,
}

impl From<DurabilityFlag> for Durability {
    fn from(flag: DurabilityFlag) -> Self {
        match flag {
            DurabilityFlag::Synced => Self::Synced,
            DurabilityFlag::Atomic => Self::Atomic,
        }
    }
}

impl WorkerFlags {
    /// The root, which clap has seen to be there.
    pub(crate) fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new(""))
    }

    /// Whether a write waits for stable storage: yes, unless it was said otherwise.
    pub(crate) fn durability(&self) -> Durability {
        self.durability.map_or(Durability::Synced, Into::into)
    }

    /// Takes the plugins out.
    pub(crate) fn plugins(&mut self) -> plugin_sources::Sources {
        std::mem::take(&mut self.plugins).into()
    }
}

impl From<PluginFlags> for plugin_sources::Sources {
    fn from(flags: PluginFlags) -> Self {
        let PluginFlags { plugin, plugin_env, plugin_env_file, plugin_header } = flags;
        Self { manifests: plugin, files: plugin_env_file, variables: plugin_env, headers: plugin_header }
    }
}

/// What can be asked of a daemon, and the door for hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the tools to a host of the Model Context Protocol, on stdin and stdout.
    #[command(after_long_help = mcp::EXAMPLES)]
    Mcp(mcp::McpFlags),
    /// Call one tool and print what comes of it.
    #[command(after_long_help = CALL_EXAMPLES)]
    Call(CallFlags),
    /// Show what the daemon does and did.
    Status(ConnectionFlags),
    /// Show the daemon's tools and their arguments.
    Tools(ToolsFlags),
    /// Stop the daemon, and wait until it has gone.
    Stop(StopFlags),
    /// Print a completion script for a shell.
    ///
    /// For bash: axlr completions bash > ~/.local/share/bash-completion/completions/axlr
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// How to reach the daemon, and how to print.
#[derive(Debug, Args)]
pub(crate) struct ConnectionFlags {
    /// The daemon's socket [default: $AXLR_SOCKET, else $XDG_RUNTIME_DIR/axlr/axlr.sock, else /tmp/axlr-UID/axlr.sock].
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,

    /// Print one line of JSON instead of text for people.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `axlr call`.
#[derive(Debug, Args)]
pub(crate) struct CallFlags {
    /// The tool; `axlr tools` shows them with their arguments.
    #[arg(value_parser = PossibleValuesParser::new(Tool::ALL.iter().map(|tool| tool.as_str())), hide_possible_values = true)]
    pub(crate) tool: String,

    /// The arguments: one JSON object, or key=value pairs. A value takes the type of the tool's schema.
    #[arg(value_name = "JSON | KEY=VALUE")]
    pub(crate) arguments: Vec<String>,

    /// For exec: the program and its arguments, as they are.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,

    /// The directory to work in, opened for this call [default: the current one].
    #[arg(long, value_name = "DIR", conflicts_with = "workspace")]
    pub(crate) root: Option<PathBuf>,

    /// A workspace of the daemon to work in instead: one of its own roots.
    #[arg(long, value_name = "ID")]
    pub(crate) workspace: Option<String>,

    /// For search and list: stop after so many results.
    #[arg(long, value_name = "N", conflicts_with = "json", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max: Option<u64>,

    #[command(flatten)]
    pub(crate) connection: ConnectionFlags,
}

const CALL_EXAMPLES: &str = r#"Arguments:
  key=value       text as it is, whole numbers, true or false
  key=a key=b     items of a list; a JSON array does too
  env=NAME=VALUE  a member of an object; a JSON object does too
  key=@FILE       what FILE holds, @- is stdin; @@ stands for a plain @
  {"key":…}       all arguments as one JSON object; @FILE reads it from a file

Examples:
  axlr call read path=README.md
  axlr call search pattern='impl|trait' glob='*.rs' context_lines=2 --max 20
  axlr call list path=src recursive=true
  axlr call edit path=src/main.rs old_text=@old.txt new_text=@new.txt
  axlr call write '{"path":"notes/today.md","content":"hello\n","mode":"create","parents":true}'
  axlr call exec timeout_ms=300000 -- cargo test --workspace
  axlr call read path=README.md --json | jq -r .output.content_sha256

Search and list print page after page until the end. The program of exec
finds its environment in the daemon's --env and --env-pass, not in yours.

Exit status: 0 completed (whatever the exit code of exec's program), 2 the
request was malformed, 3 any other status, 1 wrong usage, no daemon or a broken
connection. Ctrl-C cancels the request; a second one leaves at once."#;

/// `axlr tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsFlags {
    /// Only these tools.
    pub(crate) tools: Vec<String>,

    #[command(flatten)]
    pub(crate) connection: ConnectionFlags,
}

/// `axlr stop`.
#[derive(Debug, Args)]
pub(crate) struct StopFlags {
    /// How long running requests may finish [default: the daemon's own].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) drain: Option<f64>,

    #[command(flatten)]
    pub(crate) connection: ConnectionFlags,
}
