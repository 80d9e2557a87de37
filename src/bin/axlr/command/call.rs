//! `axlr call`: one tool, printed as suits it.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use axlr_client::tool::{
    EditOutput, PluginsCallOutput, PluginsListOutput, WorkspaceListOutput, WorkspaceOpenArguments,
    WriteOutput,
};
use axlr_client::{AnyResponse, Call, Client, Code, ErrorBody, Status, Tool, Workspace};
use axlr_protocol::decode::Malformed;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::human::{Side, count, counted, table};
use super::interrupt::Interrupt;
use super::screen::Screen;
use super::{arguments, exec, list, read, search};
use crate::flags::CallFlags;
use crate::worker;
use crate::{EXIT_COMPLETED, EXIT_MALFORMED, EXIT_NOT_COMPLETED};

/// What a call works with.
pub(super) struct Caller {
    pub(super) workspace: Workspace,
    pub(super) screen: Screen,
    pub(super) interrupt: Interrupt,
    /// After how many results to stop.
    pub(super) max: Option<u64>,
}

/// Runs `axlr call`.
pub(super) async fn run(flags: CallFlags) -> anyhow::Result<u8> {
    // The command line knows only names of tools.
    let tool = Tool::from_name(&flags.tool).with_context(|| format!("there is no tool {}", flags.tool))?;
    if flags.max.is_some() && !matches!(tool, Tool::Search | Tool::List) {
        bail!("--max is for search and list");
    }
    let call = match arguments::call(tool, &flags.arguments, &flags.program)? {
        Ok(call) => call,
        Err(malformed) => return refuse(malformed, flags.connection.json),
    };
    let client = super::connect(&flags.connection).await?;
    let workspace = match &flags.workspace {
        Some(id) => client.workspace(id.as_str()),
        None if needs_workspace(tool) => open(&client, flags.root.as_deref()).await?,
        None => client.default_workspace(),
    };
    let interrupt = Interrupt::listen()?;
    let mut caller = Caller { workspace, screen: Screen::open(), interrupt, max: flags.max };
    let status = match call {
        call if flags.connection.json => caller.print_json(call).await,
        Call::Search(arguments) => search::run(&mut caller, arguments).await,
        Call::List(arguments) => list::run(&mut caller, arguments).await,
        Call::Read(arguments) => read::run(&mut caller, arguments).await,
        Call::Exec(arguments) => exec::run(&mut caller, arguments).await,
        call => caller.print(call).await,
    };
    caller.screen.clear_progress();
    let status = status?;
    caller.screen.flush()?;
    Ok(status)
}

fn needs_workspace(tool: Tool) -> bool {
    tool.is_worker_tool()
}

async fn open(client: &Client, root: Option<&Path>) -> anyhow::Result<Workspace> {
    let given = root.unwrap_or(Path::new("."));
    let shown = given.display().to_string();
    // The shell may stand in a folder through a symlink; the daemon wants the directory itself.
    let root = given.canonicalize().with_context(|| format!("--root {shown}"))?;
    let Ok(root) = root.into_os_string().into_string() else {
        bail!("--root {shown}: the name is not UTF-8, which a request can't carry");
    };
    let arguments = WorkspaceOpenArguments { root, ..Default::default() };
    let opened = client.workspace_open(arguments).await.with_context(|| format!("--root {shown}"))?;
    Ok(client.workspace(opened.workspace))
}

/// A request that need not be sent: the daemon would say the same.
fn refuse(malformed: Malformed, as_json: bool) -> anyhow::Result<u8> {
    if as_json {
        return worker::answer(&worker::rejection(malformed));
    }
    Screen::open().note(&format!("rejected (invalid_request): {}", malformed.message));
    Ok(EXIT_MALFORMED)
}

impl Caller {
    /// Starts a call and follows it to its end. Events are passed over.
    pub(super) async fn ask(&mut self, call: Call) -> anyhow::Result<AnyResponse> {
        let running = self.workspace.begin(call).await?;
        self.interrupt.follow(running, |_| Ok(())).await
    }

    /// Says why there is no output, and how to exit.
    pub(super) fn explain(&mut self, response: &AnyResponse) -> u8 {
        let Some(error) = &response.error else { return EXIT_COMPLETED };
        let status = status_word(response.status);
        let code = match error.code {
            // These say what the status has said.
            Code::Cancelled | Code::Timeout => String::new(),
            code => format!(" ({})", code.as_str()),
        };
        self.screen.note(&format!("{status}{code}: {}", error.message));
        exit_status(error)
    }

    async fn print_json(&mut self, call: Call) -> anyhow::Result<u8> {
        let response = self.ask(call).await?;
        writeln!(self.screen.out, "{}", as_json(&response)?)?;
        Ok(response.error.as_ref().map_or(EXIT_COMPLETED, exit_status))
    }

