"""axlr as an MCP server against the clients of the Python SDK."""

import asyncio
import contextlib
import json
import logging
import os
import unittest
import urllib.error
import urllib.request

from axlr import BIN, Home, wait_content
from client import MODES, ProtocolError, connect, on_http, on_stdio, types, wire
from peer import Direct, peers

TOOLS = {"read_file", "write_file", "edit_file", "run_program", "search_text", "list_files"}
READING = {"read_file", "search_text", "list_files"}


async def checked(door, check):
    """Runs a check on a session. What it raises is raised behind the door: the SDK would wrap it in groups."""
    trouble = None
    async with door as session:
        try:
            await check(session)
        except Exception as error:
            trouble = error
    if trouble:
        raise trouble


class Doors(unittest.IsolatedAsyncioTestCase):
    """What holds on every way in, in every protocol revision."""

    def setUp(self):
        # The clients are slow at times, which is theirs to know.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        self.home = self.enterContext(Home())
        (self.home.root / "text.txt").write_text("one\ntwo \u00e9\n")
        self.flags = ["--env", f"PATH={os.environ['PATH']}", "--env", f"PEER_MARK={self.home.mark}"]

    def stdio(self, *flags):
        """The way to an `axlr mcp` of its own; the programs that it runs carry another mark than itself."""
        command = [BIN / "axlr", "mcp", "--root", self.home.root, *self.flags, *flags]
        return on_stdio(command, {"PEER_SERVER": self.home.mark})

    def doors(self):
        """Every door with every mode: a name and what opens it."""
        url, token = self.home.http(*self.flags)
        for mode in MODES:
            yield f"stdio {mode}", lambda mode=mode: connect(self.stdio(), mode)
            yield f"socket {mode}", lambda mode=mode: connect(self.stdio("--socket", self.home.socket), mode)
            yield f"http {mode}", lambda mode=mode: connect(on_http(url, token), mode)

    async def each(self, check):
        """Runs a check at every door, and sees that nothing of it stays."""
        for name, door in self.doors():
            with self.subTest(door=name):
                await checked(door(), check)
                self.home.wait_childless(2)
                self.home.wait_childless(2, "PEER_SERVER")

    async def test_six_tools_are_described(self):
        async def check(session):
            tools = {tool["name"]: tool for tool in wire(await session.list_tools())["tools"]}
            self.assertEqual(set(tools), TOOLS)
            for name, tool in tools.items():
                self.assertGreater(len(tool["description"]), 20)
                self.assertEqual((tool["inputSchema"]["type"], tool["outputSchema"]["type"]), ("object", "object"))
                self.assertEqual(tool["annotations"]["readOnlyHint"], name in READING)
                self.assertTrue(tool.get("title") or tool["annotations"]["title"])

        await self.each(check)

    async def test_a_file_is_written_read_edited_found_and_listed(self):
        async def check(session):
            async def call(tool, **arguments):
                result = wire(await session.call_tool(tool, arguments))
                self.assertFalse(result.get("isError", False), result)
                return result["structuredContent"], result["content"][0]["text"]

            (self.home.root / "new.txt").unlink(missing_ok=True)
            written, _ = await call("write_file", path="new.txt", content="needle \u00e9\n", mode="create")
            self.assertEqual(written["written_bytes"], 10)
            read, text = await call("read_file", path="new.txt")
            self.assertEqual((read["content"], read["content_sha256"]), ("needle \u00e9\n", written["content_sha256"]))
            self.assertIn("needle \u00e9\n", text)
            await call("edit_file", path="new.txt", old_text="needle", new_text="thimble")
            found, text = await call("search_text", pattern="thimble")
            self.assertEqual([(match["path"], match["line"]) for match in found["matches"]], [("new.txt", 1)])
            self.assertIn("new.txt:1:", text)
            listed, text = await call("list_files")
            self.assertEqual([entry["path"] for entry in listed["entries"]], ["new.txt", "text.txt"])
            self.assertIn("text.txt", text)
            ran, text = await call("run_program", program="sh", args=["-c", "cat new.txt; echo no >&2; exit 3"])
            self.assertEqual((ran["exit_code"], ran["stdout"], ran["stderr"]), (3, "thimble \u00e9\n", "no\n"))
            self.assertIn("thimble \u00e9", text)

        await self.each(check)

    async def test_a_failure_teaches(self):
        async def check(session):
            async def fail(tool, **arguments):
                result = wire(await session.call_tool(tool, arguments))
                self.assertTrue(result["isError"], result)
                return result["content"][0]["text"]

            self.assertIn("not_found", await fail("read_file", path="missing.txt"))
            self.assertIn("conflict", await fail("write_file", path="text.txt", content="", mode="create"))
            self.assertIn("pth", await fail("read_file", pth="text.txt"))
            self.assertIn("path", await fail("read_file"))
            self.assertIn("start_failed", await fail("run_program", program="no-such-program"))
            with self.assertRaises(ProtocolError):
                await session.call_tool("no_such_tool", {})

        await self.each(check)

    async def test_calls_run_beside_each_other(self):
        async def check(session):
            go = self.home.root / "go"
            go.unlink(missing_ok=True)
            waiting = {"program": "sh", "args": ["-c", "until [ -e go ]; do sleep 0.01; done"]}
            slow = asyncio.create_task(session.call_tool("run_program", waiting))
            reads = await asyncio.gather(*(session.call_tool("read_file", {"path": "text.txt"}) for _ in range(20)))
            self.assertTrue(all(wire(read)["structuredContent"]["content"] == "one\ntwo \u00e9\n" for read in reads))
            go.touch()
            self.assertEqual(wire(await slow)["structuredContent"]["exit_code"], 0)

        await self.each(check)

    async def test_a_long_program_tells_that_it_runs(self):
        async def check(session):
            told = []

            async def progress(progress, total, message):
                told.append((progress, message))

            script = "for n in 1 2 3 4 5 6; do echo line $n; sleep 0.2; done"
            arguments = {"program": "sh", "args": ["-c", script]}
            result = wire(await session.call_tool("run_program", arguments, progress_callback=progress))
            self.assertEqual(result["structuredContent"]["stdout"].count("line"), 6)
            self.assertTrue(told)
            self.assertEqual(sorted(told, key=lambda step: step[0]), told)

        await self.each(check)

    async def test_a_session_that_ends_takes_its_programs_along(self):
        async def check(session):
            marker = self.home.root / "marker"
            marker.unlink(missing_ok=True)
            arguments = {"program": "sh", "args": ["-c", "sleep 60 & echo started > marker; wait"]}
            call = asyncio.create_task(session.call_tool("run_program", arguments))
            await asyncio.to_thread(wait_content, marker, "started\n")
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError, ProtocolError):
                await call

        await self.each(check)

    @unittest.skipUnless("2026-07-28" in MODES, "the first generation does not tell a server that a call was cancelled")
    async def test_a_cancelled_call_takes_its_program_along(self):
        async def check(session):
            marker = self.home.root / "marker"
            marker.unlink(missing_ok=True)
            arguments = {"program": "sh", "args": ["-c", "sleep 60 & echo started > marker; wait"]}
            call = asyncio.create_task(session.call_tool("run_program", arguments))
            await asyncio.to_thread(wait_content, marker, "started\n")
            self.assertEqual(len(self.home.children()), 2)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            await asyncio.to_thread(self.home.wait_childless, 1)
            self.assertFalse(wire(await session.call_tool("list_files", {})).get("isError", False))

        await self.each(check)

    async def test_reading_only(self):
        for mode in MODES:
            with self.subTest(mode=mode):
                async with connect(self.stdio("--read-only"), mode) as session:
                    self.assertEqual({tool.name for tool in (await session.list_tools()).tools}, READING)
                    with self.assertRaises(ProtocolError):
                        await session.call_tool("write_file", {"path": "x", "content": "", "mode": "create"})

    async def test_a_root_of_the_client_narrows_ours(self):
        (self.home.root / "inner").mkdir()
        (self.home.root / "inner/deep.txt").write_text("deep")

        async def roots(_):
            return types.ListRootsResult(roots=[types.Root(uri=(self.home.root / "inner").as_uri())])

        async with connect(self.stdio(), "legacy", list_roots_callback=roots) as session:
            result = wire(await session.call_tool("read_file", {"path": "deep.txt"}))
            self.assertEqual(result["structuredContent"]["content"], "deep")


