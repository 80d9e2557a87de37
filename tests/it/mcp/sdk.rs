//! The SDK's own client over the real process, in both lifecycles.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use super::command;
use super::http::Served;

struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> InitializeRequestParams {
        InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("test", "1"))
    }
}

async fn exercise(client: RunningService<RoleClient, Client>) {
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 6);
    assert!(tools.iter().all(|tool| tool.output_schema.is_some() && tool.annotations.is_some()));
    let call = async |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().unwrap().clone();
        client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await.unwrap()
    };
    let wrote = call("write_file", json!({"path": "f", "content": "one", "mode": "create"})).await;
    assert_eq!(wrote.is_error, Some(false));
    let read = call("read_file", json!({"path": "f"})).await;
    assert_eq!(read.content[0].as_text().unwrap().text, "one");
    assert_eq!(read.structured_content.unwrap()["returned_bytes"], 3);
    let edited = call("edit_file", json!({"path": "f", "old_text": "n", "new_text": "NN"})).await;
    assert_eq!(edited.structured_content.unwrap()["written_bytes"], 4);
    let found = call("search_text", json!({"pattern": "oNNe"})).await;
    assert_eq!(found.structured_content.unwrap()["matches"][0]["path"], "f");
    let listed = call("list_files", json!({})).await;
    assert_eq!(listed.structured_content.unwrap()["entries"][0]["size"], 4);
    let ran = call("run_program", json!({"program": "cat", "args": ["f"]})).await;
    assert_eq!(ran.structured_content.unwrap()["stdout"], "oNNe");
    let gone = call("read_file", json!({"path": "gone"})).await;
    assert_eq!((gone.is_error, gone.structured_content), (Some(true), None));
    assert!(client.call_tool(CallToolRequestParams::new("nope")).await.is_err());
    client.cancel().await.unwrap();
}

/// The process, and the other end of its stdin and stdout, as Node gives them.
fn start(root: &std::path::Path) -> (Child, tokio::net::UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let stdin = OwnedFd::from(theirs.try_clone().unwrap());
    let process = command(root).stdin(stdin).stdout(OwnedFd::from(theirs)).spawn().unwrap();
    ours.set_nonblocking(true).unwrap();
    (process, tokio::net::UnixStream::from_std(ours).unwrap())
}

#[tokio::test]
async fn the_sdk_is_served_after_a_handshake() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, stream) = start(folder.path());
    let client = Client.serve(stream).await.unwrap();
    exercise(client).await;
    assert!(process.wait().unwrap().success());
}

#[tokio::test]
async fn the_sdk_is_served_without_a_handshake() {
    let folder = tempfile::tempdir().unwrap();
    let (mut process, stream) = start(folder.path());
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = serve_client_with_lifecycle(Client, stream, mode).await.unwrap();
    exercise(client).await;
    assert!(process.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sdk_is_served_over_http_in_both_lifecycles() {
    // The SDK's client builds TLS before it is known that none is needed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    for mode in [ClientLifecycleMode::Initialize, discover] {
        let served = Served::start(&[]);
        let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", served.address))
            .auth_header(served.token.clone());
        let transport = StreamableHttpClientTransport::from_config(config);
        exercise(serve_client_with_lifecycle(Client, transport, mode).await.unwrap()).await;
    }
}
