"""A scripted MCP server on stdin and stdout, for tests. Python's standard library is all it needs.

argv: the mode, then what the mode wants. What a mode does not change is a well-behaved server of MCP 2025-11-25.
"""

import json
import os
import signal
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
REST = sys.argv[2:]
OUT = sys.stdout.buffer
LOCK = threading.Lock()
MODERN = MODE.startswith("modern")
LISTEN_ID = None


def raw(text):
    with LOCK:
        OUT.write(text if isinstance(text, bytes) else text.encode())
        OUT.flush()


def send(message):
    raw(json.dumps(dict({"jsonrpc": "2.0"}, **message)) + "\n")


def result(id, value):
    send({"id": id, "result": value})


def error(id, code, message):
    send({"id": id, "error": {"code": code, "message": message}})


def note(name, text=""):
    """Leaves a word in the working directory."""
    with open(name, "a") as file:
        file.write(text + "\n")


def text(value):
    return {"content": [{"type": "text", "text": value}]}


def tool(name, **more):
    return dict({"name": name, "inputSchema": {"type": "object"}}, **more)


TOOLS = [
    tool("echo", description="Says it again.", outputSchema={"type": "object", "x": 18446744073709551615}),
    tool("env"), tool("cwd"), tool("slow"), tool("never"), tool("die"), tool("progress"), tool("blocks"),
    tool("error"), tool("refuse"), tool("grow"), tool("twice"), tool("big"), tool("pid"), tool("empty"),
    tool("structured"), tool("ask"), tool("half"), tool("last"), tool("babble"),
    tool("not a name"), tool("args"),
]


def call(id, params):
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "echo":
        return result(id, {"content": [{"type": "text", "text": json.dumps(arguments, sort_keys=True)}],
                           "structuredContent": arguments})
    if name == "env":
        return result(id, text(json.dumps(dict(os.environ), sort_keys=True)))
    if name == "cwd":
        return result(id, text(os.getcwd()))
    if name == "args":
        return result(id, text(json.dumps(params, sort_keys=True)))
    if name == "pid":
        return result(id, text(str(os.getpid())))
    if name == "slow":
        time.sleep(arguments.get("seconds", 0.3))
        return result(id, text("slept"))
    if name == "never":
        note("called", json.dumps(id))
        return None
    if name == "die":
        sys.stderr.write("first words\nlast words\n")
        sys.stderr.flush()
        if arguments.get("signal"):
            os.kill(os.getpid(), arguments["signal"])
        os._exit(3)
    if name == "progress":
        token = params.get("_meta", {}).get("progressToken")
        for step in range(arguments.get("steps", 3)):
            if token is not None:
                send({"method": "notifications/progress",
                      "params": {"progressToken": token, "progress": step, "total": 3, "message": "step"}})
        return result(id, text("no token" if token is None else "token"))
    if name == "blocks":
        return raw('{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"hologram","n":18446744073709551615,'
                   '"m":-9223372036854775808,"f":36893488147419103232,"_meta":{"a":[null]}}]}}\n' % id)
    if name == "error":
        return result(id, dict(text("it went wrong"), isError=True))
    if name == "refuse":
        return error(id, -32000, "not today")
    if name == "grow":
        TOOLS.append(tool("grown"))
        note_change()
        return result(id, text("grown"))
    if name == "twice":
        result(id, text("first"))
        return result(id, text("second"))
    if name == "big":
        return result(id, text("x" * arguments["bytes"]))
    if name == "empty":
        return result(id, {})
    if name == "structured":
        return result(id, {"structuredContent": {"n": 1}})
    if name == "ask":
        return result(id, {"resultType": "input_required", "inputRequests": {}})
    if name == "babble":
        return raw("x" * 65536 + "\n" + json.dumps({"jsonrpc": "2.0", "id": id, "result": text("late")}) + "\n")
    if name == "last":
        result(id, text("my last"))
        os._exit(3)
    if name == "half":
        raw('{"jsonrpc":"2.0","id":%d,"res' % id)
        os._exit(0)
    return error(id, -32602, "unknown tool")


