//! Flags, environment and configuration file, in this order of weight.

mod http;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use axlr::runtime::{Durability, PluginSetup, environment, plugin_sources};
use clap::{Parser, ValueEnum};
use serde::Deserialize;

use self::http::HttpFlags;
pub(crate) use self::http::{HttpOptions, McpOptions};

/// The daemon of axlr: serves files, search and programs of your directories on a Unix socket.
///
/// An editor, an IDE or an agent host connects, and sends one JSON object a line (or MessagePack frames). Nobody but
/// your own user can connect.
#[derive(Debug, Parser)]
#[command(name = "axlrd", version, after_long_help = AFTER_HELP)]
pub(crate) struct Flags {
    /// A directory that every connection may use; repeatable, the first is the default workspace.
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,

    /// Where to listen [default: $AXLR_SOCKET, else $XDG_RUNTIME_DIR/axlr/axlr.sock, else /tmp/axlr-UID/axlr.sock].
    #[arg(long, value_name = "PATH", conflicts_with = "stdio")]
    socket: Option<PathBuf>,

    /// Serve one connection on stdin and stdout instead of a socket, then exit.
    #[arg(long)]
    stdio: bool,

    /// What children may do; there is one profile: they run with your rights.
    #[arg(long, value_enum, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// A variable of the children's environment, which is otherwise empty; repeatable.
    #[arg(long, value_name = "KEY=VALUE")]
    env: Vec<String>,

    /// A variable to copy from the daemon's own environment, PATH or HOME say; repeatable.
    #[arg(long, value_name = "NAME")]
    env_pass: Vec<String>,

    /// A file of KEY=VALUE lines for the children's environment; keeps secrets off the command line.
    #[arg(long, value_name = "FILE")]
    env_file: Vec<PathBuf>,

    /// The absolute path of an MCP server's manifest, whose tools plugins.list and plugins.call reach; repeatable.
    #[arg(long, value_name = "FILE")]
    plugin: Vec<PathBuf>,

    /// A variable of a plugin's environment, which is otherwise empty; repeatable.
    #[arg(long, value_name = "ID:KEY=VALUE")]
    plugin_env: Vec<String>,

    /// A file of KEY=VALUE lines for a plugin's environment; keeps secrets off the command line.
    #[arg(long, value_name = "ID:FILE")]
    plugin_env_file: Vec<String>,

    /// A header of every request to a plugin at a URL: its value is what a file or a variable of the daemon's holds.
    #[arg(long, value_name = "ID:NAME=@FILE|$VARIABLE")]
    plugin_header: Vec<String>,

    /// Whether a write is on stable storage before it is answered (synced), or only all at once (atomic).
    #[arg(long, value_enum, value_name = "WHEN")]
    durability: Option<DurabilityFlag>,

    /// How long running requests may finish after SIGTERM or SIGINT, in seconds [default: 5].
    #[arg(long, value_name = "SECONDS")]
    drain: Option<f64>,

    /// A TOML file whose keys are the names of these flags [default: $XDG_CONFIG_HOME/axlr/config.toml, if it is there].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// What to log on stderr: a level, or target=level pairs [default: $AXLR_LOG, else info, without the MCP SDK's own].
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,

    /// How to log.
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,

    // The last, since its heading is that of all that follow.
    #[command(flatten)]
    http: HttpFlags,
}

/// The MCP SDK tells of every message at the level of our own news, and of every client that leaves as of an error.
const DEFAULT_LOG: &str = "info,rmcp=off";

const AFTER_HELP: &str = "\
Examples:
  axlrd --root ~/src/project --env-pass PATH --env-pass HOME
  echo '{\"protocol_version\":1,\"request_id\":\"1\",\"tool\":\"list\",\"arguments\":{}}' \\
    | axlrd --root . --stdio

Signals: TERM and INT stop the daemon, a second one skips the wait; HUP reopens the log.
Environment: AXLR_SOCKET and AXLR_LOG stand for --socket and --log;
AXLR_CONTAINMENT (cgroup, keeper) chooses how children are held, which is
otherwise found out.";

#[derive(Debug, Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Profile {
    TrustedLocal,
}

#[derive(Debug, Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DurabilityFlag {
    Synced,
    Atomic,
}

/// How the log looks.
#[derive(Debug, Clone, Copy, Default, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The configuration file: the flags by name.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct File {
    root: Vec<PathBuf>,
    socket: Option<PathBuf>,
    stdio: bool,
    #[serde(rename = "profile")]
    _profile: Option<Profile>,
    env: Vec<String>,
    env_pass: Vec<String>,
    env_file: Vec<PathBuf>,
    http: Option<std::net::SocketAddr>,
    mcp_http: Option<std::net::SocketAddr>,
    mcp_read_only: bool,
    mcp_with_plugins: bool,
    http_allow_origin: Vec<String>,
    http_host: Vec<String>,
    http_token_file: Option<PathBuf>,
    http_allow_remote: bool,
    http_console: bool,
    plugin: Vec<PathBuf>,
    plugin_env: Vec<String>,
    plugin_env_file: Vec<String>,
    plugin_header: Vec<String>,
    durability: Option<DurabilityFlag>,
    drain: Option<f64>,
    log: Option<String>,
    log_format: Option<LogFormat>,
}

