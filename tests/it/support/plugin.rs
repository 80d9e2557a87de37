//! Manifests of scripted servers.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The interpreter of the scripted servers.
const PYTHON: &str = "/usr/bin/python3";

/// A folder with manifests.
pub(crate) struct Manifests(tempfile::TempDir);

impl Manifests {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// A server on stdin and stdout in one of its modes. It writes its process ids into the file of [`Manifests::pids`].
    pub(crate) fn stdio(&self, id: &str, mode: &str) -> String {
        self.allowing(id, mode, json!(["*"]))
    }

    /// The same, and what may be called.
    pub(crate) fn allowing(&self, id: &str, mode: &str, allow_tools: Value) -> String {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_server.py");
        let args = json!(["-S", script, mode, self.pids(id)]);
        let server = json!({"command": PYTHON, "args": args, "allow_tools": allow_tools});
        self.write(id, &server)
    }

    /// A server at an address.
    pub(crate) fn http(&self, id: &str, url: &str) -> String {
        self.write(id, &json!({"url": url, "allow_tools": ["*"]}))
    }

    /// A manifest with these members.
    pub(crate) fn write(&self, id: &str, members: &Value) -> String {
        let mut manifest = json!({"manifest_version": 1, "id": id});
        manifest.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let path = self.folder().join(format!("{id}.json"));
        std::fs::write(&path, manifest.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Where the processes of a server write their ids.
    pub(crate) fn pids(&self, id: &str) -> PathBuf {
        self.folder().join(format!("{id}.pids"))
    }

    /// The process ids so far.
    pub(crate) fn started(&self, id: &str) -> Vec<i64> {
        let text = std::fs::read_to_string(self.pids(id)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

/// A call of a plugin's tool.
pub(crate) fn call(plugin_id: &str, tool_name: &str, arguments: Value) -> Value {
    json!({"plugin_id": plugin_id, "tool_name": tool_name, "arguments": arguments})
}

/// The text of the first block of an answer that completed.
pub(crate) fn text(response: &Value) -> &str {
    assert_eq!(response["status"], "completed", "{response}");
    response["output"]["content"][0]["text"].as_str().unwrap()
}

/// The message of an answer that has this code.
pub(crate) fn refused<'r>(response: &'r Value, code: &str) -> &'r str {
    assert_eq!(response["error"]["code"], code, "{response}");
    response["error"]["message"].as_str().unwrap()
}
