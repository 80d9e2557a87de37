"""axlr's plugins against MCP servers that nobody here wrote."""

import base64
import json
import os
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from axlr import Connection, Home, completed, descendants, free_port, plugin_call, refused, wait_content
from peer import Direct, peers

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"


def calls(root):
    """Calls that a server answers the same each time: plugin, tool, arguments, kinds of the content blocks."""
    text, png, wav = str(root / "text.txt"), str(root / "pixel.png"), str(root / "silence.wav")
    return [
        ("everything", "echo", {"message": "caf\u00e9 \U0001f600 \u2028"}, ["text"]),
        ("everything", "get-sum", {"a": 2, "b": 0.5}, ["text"]),
        ("everything", "get-tiny-image", {}, ["text", "image", "text"]),
        ("everything", "get-annotated-message", {"messageType": "error", "includeImage": True}, ["text", "image"]),
        ("everything", "get-resource-links", {"count": 2}, ["text", "resource_link", "resource_link"]),
        ("everything", "get-structured-content", {"location": "Chicago"}, ["text"]),
        ("everything", "get-sum", {"a": "not a number"}, ["text"]),
        ("fastmcp", "echo", {"text": "x" * 1_000_000}, ["text"]),
        ("fastmcp", "forecast", {"city": "Bergen"}, ["text"]),
        ("fastmcp", "picture", {}, ["image"]),
        ("fastmcp", "sound", {}, ["audio"]),
        ("fastmcp", "documents", {}, ["resource", "resource", "resource_link"]),
        ("fastmcp", "numbers", {}, ["text"]),
        ("fastmcp", "fail", {"reason": "on purpose"}, ["text"]),
        ("fastmcp", "echo", {"txt": "misspelt"}, ["text"]),
        ("fastmcp_v1", "forecast", {"city": "Bergen"}, ["text"]),
        ("fastmcp_v1", "documents", {}, ["resource", "resource", "resource_link"]),
        ("fastmcp_v1", "numbers", {}, ["text"]),
        ("fastmcp_v1", "fail", {"reason": "on purpose"}, ["text"]),
        ("modern", "echo", {"text": "new"}, ["text"]),
        ("modern", "fail", {"reason": "on purpose"}, ["text"]),
        ("filesystem", "read_text_file", {"path": text}, ["text"]),
        ("filesystem", "read_media_file", {"path": png}, ["image"]),
        ("filesystem", "read_media_file", {"path": wav}, ["audio"]),
        ("filesystem", "list_directory", {"path": str(root)}, ["text"]),
        ("filesystem", "read_text_file", {"path": "/etc/passwd"}, ["text"]),
        ("rust", "read_text_file", {"path": text}, ["text"]),
        ("rust", "read_media_file", {"path": png}, ["image"]),
        ("rust", "read_media_file", {"path": wav}, ["audio"]),
        ("rust", "read_text_file", {"path": str(root / "missing")}, ["text"]),
    ]


def fill(root):
    (root / "text.txt").write_text("one\r\ntwo \u00e9\n")
    (root / "pixel.png").write_bytes(PNG)
    (root / "silence.wav").write_bytes(WAV)


def flags(home, names, table):
    """The flags that register these servers on stdio."""
    found = []
    for name in names:
        peer = table[name]
        found += home.manifest(name, peer.command[0], peer.command[1:])
        for key, value in peer.env.items():
            found += ["--plugin-env", f"{name}:{key}={value}"]
    return found


def output(result):
    """What axlr makes of a server's own result."""
    structured = {"structured_content": result["structuredContent"]} if "structuredContent" in result else {}
    return {"content": result["content"], "is_error": result.get("isError", False), **structured}


def listed(plugin_id, tool):
    """What axlr makes of a tool as the server advertises it."""
    names = {"description": "description", "inputSchema": "input_schema", "outputSchema": "output_schema"}
    kept = {ours: tool[theirs] for theirs, ours in names.items() if theirs in tool}
    return {"plugin_id": plugin_id, "tool_name": tool["name"], **kept}