def note_change():
    params = {"_meta": {"io.modelcontextprotocol/subscriptionId": LISTEN_ID}} if MODERN else {}
    send({"method": "notifications/tools/list_changed", "params": params})


def list_tools(id, params):
    note("listed")
    cursor = params.get("cursor")
    if MODE == "cursor":
        return result(id, {"tools": [], "nextCursor": "again"})
    if MODE == "endless":
        return result(id, {"tools": [], "nextCursor": str(int(cursor or 0) + 1)})
    if MODE == "broken-list":
        return result(id, {"tools": "none"})
    if MODE == "pages":
        at = int(cursor or 0)
        page = {"tools": TOOLS[at:at + 3]}
        if at + 3 < len(TOOLS):
            page["nextCursor"] = str(at + 3)
        return result(id, page)
    return result(id, {"tools": TOOLS})


def handle(message):
    global LISTEN_ID
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method is None:
        return note("answers", json.dumps(message, sort_keys=True))
    if MODERN and id is not None and method != "initialize":
        meta = params.get("_meta", {})
        if meta.get("io.modelcontextprotocol/protocolVersion") != "2026-07-28" \
                or "io.modelcontextprotocol/clientInfo" not in meta:
            return error(id, -32602, "no metadata")
    if method == "initialize":
        if MODE == "mute":
            sys.stderr.write("asking for a licence\n")
            return sys.stderr.flush()
        if MODERN or MODE == "refuses-all":
            return error(id, -32601, "initialize is not known here")
        if MODE == "exit-in-handshake":
            sys.stderr.write("no licence\n")
            sys.stderr.flush()
            os._exit(7)
        version = {"other-version": "1999-01-01", "old": "2024-11-05"}.get(MODE, params["protocolVersion"])
        capabilities = {} if MODE == "no-tools" else {"tools": {"listChanged": MODE != "static"}}
        note("initialized", json.dumps(params, sort_keys=True))
        return result(id, {"protocolVersion": version, "capabilities": capabilities,
                           "serverInfo": {"name": "scripted", "version": "1"}})
    if method == "server/discover" and MODERN:
        return result(id, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                           "cacheScope": "private", "capabilities": {"tools": {"listChanged": True}}})
    if method == "subscriptions/listen" and MODERN:
        LISTEN_ID = id
        return send({"method": "notifications/subscriptions/acknowledged",
                     "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id},
                                "notifications": params["notifications"]}})
    if method == "notifications/cancelled":
        return note("cancelled", json.dumps(params.get("requestId")))
    if id is None:
        return None
    if method == "tools/list":
        if MODE == "no-tools":
            return error(id, -32601, "no such method")
        return list_tools(id, params)
    if method == "tools/call":
        return threading.Thread(target=call, args=(id, params), daemon=True).start()
    return error(id, -32601, "no such method")


def flood():
    while True:
        send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 900}})


def main():
    if REST:
        with open(REST[0], "a") as file:
            file.write("%d\n" % os.getpid())
    if MODE == "exit":
        sys.exit(5)
    if MODE == "garbage":
        raw("hello\n{not json\n[1]\n\xff\xfe\n".encode("latin-1"))
    if MODE == "noise":
        while True:
            raw("all work and no play\n")
    if MODE == "long-line":
        raw(b'{"jsonrpc":"2.0","method":"' + b"x" * (17 * 1024 * 1024))
    if MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "asks":
        for id, method in ((1, "ping"), ("two", "roots/list"), (3, "sampling/createMessage")):
            send({"id": id, "method": method})
    if MODE == "flood":
        threading.Thread(target=flood, daemon=True).start()
    if MODE == "deaf":
        time.sleep(600)
    for line in sys.stdin.buffer:
        handle(json.loads(line))
    if MODE == "stubborn":
        note("eof")
        time.sleep(600)
    note("ended")


main()
