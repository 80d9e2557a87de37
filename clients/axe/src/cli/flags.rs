//! The commands and their flags.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(
    name = "axe",
    version,
    args_override_self = true,
    about = "Runs LLM agents, small TOML files, from the shell.",
    after_long_help = "\
Start here:
  axe config init              make the config directory, with a sample skill
  axe agents init reviewer     make an agent; put a model into its file
  git diff | axe run reviewer  run it on a diff

Exit codes:
  0 success   1 runtime or usage error   2 config error   3 provider error   4 token budget exceeded"
)]
pub(super) struct Flags {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run an agent
    #[command(after_long_help = "\
Examples:
  axe run reviewer -p \"Review the README\"
  git diff | axe run reviewer
  git diff | axe run reviewer -p \"Only look at error handling\" --with-stdin
  axe run reviewer --json | jq -r .content
  axe run reviewer --dry-run

The message is -p, else what is piped in, else a fixed sentence that points at the instructions.
The final text goes to stdout as it is; everything else goes to stderr.")]
    Run(RunFlags),
    /// List, show, make, edit and check agents
    Agents(AgentsFlags),
    /// Find or make the config directory
    Config(ConfigFlags),
    /// Look through an agent's memory and trim it
    #[command(after_long_help = "\
A model reads the whole memory and reports what recurs in it. Then the oldest entries go, so that
memory.last_n stay, or memory.max_entries when that is not set. The model never chooses what goes.")]
    Gc(GcFlags),
    /// Print the version
    Version,
    /// Print a completion script
    #[command(
        alias = "completions",
        after_long_help = "\
Examples:
  source <(axe completion bash)
  axe completion fish > ~/.config/fish/completions/axe.fish"
    )]
    Completion {
        /// The shell; this help without it
        shell: Option<clap_complete::Shell>,
    },
}

#[derive(Debug, Args)]
pub(super) struct RunFlags {
    /// The agent's name: that of its file, without .toml
    pub(super) agent: String,
    /// What to ask
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) prompt: Option<String>,
    /// Put what is piped in after the text of -p
    #[arg(long)]
    pub(super) with_stdin: bool,
    /// Ask this model instead of the agent's, as provider/model-name
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    /// Use this skill instead of the agent's: a name below skills/ or a path
    #[arg(long, value_name = "SKILL")]
    pub(super) skill: Option<String>,
    /// Work in this directory
    #[arg(long, value_name = "DIR")]
    pub(super) workdir: Option<String>,
    /// Look for agents in this directory first
    #[arg(long, value_name = "DIR")]
    pub(super) agents_dir: Option<String>,
    /// Seconds that the whole run may take; 0 leaves it to the agent [default: 120]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(super) timeout: Option<u32>,
    /// Tokens that the whole run may use, sub-agents included; 0 leaves it to the agent
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true, value_parser = tokens)]
    pub(super) max_tokens: Option<u64>,
    /// Turns that the agent may take [default: 50]
    #[arg(long, value_name = "TURNS", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_turns: Option<u32>,
    /// Show the reply as it is written; =false overrules the agent
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = yes_or_no)]
    pub(super) stream: Option<bool>,
    /// Print what would be sent, and call nothing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, value_parser = yes_or_no, action = ArgAction::Set)]
    pub(super) dry_run: bool,
    /// Print diagnostics on stderr
    #[arg(short, long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, value_parser = yes_or_no, action = ArgAction::Set)]
    pub(super) verbose: bool,
    /// Print the result as one line of JSON
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, value_parser = yes_or_no, action = ArgAction::Set)]
    pub(super) json: bool,
    /// Print a line of JSON for everything that happens
    #[arg(long, conflicts_with = "json")]
    pub(super) events: bool,
    /// Put artifacts into this directory, and keep them
    #[arg(long, value_name = "DIR")]
    pub(super) artifact_dir: Option<String>,
    /// Keep the artifact directory that was made for this run
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, value_parser = yes_or_no, action = ArgAction::Set)]
    pub(super) keep_artifacts: bool,
    /// Record requests and replies in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub(super) record: Option<PathBuf>,
    /// Answer requests from a directory that --record filled: nothing is sent, no key is needed
    #[arg(long, value_name = "DIR")]
    pub(super) replay: Option<PathBuf>,
    /// Use the runtime that listens here instead of starting one
    #[arg(long, value_name = "PATH", env = "AXLR_SOCKET", hide_env_values = true)]
    pub(super) socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct AgentsFlags {
    #[command(subcommand)]
    pub(super) command: Option<AgentsCommand>,
}

#[derive(Debug, Subcommand)]
pub(super) enum AgentsCommand {
    /// List the agents that can be run
    List {
        #[command(flatten)]
        place: AgentsDir,
    },
    /// Show what an agent's file says
    Show(NamedAgent),
    /// Make a new agent's file
    Init(NamedAgent),
    /// Open an agent's file in $EDITOR
    Edit(NamedAgent),
    /// Look for mistakes in one agent's file, or in all
    #[command(after_long_help = "\
Finds what does not parse, unknown keys, missing skills and sub-agents, sub-agents that call
each other in a circle, hosts and file patterns that can never match, and names that are not
the file's.
Exits with 2 when there is any.")]
    Check {
        /// The agent; all without it
        agent: Option<String>,
        #[command(flatten)]
        place: AgentsDir,
    },
}

#[derive(Debug, Args)]
pub(super) struct NamedAgent {
    /// The agent's name: that of its file, without .toml
    pub(super) agent: String,
    #[command(flatten)]
    pub(super) place: AgentsDir,
}

#[derive(Debug, Args)]
pub(super) struct AgentsDir {
    /// Look for agents in this directory first
    #[arg(long, value_name = "DIR")]
    pub(super) agents_dir: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ConfigFlags {
    #[command(subcommand)]
    pub(super) command: Option<ConfigCommand>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print the config directory's path
    Path,
    /// Make the config directory; what is there stays
    Init,
}

#[derive(Debug, Args)]
pub(super) struct GcFlags {
    /// The agent whose memory is looked through
    pub(super) agent: Option<String>,
    /// Look through the memories of all agents
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, value_parser = yes_or_no, action = ArgAction::Set)]
    pub(super) all: bool,
    /// Report, but trim nothing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, value_parser = yes_or_no, action = ArgAction::Set)]
    pub(super) dry_run: bool,
    /// Ask this model instead of the agent's, as provider/model-name
    #[arg(long, value_name = "MODEL")]
    pub(super) model: Option<String>,
    #[command(flatten)]
    pub(super) place: AgentsDir,
}

fn tokens(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(true),
        "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}
