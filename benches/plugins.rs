//! Calls of a plugin's tool: through the daemon, and straight from the SDK's client to the same program.

#![allow(clippy::unwrap_used, reason = "a bench that can't be set up has nothing better to do than to end")]

mod support;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext, RoleClient, RoleServer, RunningService};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};
use support::wire::request;
use support::{Aim, Contestant, Daemon, Effort, Encoding, Placement, Suite, data};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Runtime;

/// The first argument with which this binary is the server.
const SERVE: &str = "--mcp-server";
const TEXT: &str = "a text of fifty bytes, or very nearly so, all told";
/// Calls in flight at once.
const CONCURRENT: usize = 100;

fn main() {
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        return runtime().block_on(serve());
    }
    let Some(mut suite) = Suite::start("plugins") else { return };
    let root = data::scratch();
    let manifest = root.path().join("echo.json");
    let command = std::env::current_exe().unwrap();
    let members = json!({"manifest_version": 1, "id": "echo", "command": command, "args": [SERVE], "allow_tools": ["*"]});
    std::fs::write(&manifest, members.to_string()).unwrap();
    let daemon = Daemon::start(root.path());
    let mut wire = daemon.connect(Encoding::Json);
    let open = json!({"root": root.path(), "plugins": [manifest], "default": true});
    assert_eq!(wire.ask("workspace.open", open)["status"], "completed");
    let arguments = json!({"plugin_id": "echo", "tool_name": "echo", "arguments": {"text": TEXT}});
    let answer = wire.ask("plugins.call", arguments.clone());
    assert_eq!(answer["output"]["content"][0]["text"], TEXT, "{answer}");

    let direct = Direct::start();
    let frame = request(Encoding::Json, "r1", "plugins.call", arguments.clone());
    for placement in [Placement::OneCpu, Placement::Free] {
        let processes = [daemon.family(), vec![direct.process.id()]].concat();
        placement.apply(&processes);
        let group = format!("plugins.call, {}", placement.as_str());
        let [ours, yardstick] = suite.contest(
            &group,
            Effort { turns: 40, operations: 100 },
            [Contestant::each("axlrd", || wire.exchange(&frame)), Contestant::each("rmcp", || direct.call())],
        );
        suite.row("plugins.call of an echo", placement, &ours, Some(&yardstick), Aim::AtMost(1.3));
    }

    let frames: Vec<Vec<u8>> = (0..CONCURRENT)
        .map(|number| request(Encoding::Json, &format!("r{number:02}"), "plugins.call", arguments.clone()))
        .collect();
    let [ours, yardstick] = suite.contest(
        "plugins.call, 100 in flight",
        Effort { turns: 20, operations: 1_000 },
        [
            Contestant::batch("axlrd", |count| wire.pipeline(count, CONCURRENT, &frames)),
            Contestant::batch("rmcp", |count| direct.calls(count)),
        ],
    );
    let what = "plugins.call, 100 in flight, each";
    suite.row(what, Placement::Free, &ours, Some(&yardstick), Aim::Throughput(0.6));
    suite.finish();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The SDK's client on a server of its own.
struct Direct {
    runtime: Runtime,
    process: Child,
    service: RunningService<RoleClient, ()>,
}

impl Direct {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg(SERVE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let runtime = runtime();
        let service = runtime.block_on(async {
            let stdout = Receiver::from_owned_fd(process.stdout.take().unwrap().into()).unwrap();
            let stdin = Sender::from_owned_fd(process.stdin.take().unwrap().into()).unwrap();
            ().serve((stdout, stdin)).await.unwrap()
        });
        Self { runtime, process, service }
    }

    fn call(&self) {
        self.runtime.block_on(call(self.service.peer()));
    }

    /// So many calls, a hundred of them in flight.
    fn calls(&self, count: usize) {
        self.runtime.block_on(async {
            let lanes: Vec<_> = (0..CONCURRENT)
                .map(|lane| {
                    let peer = self.service.peer().clone();
                    let share = count / CONCURRENT + usize::from(lane < count % CONCURRENT);
                    tokio::spawn(async move {
                        for _ in 0..share {
                            call(&peer).await;
                        }
                    })
                })
                .collect();
            for lane in lanes {
                lane.await.unwrap();
            }
        });
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn call(peer: &Peer<RoleClient>) {
    let arguments = Map::from_iter([("text".to_owned(), Value::from(TEXT))]);
    let result = peer.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await.unwrap();
    assert_eq!(result.content.len(), 1);
}

/// A server whose one tool says again what it is told.
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Map::from_iter([("type".to_owned(), Value::from("object"))]);
        Ok(ListToolsResult::with_all_items(vec![Tool::new("echo", "Says it again.", Arc::new(schema))]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.and_then(|arguments| Some(arguments.get("text")?.as_str()?.to_owned()));
        Ok(CallToolResult::success(vec![ContentBlock::text(text.unwrap_or_default())]).into())
    }
}

async fn serve() {
    let service = Echo.serve((tokio::io::stdin(), tokio::io::stdout())).await.unwrap();
    service.waiting().await.unwrap();
}
