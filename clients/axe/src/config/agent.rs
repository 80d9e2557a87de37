//! An agent: what its TOML file says, validated.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::limits;
use crate::secret::Secret;

/// Name of a JSON schema that has none.
const DEFAULT_SCHEMA_NAME: &str = "response";

/// One agent. A number of 0 in the file means "not set" and is `None` here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// What it calls itself. It is found by its file's name, which may differ.
    pub name: String,
    /// For people.
    pub description: String,
    /// `provider/model-name`, not yet split: `--model` may replace it.
    pub model: String,
    /// The start of the system prompt.
    pub system_prompt: String,
    /// The skill's name or path; empty for none.
    pub skill: String,
    /// Patterns of context files, relative to the workdir.
    pub files: Vec<String>,
    /// Where it works; empty for the current directory.
    pub workdir: String,
    /// Time of a whole run.
    pub timeout: Option<Duration>,
    /// Whether replies are streamed.
    pub stream: bool,
    /// The built-in tools it may use, each once.
    pub tools: Vec<BuiltIn>,
    /// Hosts that `url_fetch` may reach, normalised; empty for all public ones.
    pub allowed_hosts: Vec<String>,
    /// Agents it may call.
    pub sub_agents: Vec<String>,
    /// How it calls them.
    pub sub_agents_config: SubAgents,
    /// What it remembers.
    pub memory: MemorySettings,
    /// What the model is asked with.
    pub params: Params,
    /// How failed requests are repeated.
    pub retry: RetrySettings,
    /// Tokens that a whole run may use, sub-agents included.
    pub budget_max_tokens: Option<u64>,
    /// Where artifacts go.
    pub artifacts: ArtifactSettings,
    /// MCP servers, in the order of the file.
    pub mcp_servers: Vec<McpServer>,
}

/// The tools that axe brings. `call_agent` is not among them: it comes with `sub_agents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BuiltIn {
    /// Names in a directory.
    ListDirectory,
    /// Lines of a file.
    ReadFile,
    /// Writes a whole file.
    WriteFile,
    /// Replaces text in a file.
    EditFile,
    /// Runs a shell command.
    RunCommand,
    /// Fetches a page.
    UrlFetch,
    /// Searches the web.
    WebSearch,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ListDirectory,
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::RunCommand,
        Self::UrlFetch,
        Self::WebSearch,
    ];

    /// The name in files and for models.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ListDirectory => "list_directory",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::RunCommand => "run_command",
            Self::UrlFetch => "url_fetch",
            Self::WebSearch => "web_search",
        }
    }

    /// The tool of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }
}

/// `[sub_agents_config]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubAgents {
    /// How deep calls may nest, when the file says so.
    pub max_depth: Option<u32>,
    /// Whether calls of one turn run at once, when the file says so.
    pub is_parallel: Option<bool>,
    /// Time of one call.
    pub timeout: Option<Duration>,
}

impl SubAgents {
    /// How deep calls may nest.
    pub fn effective_max_depth(&self) -> u32 {
        self.max_depth.unwrap_or(limits::DEFAULT_MAX_DEPTH)
    }

    /// Whether calls of one turn run at once.
    pub fn runs_in_parallel(&self) -> bool {
        self.is_parallel.unwrap_or(true)
    }
}

/// `[memory]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemorySettings {
    /// Whether runs are remembered.
    pub is_enabled: bool,
    /// A file or directory; empty for the usual place.
    pub path: String,
    /// Entries that a run sees; None for all.
    pub last_n: Option<usize>,
    /// Entries from which on a warning is given.
    pub max_entries: Option<usize>,
}

/// `[params]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params {
    /// None leaves it to the provider.
    pub temperature: Option<f64>,
    /// Cap of one reply; None leaves it to the provider.
    pub max_tokens: Option<u64>,
    /// None when the file names none.
    pub response_format: Option<ResponseFormat>,
}

/// `params.response_format`.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    /// Plain text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema {
        /// The schema's name.
        name: String,
        /// The schema without it.
        schema: Value,
    },
}

impl ResponseFormat {
    /// A format with a schema, whose `name` member becomes the format's name.
    pub(super) fn with_schema(mut schema: Value) -> Self {
        let name = schema.as_object_mut().and_then(|members| members.remove("name"));
        let name = name.as_ref().and_then(Value::as_str).unwrap_or(DEFAULT_SCHEMA_NAME).to_owned();
        Self::JsonSchema { name, schema }
    }