class AsTheyAnswer(unittest.TestCase):
    """What axlr hands on is what the server said."""

    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(Home())
        fill(cls.home.root)
        cls.peers = peers(cls.home.root)
        cls.direct = {name: cls.enterClassContext(Direct(peer)) for name, peer in cls.peers.items()}
        cls.flags = {name: flags(cls.home, [name], cls.peers) for name in cls.peers}
        cls.home.daemon(*sum(cls.flags.values(), []))

    def test_every_tool_is_listed_as_it_is_advertised(self):
        tools = completed(self.home.connect().call("plugins.list", {}))["tools"]
        expected = [listed(name, tool) for name, direct in self.direct.items() for tool in direct.tools()]
        self.assertEqual(tools, expected)

    def test_every_result_passes_through_the_daemon_unchanged(self):
        connection = self.home.connect()
        for name, tool, arguments, kinds in calls(self.home.root):
            with self.subTest(plugin=name, tool=tool):
                answer = completed(connection.plugin(name, tool, arguments))
                self.assertEqual(answer, output(self.direct[name].call(tool, arguments)))
                self.assertEqual([block["type"] for block in answer["content"]], kinds)

    def test_every_result_passes_through_the_one_shot_unchanged(self):
        for name, tool, arguments, _ in calls(self.home.root):
            if tool in ("get-sum", "numbers", "fail", "read_media_file"):
                with self.subTest(plugin=name, tool=tool):
                    answer = self.home.once("plugins.call", plugin_call(name, tool, arguments), *self.flags[name])
                    self.assertEqual(completed(answer), output(self.direct[name].call(tool, arguments)))

    def test_the_one_shot_lists_what_the_daemon_lists(self):
        names = ["everything", "fastmcp", "modern", "rust"]
        tools = completed(self.home.once("plugins.list", {}, *sum((self.flags[name] for name in names), [])))["tools"]
        expected = [listed(name, tool) for name in names for tool in self.direct[name].tools()]
        self.assertEqual(tools, expected)

    def test_an_error_of_the_server_is_a_failure_that_repeats_it(self):
        answer = self.home.connect().plugin("fastmcp", "refuse", {"reason": "not on a Monday"})
        self.assertIn("not on a Monday", refused(answer, "failed", "plugin_failed"))

    def test_a_result_too_large_for_a_response_is_no_result(self):
        connection = self.home.connect()
        # It comes twice: as text, and as structured content.
        refused(connection.plugin("fastmcp", "echo", {"text": "x" * 2_500_000}), "failed", "response_too_large")
        completed(connection.plugin("fastmcp", "echo", {"text": "still here"}))

    def test_a_manifest_allows_only_what_it_names(self):
        peer = self.peers["filesystem"]
        path = {"path": str(self.home.root / "text.txt")}
        with Home() as home:
            command = peer.command
            home.daemon(*home.manifest("files", command[0], command[1:], allow_tools=["read_text_file", "not_there"]))
            connection = home.connect()
            names = [tool["tool_name"] for tool in completed(connection.call("plugins.list", {}))["tools"]]
            self.assertEqual(names, ["read_text_file"])
            completed(connection.plugin("files", "read_text_file", path))
            refused(connection.plugin("files", "write_file", path), "rejected", "unknown_plugin_tool")
            refused(connection.plugin("files", "not_there"), "rejected", "unknown_plugin_tool")
            refused(connection.plugin("other", "read_text_file"), "rejected", "unknown_plugin")