/// Where requests come in.
#[derive(Debug)]
pub(crate) enum Door {
    Stdio,
    /// At this path, or at the default one.
    Socket(Option<PathBuf>),
}

impl Door {
    /// What one source says, if it says anything.
    fn of(stdio: bool, socket: Option<PathBuf>) -> Option<Self> {
        if stdio { Some(Self::Stdio) } else { socket.map(Some).map(Self::Socket) }
    }
}

/// Everything decided.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) door: Door,
    pub(crate) http: HttpOptions,
    /// Of the commands of the HTTP bridge, which has no workspaces.
    pub(crate) command_env: BTreeMap<String, String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) plugins: PluginSetup,
    pub(crate) durability: Durability,
    pub(crate) drain: Duration,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
}

impl Flags {
    /// Joins flags and file. Flags that repeat replace the file's list as a whole.
    pub(crate) fn resolve(self) -> anyhow::Result<Options> {
        let _ = self.profile;
        let file = read_file(self.config.as_deref())?;
        let given = environment::Sources {
            variables: or(self.env, file.env),
            pass: or(self.env_pass, file.env_pass),
            files: or(self.env_file, file.env_file),
            prefix: "",
        };
        let plugins = plugin_sources::Sources {
            manifests: or(self.plugin, file.plugin),
            files: or(self.plugin_env_file, file.plugin_env_file),
            variables: or(self.plugin_env, file.plugin_env),
            headers: or(self.plugin_header, file.plugin_header),
        };
        let drain = self.drain.or(file.drain).unwrap_or(5.0);
        let drain = Duration::try_from_secs_f64(drain).with_context(|| format!("--drain {drain}"))?;
        let door = Door::of(self.stdio, self.socket)
            .or_else(|| Door::of(false, variable("AXLR_SOCKET").map(PathBuf::from)))
            .or_else(|| Door::of(file.stdio, file.socket));
        let log = self.log.map_or_else(|| text_variable("AXLR_LOG"), |log| Ok(Some(log)))?;
        let http = HttpFlags {
            http: self.http.http.or(file.http),
            mcp_http: self.http.mcp_http.or(file.mcp_http),
            mcp_read_only: self.http.mcp_read_only || file.mcp_read_only,
            mcp_with_plugins: self.http.mcp_with_plugins || file.mcp_with_plugins,
            mcp_http_no_token: self.http.mcp_http_no_token,
            http_allow_origin: or(self.http.http_allow_origin, file.http_allow_origin),
            http_host: or(self.http.http_host, file.http_host),
            http_token_file: self.http.http_token_file.or(file.http_token_file),
            http_allow_remote: self.http.http_allow_remote || file.http_allow_remote,
            http_console: self.http.http_console || file.http_console,
        };
        let is_given = !given.is_empty();
        let env = given.collect()?;
        Ok(Options {
            command_env: if is_given { env.clone() } else { environment::ordinary() },
            env,
            http: http.resolve()?,
            roots: or(self.root, file.root),
            door: door.unwrap_or(Door::Socket(None)),
            plugins: plugins.read()?,
            durability: match self.durability.or(file.durability) {
                Some(DurabilityFlag::Atomic) => Durability::Atomic,
                Some(DurabilityFlag::Synced) | None => Durability::Synced,
            },
            drain,
            log: log.or(file.log).unwrap_or_else(|| DEFAULT_LOG.to_owned()),
            log_format: self.log_format.or(file.log_format).unwrap_or_default(),
        })
    }
}

fn or<T>(flag: Vec<T>, file: Vec<T>) -> Vec<T> {
    if flag.is_empty() { file } else { flag }
}

/// A variable of the daemon's own environment; an empty one counts as not set.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn text_variable(name: &str) -> anyhow::Result<Option<String>> {
    variable(name)
        .map(|value| value.into_string().map_err(|value| anyhow!("{name} {value:?} is not UTF-8")))
        .transpose()
}

fn read_file(named: Option<&Path>) -> anyhow::Result<File> {
    let Some(path) = named.map(Path::to_owned).or_else(default_file) else { return Ok(File::default()) };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // /dev/null as $XDG_CONFIG_HOME says that there is none; a home that is somebody else's holds none for us.
        Err(error)
            if named.is_none()
                && matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound
                        | std::io::ErrorKind::NotADirectory
                        | std::io::ErrorKind::PermissionDenied
                ) =>
        {
            return Ok(File::default());
        }
        Err(error) => return Err(error).with_context(|| format!("--config {}", path.display())),
    };
    toml::from_str(&text).with_context(|| format!("--config {}", path.display()))
}

fn default_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("axlr/config.toml"))
}
