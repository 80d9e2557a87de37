"""axlr as an MCP server against the official conformance suite: its last release, and its next one for both revisions.

What fails and why stands in conformance/*.yaml. An entry that passes fails the run, and so does one that never ran.
"""

import re
import subprocess
import unittest

from axlr import HERE, NODE, PACKAGES, Home

RELEASED = PACKAGES / "@modelcontextprotocol/conformance/dist/index.js"
NEXT = PACKAGES / "conformance-next/dist/index.js"


class Conformance(unittest.TestCase):
    def setUp(self):
        self.home = self.enterContext(Home())
        # The suite sends no token, and asks as a page of the server's own origin would.
        self.url = self.home.http("--mcp-http-no-token", "--http-allow-origin", "http://127.0.0.1:PORT")[0]

    def suite(self, program, expectations, *chosen):
        """Runs a suite; its exit status says whether what failed is what was expected to."""
        expected = HERE / "conformance" / expectations
        command = [NODE, program, "server", "--url", self.url, "--expected-failures", expected, *chosen]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=self.home.path)
        summary = done.stdout[done.stdout.find("=== SUMMARY ===") :]
        self.assertEqual(done.returncode, 0, summary + done.stderr)
        print(re.search(r"Total: .*", summary)[0], flush=True)
        entries = re.findall(r"^  - (\S+)", expected.read_text(), re.MULTILINE)
        seen = re.findall(r"^  ~ (\S+)", summary, re.MULTILINE)
        self.assertEqual(sorted(entries), sorted(seen))

    def test_the_released_suite(self):
        self.suite(RELEASED, "released.yaml")

    def test_the_next_suite_2025_11_25(self):
        self.suite(NEXT, "2025-11-25.yaml", "--requirements", "2025-11-25")

    def test_the_next_suite_2026_07_28(self):
        self.suite(NEXT, "2026-07-28.yaml", "--requirements", "2026-07-28")


if __name__ == "__main__":
    unittest.main()
