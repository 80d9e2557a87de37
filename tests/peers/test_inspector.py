"""axlr as an MCP server against the command line of the MCP Inspector."""

import json
import subprocess
import unittest

from axlr import BIN, DEADLINE, NODE, PACKAGES, Home

INSPECTOR = PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TOOL_IS_ERROR = 5
ERAS = ["legacy", "auto", "modern"]


class Inspector(unittest.TestCase):
    def setUp(self):
        self.home = self.enterContext(Home())
        (self.home.root / "text.txt").write_text("two \u00e9\n")
        url, token = self.home.http()
        self.doors = {
            "stdio": [BIN / "axlr", "mcp", "--root", self.home.root],
            "http": ["--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"],
        }

    def inspect(self, door, era, *asked):
        """The exit status and the result of one question."""
        # The target comes last, behind `--` so that its flags are not taken for the Inspector's.
        target = self.doors[door]
        target = ["--", *target] if door == "stdio" else target
        command = [NODE, INSPECTOR, "--cli", "--quiet", "--format", "json", "--protocol-era", era, *asked, *target]
        env = {"HOME": str(self.home.path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=DEADLINE, env=env)
        try:
            return done.returncode, json.loads(done.stdout)["result"]
        except (json.JSONDecodeError, KeyError):
            self.fail(f"exit status {done.returncode}: {done.stdout}{done.stderr}")

    def each(self):
        for door in self.doors:
            for era in ERAS:
                with self.subTest(door=door, era=era):
                    yield door, era

    def test_the_tools_are_listed_and_their_schemas_are_portable(self):
        for door, era in self.each():
            status, result = self.inspect(door, era, "--method", "tools/list", "--strict")
            self.assertEqual((status, len(result["tools"])), (0, 6))

    def test_a_file_is_read(self):
        for door, era in self.each():
            call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=text.txt"]
            status, result = self.inspect(door, era, *call)
            self.assertEqual((status, result["structuredContent"]["content"]), (0, "two \u00e9\n"))

    def test_a_failure_is_a_result(self):
        for door, era in self.each():
            call = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=missing.txt"]
            status, result = self.inspect(door, era, *call)
            self.assertEqual((status, result["isError"]), (TOOL_IS_ERROR, True))


if __name__ == "__main__":
    unittest.main()
