//! The command line of `axlr mcp`.

use std::path::PathBuf;

use clap::Args;

use crate::flags::{DurabilityFlag, PluginFlags};

/// `axlr mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpFlags {
    /// The directory that the tools work in; nothing outside of it can be read or written by them. (A program that they
    /// run can: it has your rights.)
    #[arg(long, value_name = "DIR")]
    pub(super) root: PathBuf,

    /// Offer only the tools that change nothing: read_file, search_text and list_files.
    #[arg(long)]
    pub(super) read_only: bool,

    /// A variable of the programs' environment, which is otherwise empty; repeatable.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub(super) env: Vec<String>,

    /// A variable to copy from this process's own environment, PATH or HOME say; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(super) env_pass: Vec<String>,

    /// A file of KEY=VALUE lines for that environment; keeps secrets off the command line.
    #[arg(long, value_name = "FILE")]
    pub(super) env_file: Vec<PathBuf>,

    /// Whether a write is on stable storage before it is answered, or only all at once. With --socket it is the
    /// daemon that decides.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub(super) durability: Option<DurabilityFlag>,

    /// Let the daemon that listens there do the work; AXLR_SOCKET is not looked at here.
    #[arg(long, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,

    /// Offer the tools of plugins too, each as PLUGIN__TOOL: those of --plugin or, with --socket and without any, the
    /// daemon's own.
    #[arg(long)]
    pub(super) with_plugins: bool,

    #[command(flatten)]
    pub(super) plugins: PluginFlags,

    /// What to log on stderr: a level, or target=level pairs [default: $AXLR_LOG, else info without the SDK's own].
    #[arg(long, value_name = "FILTER")]
    pub(super) log: Option<String>,
}

/// What follows the long help.
pub(crate) const EXAMPLES: &str = r#"Tools: read_file, write_file, edit_file, run_program, search_text, list_files.
The roots that a host names narrow the workspace when they lie inside of --root;
others are passed over. stdout carries the protocol alone, the log is on stderr.

Most hosts start it from an entry like this one:
  {
    "mcpServers": {
      "axlr": {
        "command": "axlr",
        "args": ["mcp", "--root", "/home/me/project", "--env-pass", "PATH", "--env-pass", "HOME"]
      }
    }
  }

Claude Code does from a line, in the folder of the project:
  claude mcp add axlr -- axlr mcp --root "$PWD" --env-pass PATH --env-pass HOME

docs/mcp.md has entries for more hosts. To see what a host sees:
  npx @modelcontextprotocol/inspector --cli axlr mcp --root . --method tools/list"#;
