#!/usr/bin/env python3
"""What axe costs: time to the first byte sent, memory with ten sub-agents at once, a tool call through the runtime.

Usage: cargo build --release --workspace --bins && python3 benches/axe.py
AXLR_BIN names another folder of axe and axlrd. The model is a scripted server on loopback; only the standard library
is needed. Each row stands beside a yardstick of the same run: starting /bin/true, or a turn whose call needs no tool.
"""

import json
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ.get("AXLR_BIN", pathlib.Path(__file__).parent.parent / "target/release")).resolve()
RUNS = 40
TURNS = 50


class Model:
    """Chat Completions on loopback; `reply` makes the message for a request."""

    def __init__(self, reply):
        self.reply = reply
        self.first_byte = None
        self.waits = []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "http://127.0.0.1:%d/v1" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        data = b""
        answered = None
        while chunk := connection.recv(1 << 16):
            now = time.perf_counter()
            self.first_byte = self.first_byte or now
            if not data and answered is not None:
                self.waits.append(now - answered)
            data += chunk
            head, found, body = data.partition(b"\r\n\r\n")
            length = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if not found or not length or len(body) < int(length[0]):
                continue
            answer = json.dumps(self.reply(json.loads(body[: int(length[0])]))).encode()
            data = b""
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer
            )
            answered = time.perf_counter()


def says(text, calls=()):
    tool_calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for n, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": tool_calls} if calls else {})}
    return {
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }


def start(folder, model, agent, *flags):
    environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "AXE_LOCAL_BASE_URL": model.address}
    began = time.perf_counter()
    process = subprocess.Popen(
        [BIN / "axe", "run", agent, "-p", "go", *flags], env=environment, cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    return process, began


def agents(folder, **files):
    directory = pathlib.Path(folder, ".config/axe/agents")
    directory.mkdir(parents=True, exist_ok=True)
    for name, more in files.items():
        directory.joinpath(f"{name}.toml").write_text(f'name = "{name}"\nmodel = "local/m"\n{more}\n')


def first_byte(folder):
    agents(folder, plain="")
    ours, theirs = [], []
    for _ in range(RUNS):
        model = Model(lambda request: says("done"))
        process, began = start(folder, model, "plain")
        process.communicate()
        assert process.returncode == 0
        ours.append(model.first_byte - began)
        began = time.perf_counter()
        subprocess.run(["/bin/true"], check=True)
        theirs.append(time.perf_counter() - began)
    return ours, theirs


def memory(folder):
    names = [f"child{n}" for n in range(10)]
    agents(folder, **{name: "" for name in names}, parent=f"sub_agents = {json.dumps(names)}")
    together = threading.Barrier(len(names))

    def reply(request):
        if "tools" not in request:
            together.wait(30)
            return says("x" * 1000)
        if request["messages"][-1]["role"] == "tool":
            return says("done")
        return says("", [("call_agent", {"agent": name, "task": "t"}) for name in names])

    process, _ = start(folder, Model(reply), "parent")
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_maxrss / 1024


def turns(folder, call):
    agents(folder, reader='tools = ["read_file"]\ntimeout = 120')
    # As small as the answer about a tool that is not there: the conversation, which grows, weighs the same.
    pathlib.Path(folder, "page.txt").write_text("some small page\n")

    def reply(request):
        done = sum(message["role"] == "tool" for message in request["messages"])
        return says("done") if done == TURNS else says("", [call])

    model = Model(reply)
    process, _ = start(folder, model, "reader", "--max-turns", str(TURNS + 1))
    process.communicate()
    assert process.returncode == 0
    # The first of them starts the runtime.
    return model.waits[1:]


def milliseconds(samples):
    ordered = sorted(samples)
    return f"{statistics.median(ordered) * 1e3:.2f} ms (p90 {ordered[len(ordered) * 9 // 10] * 1e3:.2f})"


def main():
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = first_byte(folder)
        print("start to the first byte sent, p50:", milliseconds(ours), "| /bin/true", milliseconds(theirs), "| aim 30 ms")
        print(f"memory with ten sub-agents at once, peak: {memory(folder):.1f} MiB | aim 30 MB")
        known, unknown = turns(folder, ("read_file", {"path": "page.txt"})), turns(folder, ("no_tool", {}))
        cost = statistics.median(known) - statistics.median(unknown)
        print("a turn that reads a small file:", milliseconds(known), "| that calls no tool there is:", milliseconds(unknown))
        print(f"a tool call through the runtime: {cost * 1e3:.2f} ms | aim 1 ms")


main()