class OverHttp(unittest.TestCase):
    """The same over Streamable HTTP, for the servers that can."""

    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(Home())
        cls.peers = {name: peer for name, peer in peers(cls.home.root).items() if peer.http}
        cls.direct = {name: cls.enterClassContext(Direct(peer)) for name, peer in cls.peers.items()}
        cls.flags = {}
        (cls.home.path / "secret").write_text("from a file\n")
        for name, peer in cls.peers.items():
            _, url = peer.serve(cls.home)
            cls.flags[name] = cls.home.manifest(name, url=url)
        header = ["--plugin-header", f"fastmcp:X-Peer=@{cls.home.path / 'secret'}"]
        cls.daemon = cls.home.daemon(*sum(cls.flags.values(), []), *header)

    def test_every_tool_is_listed_as_it_is_advertised(self):
        tools = completed(self.home.connect().call("plugins.list", {}))["tools"]
        expected = [listed(name, tool) for name, direct in self.direct.items() for tool in direct.tools()]
        self.assertEqual(tools, expected)

    def test_every_result_passes_through_unchanged(self):
        connection = self.home.connect()
        for name, tool, arguments, _ in calls(self.home.root):
            for served in (name, *(["fastmcp_json"] if name == "fastmcp" else [])):
                if served in self.peers:
                    with self.subTest(plugin=served, tool=tool):
                        answer = completed(connection.plugin(served, tool, arguments))
                        self.assertEqual(answer, output(self.direct[name].call(tool, arguments)))

    def test_the_one_shot_calls_too(self):
        for name in ("everything", "fastmcp_json", "modern"):
            with self.subTest(plugin=name):
                echo = {"message": "hello"} if name == "everything" else {"text": "hello"}
                answer = completed(self.home.once("plugins.call", plugin_call(name, "echo", echo), *self.flags[name]))
                self.assertEqual(answer, output(self.direct[name].call("echo", echo)))

    def test_a_header_arrives(self):
        headers = completed(self.home.connect().plugin("fastmcp", "headers"))["structured_content"]
        self.assertEqual(headers["x-peer"], "from a file")

    def test_progress_arrives_when_the_call_streams(self):
        for name in ("fastmcp", "fastmcp_v1", "modern"):
            with self.subTest(plugin=name):
                check_progress(self, self.home.connect(), name)

    def test_a_cancelled_call_is_cancelled_in_the_server(self):
        for name in ("fastmcp", "fastmcp_v1", "modern"):
            with self.subTest(plugin=name):
                check_cancel(self, self.home, self.home.connect(), name)

    def test_a_server_killed_in_a_call_fails_that_call_and_is_found_again(self):
        for name in ("everything", "fastmcp", "modern"):
            with self.subTest(plugin=name), Home() as home:
                port = free_port()
                server, url = self.peers[name].serve(home, port)
                home.daemon(*home.manifest(name, url=url))
                connection = home.connect()
                long = ("count", {"to": 6000})
                if name == "everything":
                    long = ("trigger-long-running-operation", {"duration": 60, "steps": 600})
                waiting = connection.start("plugins.call", plugin_call(name, *long), stream=True)
                connection.wait_event(waiting)
                server.kill()
                server.wait()
                self.assertIn("effects", refused(connection.wait(waiting), "failed", "plugin_failed"))
                echo = {"message": "again", "text": "again"}
                response = connection.plugin(name, "echo", echo)
                self.assertIn(response["error"]["code"], ("plugin_failed", "plugin_unavailable"))
                self.peers[name].serve(home, port)
                self.assertFalse(completed(retried(connection, name, "echo", echo))["is_error"])

    def test_a_server_that_forgot_the_session_is_asked_for_a_new_one(self):
        for name in ("everything", "fastmcp"):
            with self.subTest(plugin=name), Home() as home:
                port = free_port()
                server, url = self.peers[name].serve(home, port)
                home.daemon(*home.manifest(name, url=url))
                connection = home.connect()
                echo = {"message": "again", "text": "again"}
                completed(connection.plugin(name, "echo", echo))
                server.kill()
                server.wait()
                self.peers[name].serve(home, port)
                # The call that finds it out may fail: it is not sent a second time.
                response = connection.plugin(name, "echo", echo)
                if response["status"] != "completed":
                    refused(response, "failed", "plugin_failed")
                self.assertFalse(completed(retried(connection, name, "echo", echo))["is_error"])