    /// The tools that have no printer of their own.
    async fn print(&mut self, call: Call) -> anyhow::Result<u8> {
        let tool = call.tool();
        let path = match &call {
            Call::Write(arguments) => arguments.path.clone(),
            Call::Edit(arguments) => arguments.path.clone(),
            _ => String::new(),
        };
        let response = self.ask(call).await?;
        let Some(output) = response.output.clone() else { return Ok(self.explain(&response)) };
        let lines = match tool {
            Tool::Write => {
                let WriteOutput { written_bytes, content_sha256 } = typed(output)?;
                vec![written(&path, written_bytes, &content_sha256)]
            }
            Tool::Edit => {
                let EditOutput { written_bytes, content_sha256, replacements } = typed(output)?;
                let replaced = replacements.map(|number| counted(number, "replacement", "replacements"));
                let line = written(&path, written_bytes, &content_sha256);
                vec![replaced.map_or(line.clone(), |replaced| format!("{line}, {replaced}"))]
            }
            Tool::PluginsList => plugins(typed(output)?),
            Tool::PluginsCall => contents(typed(output)?)?,
            Tool::WorkspaceList => workspaces(typed(output)?),
            _ if output == json!({}) => vec!["done".to_owned()],
            _ => vec![serde_json::to_string_pretty(&output)?],
        };
        for line in lines {
            let line = self.screen.look.foreign_lines(&line).into_owned();
            writeln!(self.screen.out, "{line}")?;
        }
        Ok(EXIT_COMPLETED)
    }
}

/// An output as the type of its tool.
pub(super) fn typed<T: DeserializeOwned>(output: Value) -> anyhow::Result<T> {
    serde_json::from_value(output).context("the output is not understood")
}

fn exit_status(error: &ErrorBody) -> u8 {
    match worker::exit_status(Some(error)) {
        EXIT_MALFORMED => EXIT_MALFORMED,
        _ => EXIT_NOT_COMPLETED,
    }
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Rejected => "rejected",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
        Status::TimedOut => "timed out",
    }
}

/// The nine members of a response on one line.
fn as_json(response: &AnyResponse) -> anyhow::Result<String> {
    #[derive(serde::Serialize)]
    struct Members<'a> {
        protocol_version: u64,
        request_id: &'a str,
        tool: &'a str,
        status: Status,
        started_at: &'a str,
        finished_at: &'a str,
        duration_ms: u64,
        output: Option<&'a Value>,
        error: Option<&'a ErrorBody>,
    }
    Ok(serde_json::to_string(&Members {
        protocol_version: axlr_protocol::limits::PROTOCOL_VERSION,
        request_id: &response.request_id,
        tool: &response.tool,
        status: response.status,
        started_at: &response.started_at,
        finished_at: &response.finished_at,
        duration_ms: response.duration_ms,
        output: response.output.as_ref(),
        error: response.error.as_ref(),
    })?)
}

fn written(path: &str, bytes: u64, sha256: &str) -> String {
    format!("{path}: {} bytes, sha256 {sha256}", count(bytes))
}

fn plugins(output: PluginsListOutput) -> Vec<String> {
    let row = |tool: axlr_client::tool::PluginTool| {
        vec![tool.plugin_id, tool.tool_name, tool.description.unwrap_or_default()]
    };
    table(&[Side::Left; 3], &output.tools.into_iter().map(row).collect::<Vec<_>>())
}

/// Text as it is, everything else as JSON.
fn contents(output: PluginsCallOutput) -> anyhow::Result<Vec<String>> {
    let shown = |block: &Value| match block["text"].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => serde_json::to_string_pretty(block),
    };
    let mut lines: Vec<String> = output.content.iter().map(shown).collect::<Result<_, _>>()?;
    if let Some(structured) = output.structured_content.filter(|_| lines.is_empty()) {
        lines.push(serde_json::to_string_pretty(&structured)?);
    }
    if output.is_error {
        lines.insert(0, "the tool reports an error:".to_owned());
    }
    Ok(lines)
}

fn workspaces(output: WorkspaceListOutput) -> Vec<String> {
    let mut rows = vec![["workspace", "open", "running", "name", "root"].map(str::to_owned).to_vec()];
    rows.extend(output.workspaces.into_iter().map(|workspace| {
        let name = workspace.name.unwrap_or_default();
        vec![workspace.workspace, count(workspace.handles), count(workspace.in_flight), name, workspace.root]
    }));
    table(&[Side::Left, Side::Right, Side::Right, Side::Left, Side::Left], &rows)
}
