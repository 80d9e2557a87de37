"""The smallest client of axlr that these tests can do with: JSON lines on the Unix socket, and the one-shot."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

BIN = Path(os.environ["AXLR_BIN"])
CACHE = Path(os.environ["PEERS_CACHE"])
HERE = Path(__file__).parent
NODE = os.environ["PEERS_NODE"]
PYTHON = CACHE / "python/bin/python"
PYTHON_V1 = CACHE / "python-v1/bin/python"
PACKAGES = CACHE / "node/node_modules"

DEADLINE = 30.0
"""Seconds after which a peer that does not answer has failed a test."""


class Failed(AssertionError):
    """A response that the test did not want."""


class Connection:
    """One connection to a daemon. `call` waits; `start` and `wait` do not have to be neighbours."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.ids = map(str, itertools.count())
        self.responses = {}
        self.events = {}

    def start(self, tool, arguments, **members):
        """Sends a request and gives its id."""
        request = {"protocol_version": 1, "request_id": next(self.ids), "tool": tool, "arguments": arguments, **members}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        return request["request_id"]

    def wait(self, request_id):
        """The response of a request, whatever comes before it."""
        while request_id not in self.responses:
            self._read()
        return self.responses.pop(request_id)

    def wait_event(self, request_id):
        """The first event of a request."""
        while not self.events.get(request_id):
            self._read()
        return self.events[request_id][0]

    def _read(self):
        line = self.lines.readline()
        if not line:
            raise EOFError("the daemon closed the connection")
        message = json.loads(line)
        if "event" in message:
            self.events.setdefault(message["request_id"], []).append(message)
        else:
            self.responses[message["request_id"]] = message

    def call(self, tool, arguments, **members):
        """The response of a request."""
        return self.wait(self.start(tool, arguments, **members))

    def plugin(self, plugin_id, tool_name, arguments=None, timeout_ms=None, **members):
        """The response of a plugins.call."""
        return self.call("plugins.call", plugin_call(plugin_id, tool_name, arguments, timeout_ms), **members)

    def close(self):
        self.lines.close()
        self.socket.close()


def plugin_call(plugin_id, tool_name, arguments=None, timeout_ms=None):
    """The arguments of a plugins.call."""
    timeout = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
    return {"plugin_id": plugin_id, "tool_name": tool_name, "arguments": arguments or {}, **timeout}


def completed(response):
    """The output of a response that must be `completed`."""
    if response["status"] != "completed":
        raise Failed(json.dumps(response))
    return response["output"]


def refused(response, status, code):
    """The message of a response that must have this status and this code."""
    if (response["status"], (response["error"] or {}).get("code")) != (status, code):
        raise Failed(f"wanted {status}, {code}: {json.dumps(response)}")
    return response["error"]["message"]


