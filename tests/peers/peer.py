"""The servers that plugins are proven against, and what each says when it is asked without axlr."""

import contextlib
import json
import subprocess
from typing import NamedTuple

from axlr import CACHE, HERE, NODE, PACKAGES, PYTHON, PYTHON_V1, free_port

OFFICIAL = PACKAGES / "@modelcontextprotocol"
# A Python that finds no locale in its environment would put one there.
LOCALE = {"LC_ALL": "C.UTF-8"}


class Peer(NamedTuple):
    """How a server is started on stdio, and on HTTP where it can be."""

    command: list
    http: list | None = None
    env: dict = {}

    def serve(self, home, port=None):
        """Starts it on HTTP and gives its process and URL."""
        return home.served(self.http, self.env, port or free_port())


def peers(root):
    """Every server, by the name its plugin has; `root` is what the file servers may touch."""
    everything = [NODE, OFFICIAL / "server-everything/dist/index.js"]
    modern = [NODE, CACHE / "node/servers/modern.mjs"]
    fastmcp = HERE / "servers/fastmcp.py"
    return {
        "everything": Peer([*everything, "stdio"], [*everything, "streamableHttp"], {"PORT": "PORT"}),
        "fastmcp": Peer([PYTHON, fastmcp], [PYTHON, fastmcp, "http", "PORT"], LOCALE),
        "fastmcp_v1": Peer([PYTHON_V1, fastmcp], [PYTHON_V1, fastmcp, "http", "PORT"], LOCALE),
        "fastmcp_json": Peer([PYTHON, fastmcp], [PYTHON, fastmcp, "answers", "PORT"], LOCALE),
        "modern": Peer(modern, [*modern, "http", "PORT"]),
        "filesystem": Peer([NODE, OFFICIAL / "server-filesystem/dist/index.js", root]),
        "rust": Peer([CACHE / "cargo/bin/rust-mcp-filesystem", "--allow-write", root]),
    }


class Direct(contextlib.AbstractContextManager):
    """A server asked without axlr, by a client that reads nothing into the answers."""

    def __init__(self, peer):
        command = [str(part) for part in peer.command]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, env=peer.env, **pipes)
        self.asked = 0
        self.meta = {}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "direct", "version": "1"}}
        if "error" in self.ask("initialize", hello):
            # A server of the newer revision has no handshake: every request says who asks.
            version = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
            client = {"io.modelcontextprotocol/clientInfo": hello["clientInfo"]}
            self.meta = {"_meta": {**version, **client, "io.modelcontextprotocol/clientCapabilities": {}}}
        else:
            self.tell({"method": "notifications/initialized"})

    def tell(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        """The response, as it came."""
        self.asked += 1
        self.tell({"id": self.asked, "method": method, "params": {**params, **self.meta}})
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.asked and "method" not in message:
                return message
        raise EOFError(f"no answer to {method}")

    def tools(self):
        return self.ask("tools/list", {})["result"]["tools"]

    def call(self, tool, arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def __exit__(self, *_):
        with self.process:
            self.process.kill()
