// axlr as an MCP server against the clients of the TypeScript SDK, both generations of it.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as first from "@modelcontextprotocol/sdk/client/index.js";
import * as firstHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as firstStdio from "@modelcontextprotocol/sdk/client/stdio.js";
import * as second from "@modelcontextprotocol/client";
import * as secondStdio from "@modelcontextprotocol/client/stdio";

const BIN = process.env.AXLR_BIN;
const TOOLS = ["edit_file", "list_files", "read_file", "run_program", "search_text", "write_file"];
const GENERATIONS = {
  "version 1": { ...first, ...firstHttp, ...firstStdio, options: {} },
  "version 2, handshake": { ...second, ...secondStdio, options: { versionNegotiation: { mode: "legacy" } } },
  "version 2, probe": { ...second, ...secondStdio, options: { versionNegotiation: { mode: "auto" } } },
  "version 2, 2026-07-28": {
    ...second,
    ...secondStdio,
    options: { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  },
};

const home = mkdtempSync(join(tmpdir(), "axlr-peers-"));
const root = join(home, "root");
let daemon, url, token;

before(async () => {
  mkdirSync(root);
  writeFileSync(join(root, "text.txt"), "one\ntwo é\n");
  const port = await freePort();
  url = new URL(`http://127.0.0.1:${port}/mcp`);
  const door = ["--mcp-http", `127.0.0.1:${port}`, "--http-token-file", join(home, "token")];
  const flags = ["--root", root, "--socket", join(home, "axlr.sock"), "--env", `PATH=${process.env.PATH}`, ...door];
  daemon = spawn(join(BIN, "axlrd"), flags, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  daemon.stderr.on("data", (data) => (log += data));
  while (!log.includes("axlr.sock")) {
    assert.equal(daemon.exitCode, null, log);
    await sleep(10);
  }
  token = readFileSync(join(home, "token"), "utf8").trim();
});

after(async () => {
  daemon.kill();
  await new Promise((ended) => daemon.once("exit", ended));
  rmSync(home, { recursive: true });
});

function freePort() {
  return new Promise((found) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}

for (const [generation, sdk] of Object.entries(GENERATIONS)) {
  const doors = {
    stdio: () =>
      new sdk.StdioClientTransport({
        command: join(BIN, "axlr"),
        args: ["mcp", "--root", root, "--env", `PATH=${process.env.PATH}`],
        stderr: "ignore",
      }),
    http: () =>
      new sdk.StreamableHTTPClientTransport(url, {
        requestInit: { headers: { Authorization: `Bearer ${token}` } },
      }),
  };
  for (const [door, open] of Object.entries(doors))
    describe(`${generation}, ${door}`, () => {
      let client;

      before(async () => {
        client = new sdk.Client({ name: "peer", version: "1.0.0" }, sdk.options);
        await client.connect(open());
      });

      after(() => client.close());

      const call = async (name, args, options) => {
        const parameters = { name, arguments: args };
        return sdk === GENERATIONS["version 1"]
          ? client.callTool(parameters, undefined, options)
          : client.callTool(parameters, options);
      };

      test("six tools are described", async () => {
        const { tools } = await client.listTools();
        assert.deepEqual(tools.map((tool) => tool.name).sort(), TOOLS);
        for (const tool of tools) assert.equal(tool.outputSchema.type, "object");
      });

      // The client holds structured content against the output schema by itself.
      test("a file is written, read, edited, found and listed", async () => {
        const path = "new.txt";
        rmSync(join(root, path), { force: true });
        await call("write_file", { path, content: "needle é\n", mode: "create" });
        const read = await call("read_file", { path });
        assert.equal(read.structuredContent.content, "needle é\n");
        await call("edit_file", { path, old_text: "needle", new_text: "thimble" });
        const found = await call("search_text", { pattern: "thimble" });
        assert.deepEqual(found.structuredContent.matches.map((match) => [match.path, match.line]), [[path, 1]]);
        const listed = await call("list_files", { glob: "*.txt" });
        assert.deepEqual(listed.structuredContent.entries.map((entry) => entry.path), [path, "text.txt"]);
        const ran = await call("run_program", { program: "sh", args: ["-c", "cat new.txt; exit 3"] });
        assert.deepEqual([ran.structuredContent.exit_code, ran.structuredContent.stdout], [3, "thimble é\n"]);
      });

      test("a failure is a result", async () => {
        const failed = await call("read_file", { path: "missing.txt" });
        assert.equal(failed.isError, true);
        assert.match(failed.content[0].text, /not_found/);
        const misspelt = await call("read_file", { pth: "text.txt" });
        assert.equal(misspelt.isError, true);
        assert.match(misspelt.content[0].text, /pth/);
        await assert.rejects(call("no_such_tool", {}));
      });

      test("a long program tells that it runs", async () => {
        const told = [];
        const args = ["-c", "for n in 1 2 3 4 5 6; do echo line $n; sleep 0.2; done"];
        await call("run_program", { program: "sh", args }, { onprogress: (progress) => told.push(progress.progress) });
        assert.ok(told.length > 0);
        assert.deepEqual(told, told.toSorted((a, b) => a - b));
      });

      test("an aborted call takes its program along", async () => {
        const [started, pid] = [join(root, "started"), () => Number(readFileSync(started, "utf8"))];
        rmSync(started, { force: true });
        const abort = new AbortController();
        const args = ["-c", "echo $$ > pid; mv pid started; sleep 60"];
        const running = assert.rejects(call("run_program", { program: "sh", args }, { signal: abort.signal }));
        while (!existsSync(started)) await sleep(10);
        const program = pid();
        abort.abort();
        await running;
        const patience = Date.now() + 1000;
        while (existsSync(`/proc/${program}`)) {
          assert.ok(Date.now() < patience, "still alive");
          await sleep(10);
        }
        assert.equal((await call("list_files", {})).isError ?? false, false);
      });
    });
}