class LifeOfASession(unittest.TestCase):
    """One session for each plugin and workspace: shared, watched, and gone when it should be."""

    NAMES = ["everything", "fastmcp", "fastmcp_v1", "modern"]

    def setUp(self):
        self.home = self.enterContext(Home())
        self.peers = peers(self.home.root)

    def daemon(self, *names):
        """A daemon with these servers."""
        return self.home.daemon(*flags(self.home, names, self.peers))

    def test_progress_arrives_when_the_call_streams(self):
        self.daemon(*self.NAMES)
        connection = self.home.connect()
        for name in ("fastmcp", "fastmcp_v1", "modern"):
            with self.subTest(plugin=name):
                check_progress(self, connection, name)
        with self.subTest(plugin="everything"):
            arguments = plugin_call("everything", "trigger-long-running-operation", {"duration": 0.2, "steps": 4})
            asked = connection.start("plugins.call", arguments, stream=True)
            completed(connection.wait(asked))
            told = [(event["progress"], event["total"]) for event in connection.events.pop(asked)]
            self.assertEqual(told, [(1, 4), (2, 4), (3, 4), (4, 4)])

    def test_a_cancelled_call_is_cancelled_in_the_server(self):
        self.daemon("fastmcp", "fastmcp_v1", "modern")
        connection = self.home.connect()
        for name in ("fastmcp", "fastmcp_v1", "modern"):
            with self.subTest(plugin=name):
                check_cancel(self, self.home, connection, name)

    def test_a_deadline_cancels_in_the_server_and_the_session_lives_on(self):
        self.daemon("fastmcp")
        connection = self.home.connect()
        process = completed(connection.plugin("fastmcp", "process"))["structured_content"]["result"]
        marker = self.home.root / "marker"
        message = refused(connection.plugin("fastmcp", "wait", {"marker": str(marker)}, 300), "timed_out", "timeout")
        self.assertIn("300 ms", message)
        wait_content(marker, "cancelled")
        self.assertEqual(completed(connection.plugin("fastmcp", "process"))["structured_content"]["result"], process)

    def test_a_connection_that_ends_cancels_its_calls(self):
        self.daemon("fastmcp")
        marker = self.home.root / "marker"
        leaving = Connection(self.home.socket)
        leaving.start("plugins.call", plugin_call("fastmcp", "wait", {"marker": str(marker)}))
        wait_content(marker, "started")
        leaving.close()
        wait_content(marker, "cancelled")

    def test_a_slow_call_blocks_no_other_and_all_share_one_process(self):
        self.daemon("fastmcp")
        connection = self.home.connect()
        marker = self.home.root / "marker"
        slow = connection.start("plugins.call", plugin_call("fastmcp", "wait", {"marker": str(marker)}))
        wait_content(marker, "started")
        each = {text: plugin_call("fastmcp", "echo", {"text": text}) for text in map(str, range(1000))}
        asked = {text: connection.start("plugins.call", call) for text, call in each.items()}
        for text, request_id in asked.items():
            self.assertEqual(completed(connection.wait(request_id))["structured_content"], {"result": text})
        self.assertEqual(len(self.home.children()), 1)
        self.assertEqual(completed(connection.call("request.cancel", {"request_id": slow})), {"cancelled": True})
        refused(connection.wait(slow), "cancelled", "cancelled")

    def test_a_changed_list_is_seen(self):
        self.daemon("fastmcp", "fastmcp_v1")
        connection = self.home.connect()
        for name in ("fastmcp", "fastmcp_v1"):
            with self.subTest(plugin=name):
                completed(connection.call("plugins.list", {}))
                refused(connection.plugin(name, "grown"), "rejected", "unknown_plugin_tool")
                completed(connection.plugin(name, "grow", {"name": "grown"}))
                self.assertEqual(completed(connection.plugin(name, "grown"))["content"][0]["text"], "grown")
                tools = completed(connection.call("plugins.list", {}))["tools"]
                self.assertIn((name, "grown"), [(tool["plugin_id"], tool["tool_name"]) for tool in tools])

    def test_the_environment_is_complete_and_the_folder_is_the_workspace(self):
        self.daemon("fastmcp", "everything")
        connection = self.home.connect()
        given = {"PEER_MARK": self.home.mark, "LC_ALL": "C.UTF-8"}
        self.assertEqual(completed(connection.plugin("fastmcp", "environment"))["structured_content"], given)
        folder = completed(connection.plugin("fastmcp", "folder"))["structured_content"]["result"]
        self.assertTrue(os.path.samefile(folder, self.home.root))

    def test_a_server_that_dies_says_why_and_is_started_afresh(self):
        self.daemon("fastmcp")
        connection = self.home.connect()
        first = connection.plugin("fastmcp", "process")
        death = connection.plugin("fastmcp", "die", {"words": "famous last words"})
        message = refused(death, "failed", "plugin_failed")
        self.assertIn("famous last words", message)
        self.assertIn("7", message)
        second = retried(connection, "fastmcp", "process")
        self.assertNotEqual(completed(first)["structured_content"], completed(second)["structured_content"])

    def test_a_server_killed_in_a_call_fails_that_call_at_once(self):
        for name in ("fastmcp", "modern"):
            with self.subTest(plugin=name), Home() as home:
                home.daemon(*flags(home, [name], self.peers))
                connection = home.connect()
                marker = home.root / "marker"
                waiting = connection.start("plugins.call", plugin_call(name, "wait", {"marker": str(marker)}))
                wait_content(marker, "started")
                killed = time.monotonic()
                for child in home.children():
                    os.kill(child, signal.SIGKILL)
                message = refused(connection.wait(waiting), "failed", "plugin_failed")
                self.assertLess(time.monotonic() - killed, 1)
                self.assertIn("KILL", message)
                self.assertFalse(completed(retried(connection, name, "echo", {"text": "again"}))["is_error"])

    def test_a_server_that_is_not_there_is_named(self):
        missing = self.home.manifest("missing", "/nonexistent/server")
        silent = self.home.manifest("silent", "/bin/true")
        refusing = self.home.manifest("refusing", url="http://127.0.0.1:1/mcp")
        self.home.daemon(*missing, *silent, *refusing)
        connection = self.home.connect()
        for name in ("missing", "silent", "refusing"):
            with self.subTest(plugin=name):
                self.assertIn(name, refused(connection.plugin(name, "echo"), "failed", "plugin_unavailable"))
        refused(connection.call("plugins.list", {}), "failed", "plugin_unavailable")

    def test_no_process_outlives_the_daemon(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal=how.name), Home() as home:
                table = peers(home.root)
                daemon = home.daemon(*flags(home, [*self.NAMES, "filesystem", "rust"], table))
                connection = home.connect()
                completed(connection.call("plugins.list", {}))
                self.assertEqual(len(home.children()), 6)
                marker = home.root / "marker"
                connection.start("plugins.call", plugin_call("fastmcp", "wait", {"marker": str(marker)}))
                wait_content(marker, "started")
                daemon.send_signal(how)
                daemon.wait(10)
                home.wait_childless(1)

    def test_a_server_that_hangs_is_timed_out_and_killed(self):
        daemon = self.daemon("fastmcp")
        connection = self.home.connect()
        completed(connection.plugin("fastmcp", "process"))
        for child in self.home.children():
            os.kill(child, signal.SIGSTOP)
        refused(connection.plugin("fastmcp", "process", timeout_ms=200), "timed_out", "timeout")
        daemon.terminate()
        self.home.wait_childless(10)
        self.assertEqual(daemon.wait(1), 0)

    def test_the_one_shot_cancels_when_it_is_asked_to_end(self):
        marker = self.home.root / "marker"
        call = plugin_call("fastmcp", "wait", {"marker": str(marker)})
        with self.home.start_once("plugins.call", call, *flags(self.home, ["fastmcp"], self.peers)) as once:
            wait_content(marker, "started")
            once.terminate()
            refused(json.loads(once.stdout.read()), "cancelled", "cancelled")
            self.assertEqual(once.wait(10), 0)
        wait_content(marker, "cancelled")
        self.assertEqual(self.home.children(), [])

    def test_the_one_shot_leaves_no_process(self):
        for name in (*self.NAMES, "filesystem", "rust"):
            with self.subTest(plugin=name):
                completed(self.home.once("plugins.list", {}, *flags(self.home, [name], self.peers)))
                self.assertEqual(self.home.children(), [])

    def test_two_hundred_sessions_leave_no_process(self):
        daemon = self.home.daemon()
        helpers = descendants(daemon.pid)

        def open_and_close(name, times):
            connection = Connection(self.home.socket)
            command = self.peers[name].command
            manifest = self.home.manifest(name, command[0], command[1:])[1]
            for turn in range(times):
                environment = {name: {"PEER_MARK": self.home.mark, "TURN": str(turn)}}
                opening = {"root": str(self.home.root), "plugins": [manifest], "plugin_env": environment}
                workspace = completed(connection.call("workspace.open", opening))["workspace"]
                call = plugin_call(name, "list_allowed_directories")
                completed(connection.call("plugins.call", call, workspace=workspace))
                completed(connection.call("workspace.close", {"workspace": workspace}))
            connection.close()
            return times

        with ThreadPoolExecutor() as pool:
            self.assertEqual(sum(pool.map(open_and_close, ["rust", "filesystem"], [170, 30])), 200)
        self.home.wait_childless(5)
        self.assertEqual(descendants(daemon.pid), helpers)