class Home(contextlib.ExitStack):
    """A temporary folder with a workspace in it, and what was started there: all of it ends with the block."""

    def __enter__(self):
        super().__enter__()
        self.path = Path(tempfile.mkdtemp(prefix="axlr-peers-"))
        self.callback(shutil.rmtree, self.path, ignore_errors=True)
        self.root = self.path / "root"
        self.root.mkdir()
        self.mark = uuid.uuid4().hex
        return self

    def manifest(self, plugin_id, command=None, args=(), url=None, allow_tools=("*",)):
        """Writes a manifest and gives the flags that register it; a child carries this home's mark."""
        where = {"url": url} if url else {"command": str(command), "args": [str(arg) for arg in args]}
        manifest = {"manifest_version": 1, "id": plugin_id, "allow_tools": list(allow_tools), **where}
        path = self.path / f"{plugin_id}.json"
        path.write_text(json.dumps(manifest))
        return ["--plugin", str(path)] + ([] if url else ["--plugin-env", f"{plugin_id}:PEER_MARK={self.mark}"])

    def daemon(self, *flags):
        """Starts `axlrd` on the workspace and gives its process; it is asked to stop when the block ends."""
        self.socket = self.path / "axlr.sock"
        log = self.enter_context(open(self.path / "axlrd.log", "w+"))
        command = [BIN / "axlrd", "--root", self.root, "--socket", self.socket, *flags]
        daemon = subprocess.Popen(command, stderr=log, env={"PATH": os.environ["PATH"], "RUST_BACKTRACE": "1"})
        self.callback(end, daemon)
        patience = time.monotonic() + DEADLINE
        while "axlr.sock" not in (self.path / "axlrd.log").read_text():
            if daemon.poll() is not None or time.monotonic() > patience:
                raise Failed(f"axlrd did not start: {(self.path / 'axlrd.log').read_text()}")
            time.sleep(0.01)
        return daemon

    def http(self, *flags):
        """Starts the daemon with its MCP door on HTTP; gives the URL and, if it has one, the token.

        In a flag PORT stands for its port.
        """
        token, port = self.path / "token", free_port()
        flags = [str(flag).replace("PORT", str(port)) for flag in flags]
        self.daemon("--mcp-http", f"127.0.0.1:{port}", "--http-token-file", token, *flags)
        return f"http://127.0.0.1:{port}/mcp", token.read_text().strip() if token.exists() else None

    def connect(self):
        """A new connection to the daemon."""
        connection = Connection(self.socket)
        self.callback(connection.close)
        return connection

    def start_once(self, tool, arguments, *flags):
        """Starts the one-shot on a request and gives its process."""
        command = [BIN / "axlr", "--root", self.root, "--profile", "trusted-local", *flags]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        once = subprocess.Popen(command, text=True, **pipes)
        request = {"protocol_version": 1, "request_id": "once", "tool": tool, "arguments": arguments}
        once.stdin.write(json.dumps(request))
        once.stdin.close()
        return once

    def once(self, tool, arguments, *flags):
        """The response of the one-shot."""
        with self.start_once(tool, arguments, *flags) as once:
            answer, trouble = once.stdout.read(), once.stderr.read()
        if not answer:
            raise Failed(f"axlr wrote nothing, exit status {once.returncode}: {trouble}")
        return json.loads(answer)

    def served(self, command, env, port):
        """Starts a server of HTTP, `PORT` in its command or environment being its port; gives its process and URL."""
        command = [str(port) if part == "PORT" else str(part) for part in command]
        env = {name: str(port) if value == "PORT" else value for name, value in env.items()}
        log = self.enter_context(open(self.path / f"server-{port}.log", "w"))
        server = subprocess.Popen(command, stdout=log, stderr=log, env={"PATH": os.environ["PATH"], **env})
        self.callback(end, server)
        patience = time.monotonic() + DEADLINE
        while not listens(port):
            if server.poll() is not None or time.monotonic() > patience:
                raise Failed(f"{command} does not listen: {Path(log.name).read_text()}")
            time.sleep(0.02)
        return server, f"http://127.0.0.1:{port}/mcp"

    def children(self, variable="PEER_MARK"):
        """The processes alive that carry this home's mark in this variable of their environment."""
        needle = f"{variable}={self.mark}".encode()
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if needle in environ.read_bytes().split(b"\0"):
                    found.append(int(environ.parent.name))
        return found

    def wait_childless(self, seconds, variable="PEER_MARK"):
        """Waits until no process carries the mark."""
        patience = time.monotonic() + seconds
        while left := self.children(variable):
            if time.monotonic() > patience:
                raise Failed(f"still alive after {seconds} s: {[describe(pid) for pid in left]}")
            time.sleep(0.02)


def wait_content(path, content):
    """Waits until a file has this content."""
    patience = time.monotonic() + DEADLINE
    while not path.exists() or path.read_text() != content:
        if time.monotonic() > patience:
            raise Failed(f"{path.name} never said {content!r}, but {path.read_text() if path.exists() else None!r}")
        time.sleep(0.01)


def end(process):
    """Asks a process to end and makes sure of it."""
    process.terminate()
    try:
        process.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        raise


def describe(pid):
    """The command line of a process."""
    with contextlib.suppress(OSError):
        return f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode()}"
    return str(pid)


def descendants(pid):
    """The processes below this one, zombies included."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, layer = set(), {pid}
    while layer:
        layer = {child for child, parent in parents.items() if parent in layer}
        found |= layer
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
