//! Agent files as TOML: from the text to a raw document, and from there to an [`Agent`] or the first broken rule.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::agent::{
    Agent, ArtifactSettings, Backoff, BuiltIn, McpServer, MemorySettings, Params, ResponseFormat,
    RetrySettings, SubAgents, Transport,
};
use super::{Error, hosts};
use crate::limits;

/// An agent file as it stands. Validation turns it into an [`Agent`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Document {
    name: String,
    model: String,
    description: String,
    system_prompt: String,
    skill: String,
    files: Vec<String>,
    workdir: String,
    timeout: i64,
    stream: bool,
    tools: Vec<String>,
    allowed_hosts: Vec<String>,
    sub_agents: Vec<String>,
    sub_agents_config: SubAgentsDocument,
    memory: MemoryDocument,
    params: ParamsDocument,
    retry: RetryDocument,
    budget: BudgetDocument,
    artifacts: ArtifactsDocument,
    mcp_servers: Vec<McpServerDocument>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SubAgentsDocument {
    max_depth: i64,
    parallel: Option<bool>,
    timeout: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MemoryDocument {
    enabled: bool,
    path: String,
    last_n: i64,
    max_entries: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ParamsDocument {
    temperature: f64,
    max_tokens: i64,
    response_format: Option<toml::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RetryDocument {
    max_retries: i64,
    backoff: String,
    initial_delay_ms: i64,
    max_delay_ms: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BudgetDocument {
    max_tokens: i64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ArtifactsDocument {
    enabled: bool,
    dir: String,
    default_write: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct McpServerDocument {
    name: String,
    transport: String,
    url: String,
    headers: BTreeMap<String, String>,
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
}

impl Document {
    /// Checks every rule and stops at the first that is broken.
    pub(super) fn validate(self) -> Result<Agent, Error> {
        require_field("name", &self.name)?;
        require_field("model", &self.model)?;
        let sub_agents_config = self.sub_agents_config.validate()?;
        let timeout = seconds("timeout", self.timeout)?;
        let memory = self.memory.validate()?;
        let tools = tools(&self.tools)?;
        let mcp_servers = mcp_servers(self.mcp_servers)?;
        let retry = self.retry.validate()?;
        let budget_max_tokens = positive("budget.max_tokens", self.budget.max_tokens)?;
        let artifacts = self.artifacts.validate()?;
        let params = self.params.validate()?;
        let allowed_hosts = hosts::normalise_all(&self.allowed_hosts)?;
        Ok(Agent {
            name: self.name,
            description: self.description,
            model: self.model,
            system_prompt: self.system_prompt,
            skill: self.skill,
            files: self.files,
            workdir: self.workdir,
            timeout,
            stream: self.stream,
            tools,
            allowed_hosts,
            sub_agents: self.sub_agents,
            sub_agents_config,
            memory,
            params,
            retry,
            budget_max_tokens,
            artifacts,
            mcp_servers,
        })
    }
}

impl SubAgentsDocument {
    fn validate(self) -> Result<SubAgents, Error> {
        let max_depth = positive("sub_agents_config.max_depth", self.max_depth)?;
        if max_depth.is_some_and(|depth| depth > limits::MAX_DEPTH.into()) {
            return broken(format!("sub_agents_config.max_depth cannot exceed {}", limits::MAX_DEPTH));
        }
        Ok(SubAgents {
            max_depth: max_depth.and_then(|depth| u32::try_from(depth).ok()),
            is_parallel: self.parallel,
            timeout: seconds("sub_agents_config.timeout", self.timeout)?,
        })
    }
}

impl MemoryDocument {
    fn validate(self) -> Result<MemorySettings, Error> {
        let count = |key, value| {
            let value = positive(key, value)?;
            Ok::<_, Error>(value.map(|value| usize::try_from(value).unwrap_or(usize::MAX)))
        };
        Ok(MemorySettings {
            is_enabled: self.enabled,
            path: self.path,
            last_n: count("memory.last_n", self.last_n)?,
            max_entries: count("memory.max_entries", self.max_entries)?,
        })
    }
}

impl ParamsDocument {
    fn validate(self) -> Result<Params, Error> {
        let temperature = self.temperature;
        if !temperature.is_finite() || temperature < 0.0 {
            return broken(format!("params.temperature must be a non-negative number, got {temperature}"));
        }
        Ok(Params {
            temperature: (temperature > 0.0).then_some(temperature),
            max_tokens: positive("params.max_tokens", self.max_tokens)?,
            response_format: self.response_format.map(response_format).transpose()?,
        })
    }
}

impl RetryDocument {
    fn validate(self) -> Result<RetrySettings, Error> {
        let max_retries = positive("retry.max_retries", self.max_retries)?.unwrap_or(0);
        let backoff = match self.backoff.as_str() {
            "" | "exponential" => Backoff::Exponential,
            "linear" => Backoff::Linear,
            "fixed" => Backoff::Fixed,
            other => {
                return broken(format!(
                    "retry.backoff must be one of: exponential, linear, fixed; got {other:?}"
                ));
            }
        };
        let initial_ms = positive("retry.initial_delay_ms", self.initial_delay_ms)?;
        let max_ms = positive("retry.max_delay_ms", self.max_delay_ms)?;
        if let (Some(initial), Some(max)) = (initial_ms, max_ms)
            && max < initial
        {
            return broken(format!(
                "retry.max_delay_ms ({max}) must not be less than retry.initial_delay_ms ({initial})"
            ));
        }
        let default = RetrySettings::default();
        Ok(RetrySettings {
            max_retries: u32::try_from(max_retries).unwrap_or(u32::MAX),
            backoff,
            initial_delay: initial_ms.map_or(default.initial_delay, Duration::from_millis),
            max_delay: max_ms.map_or(default.max_delay, Duration::from_millis),
        })
    }
}

impl ArtifactsDocument {
    fn validate(self) -> Result<ArtifactSettings, Error> {
        if !self.dir.is_empty() && !self.enabled {
            return broken("artifacts.dir is set but artifacts.enabled is not true");
        }
        if self.dir.split(['/', '\\']).any(|part| part == "..") {
            return broken(format!("artifacts.dir must not contain \"..\", got {:?}", self.dir));
        }
        Ok(ArtifactSettings { is_enabled: self.enabled, dir: self.dir, is_default_write: self.default_write })
    }
}

impl McpServerDocument {
    fn transport(self, at: &str) -> Result<Transport, Error> {
        if self.transport == "stdio" {
            if self.command.trim().is_empty() {
                return broken(format!("{at}.command is required for transport \"stdio\""));
            }
            return Ok(Transport::Stdio { command: self.command, args: self.args, env: self.env });
        }
        check_url(at, &self.url)?;
        match self.transport.as_str() {
            "sse" => Ok(Transport::Sse { url: self.url, headers: self.headers }),
            "streamable-http" => Ok(Transport::StreamableHttp { url: self.url, headers: self.headers }),
            other => {
                broken(format!("{at}.transport must be one of: sse, streamable-http, stdio; got {other:?}"))
            }
        }
    }
}

fn mcp_servers(documents: Vec<McpServerDocument>) -> Result<Vec<McpServer>, Error> {
    let mut names = BTreeSet::new();
    let mut servers = Vec::with_capacity(documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        let at = format!("mcp_servers[{index}]");
        let name = document.name.clone();
        if name.trim().is_empty() {
            return broken(format!("{at}.name is required"));
        }
        let transport = document.transport(&at)?;
        if !names.insert(name.clone()) {
            return broken(format!("mcp_servers names must be unique, {name:?} occurs twice"));
        }
        servers.push(McpServer { name, transport });
    }
    Ok(servers)
}

fn check_url(at: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return broken(format!("{at}.url is required"));
    }
    let url = match url::Url::parse(text) {
        Ok(url) => url,
        Err(url::ParseError::EmptyHost) => return broken(format!("{at}.url must include a host")),
        Err(error) => return broken(format!("{at}.url is invalid: {error}")),
    };
    if !matches!(url.scheme(), "http" | "https") {
        return broken(format!("{at}.url must use http or https scheme, got {:?}", url.scheme()));
    }
    if !url.has_host() {
        return broken(format!("{at}.url must include a host"));
    }
    Ok(())
}

fn tools(names: &[String]) -> Result<Vec<BuiltIn>, Error> {
    let mut tools = Vec::with_capacity(names.len());
    for name in names {
        let Some(tool) = BuiltIn::from_name(name) else {
            return broken(format!("unknown tool {name:?} in tools config"));
        };
        // Providers refuse a request that offers one tool twice.
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Ok(tools)
}

fn response_format(value: toml::Value) -> Result<ResponseFormat, Error> {
    const NAMES: &str = "text, json_object, json_schema";
    let (kind, schema) = match value {
        toml::Value::String(kind) => (kind, None),
        toml::Value::Table(mut table) => {
            let Some(toml::Value::String(kind)) = table.remove("type") else {
                return broken(format!("params.response_format.type must be one of: {NAMES}"));
            };
            (kind, table.remove("schema"))
        }
        other => {
            return broken(format!(
                "params.response_format must be a string or a table, got {}",
                other.type_str()
            ));
        }
    };
    match (kind.as_str(), schema) {
        ("text", _) => Ok(ResponseFormat::Text),
        ("json_object", _) => Ok(ResponseFormat::JsonObject),
        ("json_schema", Some(toml::Value::Table(schema))) => {
            Ok(ResponseFormat::with_schema(json(toml::Value::Table(schema))))
        }
        ("json_schema", _) => {
            broken("params.response_format \"json_schema\" needs a table with type and schema")
        }
        (other, _) => broken(format!("params.response_format must be one of: {NAMES}; got {other:?}")),
    }
}

/// The same value in JSON; dates become strings.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(moment) => Value::String(moment.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, json(value))).collect())
        }
    }
}

fn require_field(key: &str, value: &str) -> Result<(), Error> {
    if value.trim().is_empty() {
        return broken(format!("agent config missing required field: {key}"));
    }
    Ok(())
}

/// None for 0.
fn positive(key: &str, value: i64) -> Result<Option<u64>, Error> {
    match u64::try_from(value) {
        Ok(0) => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(_) => broken(format!("{key} must be non-negative")),
    }
}

fn seconds(key: &str, value: i64) -> Result<Option<Duration>, Error> {
    Ok(positive(key, value)?.map(Duration::from_secs))
}

fn broken<T>(rule: impl Into<String>) -> Result<T, Error> {
    Err(Error::Invalid(rule.into()))
}