def retried(connection, plugin_id, tool, arguments=None):
    """The response of a call that is made again while the server's back-off lasts."""
    patience = time.monotonic() + 10
    while True:
        response = connection.plugin(plugin_id, tool, arguments)
        if response["status"] == "completed" or time.monotonic() > patience:
            return response
        refused(response, "failed", "plugin_unavailable")
        time.sleep(0.05)


def check_progress(test, connection, name):
    """Progress is sent when the call streams, and only then."""
    call = plugin_call(name, "count", {"to": 3})
    asked = connection.start("plugins.call", call, stream=True)
    completed(connection.wait(asked))
    events = connection.events.pop(asked)
    told = [(event["event"], event["seq"], event["progress"], event["total"]) for event in events]
    test.assertEqual(told, [("progress", seq, seq + 1, 3) for seq in range(3)])
    if name != "modern":
        test.assertEqual([event["message"] for event in events], ["at 1", "at 2", "at 3"])
    completed(connection.call("plugins.call", call))
    test.assertEqual(connection.events, {})


def check_cancel(test, home, connection, name):
    """The server hears of a cancellation, and the session lives on."""
    marker = home.root / f"marker-{name}"
    waiting = connection.start("plugins.call", plugin_call(name, "wait", {"marker": str(marker)}))
    wait_content(marker, "started")
    test.assertEqual(completed(connection.call("request.cancel", {"request_id": waiting})), {"cancelled": True})
    message = refused(connection.wait(waiting), "cancelled", "cancelled")
    test.assertIn("effects", message)
    wait_content(marker, "cancelled")
    completed(connection.plugin(name, "echo", {"text": "still here"}))


if __name__ == "__main__":
    unittest.main()
