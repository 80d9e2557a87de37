// The same few calls in every runtime that is installed: Node always, Deno and Bun where they are.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { BridgeDaemon } from "./support/bridge.js";

const run = promisify(execFile);

const RUNTIMES: [string, string[]][] = [
  [process.execPath, []],
  ["deno", ["run", "--no-lock", "--allow-all"]],
  ["bun", ["run"]],
];

/** `npm install --no-save deno bun` puts them here. */
const PATH = `${resolve("node_modules/.bin")}:${process.env["PATH"]}`;

for (const [runtime, flags] of RUNTIMES) {
  const name = runtime === process.execPath ? "node" : runtime;
  test(`the clients work in ${name}`, { timeout: 60_000 }, async (context) => {
    const env = { ...process.env, PATH, DENO_NO_UPDATE_CHECK: "1" };
    const isThere = await run(runtime, ["--version"], { env }).then(
      () => true,
      () => false,
    );
    if (!isThere) {
      context.skip(`${name} is not installed`);
      return;
    }
    await using daemon = await BridgeDaemon.start({ flags: ["--env-pass", "PATH"] });
    const script = [resolve("build/test/runtimes/smoke.js"), daemon.url, daemon.token, daemon.socket, resolve("dist")];
    const { stdout } = await run(runtime, [...flags, ...script], { env });
    assert.equal(stdout, "ok\n");
  });
}