    /// The type's name in files.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::JsonObject => "json_object",
            Self::JsonSchema { .. } => "json_schema",
        }
    }

    /// What providers are told; plain text needs no word.
    pub fn for_provider(&self) -> Option<crate::provider::ResponseFormat> {
        match self {
            Self::Text => None,
            Self::JsonObject => Some(crate::provider::ResponseFormat::JsonObject),
            Self::JsonSchema { name, schema } => Some(crate::provider::ResponseFormat::JsonSchema {
                name: name.clone(),
                schema: schema.clone(),
            }),
        }
    }
}

/// `[retry]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// Tries after the first one, for each request.
    pub max_retries: u32,
    /// How waits grow.
    pub backoff: Backoff,
    /// The first wait.
    pub initial_delay: Duration,
    /// The longest wait of our own choice; a provider may ask for a longer one.
    pub max_delay: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            max_retries: 0,
            backoff: Backoff::Exponential,
            initial_delay: limits::DEFAULT_INITIAL_DELAY,
            max_delay: limits::DEFAULT_MAX_DELAY,
        }
    }
}

/// How the waits between tries grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backoff {
    /// Doubling, with a random part of up to the first wait.
    Exponential,
    /// By the first wait each time.
    Linear,
    /// Not at all.
    Fixed,
}

impl Backoff {
    /// The name in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exponential => "exponential",
            Self::Linear => "linear",
            Self::Fixed => "fixed",
        }
    }
}

/// `[artifacts]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArtifactSettings {
    /// Whether runs have an artifact directory.
    pub is_enabled: bool,
    /// The directory; empty for a new one each run.
    pub dir: String,
    /// Whether `write_file` goes there unless told otherwise.
    pub is_default_write: bool,
}

/// One of `[[mcp_servers]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Unique in its agent.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
}

/// How an MCP server is reached. Values of headers and of the environment may hold `${NAME}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// The older HTTP transport with server-sent events.
    Sse {
        /// http or https.
        url: String,
        /// Sent with every request.
        headers: BTreeMap<String, String>,
    },
    /// Streamable HTTP.
    StreamableHttp {
        /// http or https.
        url: String,
        /// Sent with every request.
        headers: BTreeMap<String, String>,
    },
    /// A child process.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Added to its environment.
        env: BTreeMap<String, String>,
    },
}

impl Transport {
    /// The name in files.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Sse { .. } => "sse",
            Self::StreamableHttp { .. } => "streamable-http",
            Self::Stdio { .. } => "stdio",
        }
    }

    /// Where it is, for people: a URL without the user, password and query that may be secrets, or a command line.
    pub fn place(&self) -> String {
        match self {
            Self::Sse { url, .. } | Self::StreamableHttp { url, .. } => public_part(url),
            Self::Stdio { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(String::as_str);
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The headers or the environment with their variables filled in.
    ///
    /// # Errors
    /// A variable is unset or empty.
    pub fn resolve_secrets(
        &self,
        environment: &super::Environment,
    ) -> Result<BTreeMap<String, Secret>, super::Unset> {
        let (Self::Sse { headers: values, .. }
        | Self::StreamableHttp { headers: values, .. }
        | Self::Stdio { env: values, .. }) = self;
        let resolve = |(name, value): (&String, &String)| {
            Ok((name.clone(), Secret::new(environment.expand_braced(value)?)))
        };
        values.iter().map(resolve).collect()
    }

    /// Whether nobody may see a value: any header's, and of the environment what comes from axe's own.
    pub fn hides(&self, name: &str) -> bool {
        match self {
            Self::Sse { .. } | Self::StreamableHttp { .. } => true,
            Self::Stdio { env, .. } => env.get(name).is_some_and(|value| value.contains("${")),
        }
    }
}

fn public_part(url: &str) -> String {
    let Ok(mut parsed) = url::Url::parse(url) else { return "(invalid)".to_owned() };
    if parsed.username().is_empty() && parsed.password().is_none() && parsed.query().is_none() {
        return url.to_owned();
    }
    // Neither fails for a URL that has a host, and only such ones pass validation.
    let _ = parsed.set_username("");
    let _ = parsed.set_password(None);
    parsed.set_query(None);
    parsed.into()
}