class Plugins(unittest.IsolatedAsyncioTestCase):
    """The tools of plugins, handed on to a client: two foreign ends with axlr between them."""

    def setUp(self):
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        self.home = self.enterContext(Home())
        everything = peers(self.home.root)["everything"]
        self.direct = self.enterContext(Direct(everything))
        self.flags = self.home.manifest("everything", everything.command[0], everything.command[1:])

    async def each(self, check):
        url, token = self.home.http("--mcp-with-plugins", *self.flags)
        command = [BIN / "axlr", "mcp", "--root", self.home.root, "--with-plugins"]
        doors = {
            "stdio": lambda: on_stdio([*command, *self.flags], {}),
            "socket": lambda: on_stdio([*command, "--socket", self.home.socket], {}),
            "http": lambda: on_http(url, token),
        }
        for mode in MODES:
            for door, transport in doors.items():
                with self.subTest(door=door, mode=mode):
                    await checked(connect(transport(), mode), check)

    async def test_they_are_described_as_the_plugin_does(self):
        async def check(session):
            tools = {tool["name"]: tool for tool in wire(await session.list_tools())["tools"]}
            theirs = self.direct.tools()
            self.assertEqual(set(tools), TOOLS | {f"everything__{tool['name']}" for tool in theirs})
            for tool in theirs:
                ours = tools[f"everything__{tool['name']}"]
                for member in ("description", "inputSchema", "outputSchema"):
                    self.assertEqual(ours.get(member), tool.get(member))

        await self.each(check)

    async def test_results_are_those_of_the_plugin(self):
        async def check(session):
            for tool, arguments in [
                ("echo", {"message": "\u00e9"}),
                ("get-tiny-image", {}),
                ("get-resource-links", {"count": 1}),
                ("get-structured-content", {"location": "Chicago"}),
                ("get-sum", {"a": "not a number"}),
            ]:
                result = wire(await session.call_tool(f"everything__{tool}", arguments))
                expected = self.direct.call(tool, arguments)
                self.assertEqual(result["content"], expected["content"])
                self.assertEqual(result.get("structuredContent"), expected.get("structuredContent"))
                self.assertEqual(result.get("isError", False), expected.get("isError", False))

        await self.each(check)

    async def test_progress_is_handed_on(self):
        async def check(session):
            told = []

            async def progress(progress, total, _):
                told.append((progress, total))

            arguments = {"duration": 1.2, "steps": 6}
            await session.call_tool("everything__trigger-long-running-operation", arguments, progress_callback=progress)
            # Not every step: progress is told twice a second at most.
            self.assertTrue(told)
            self.assertEqual(told, [(step, 6) for step in range(1, 7) if (step, 6) in told])

        await self.each(check)


class Guard(unittest.TestCase):
    """Who may come in over HTTP."""

    def setUp(self):
        self.home = self.enterContext(Home())
        self.url, self.token = self.home.http()

    def status(self, **headers):
        """The status of a handshake with these headers beside the necessary ones."""
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "guard", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
        necessary = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(self.url, body, {**necessary, **headers})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code

    def test_only_the_token_opens(self):
        bearer = {"Authorization": f"Bearer {self.token}"}
        self.assertEqual(self.status(**bearer), 200)
        self.assertEqual(self.status(), 401)
        self.assertEqual(self.status(Authorization="Bearer 0000"), 401)
        self.assertEqual(self.status(**bearer, Host="evil.example"), 403)
        self.assertEqual(self.status(**bearer, Origin="https://evil.example"), 403)


if __name__ == "__main__":
    unittest.main()
