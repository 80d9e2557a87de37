// The examples of the README run as they stand.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";

import { BridgeDaemon } from "./support/bridge.js";

suite("the examples", { timeout: 60_000 }, () => {
  // In the package's folder, so that they import it by its name.
  const folder = resolve("build", `examples-${process.pid}`);
  let daemon: BridgeDaemon;
  let examples: string[];

  before(async () => {
    daemon = await BridgeDaemon.start({ flags: ["--env-pass", "PATH"] });
    await mkdir(folder, { recursive: true });
    examples = [...(await readFile("README.md", "utf8")).matchAll(/```js\n(.*?)```/gs)].map(([, text]) => text ?? "");
    assert.equal(examples.length, 2);
  });

  after(async () => {
    await rm(folder, { recursive: true });
    await daemon[Symbol.asyncDispose]();
  });

  async function run(index: number): Promise<string> {
    const file = join(folder, `${index}.mjs`);
    await writeFile(file, examples[index] ?? "");
    const env = {
      ...process.env,
      AXLR_SOCKET: daemon.socket,
      AXLR_HTTP_URL: daemon.url,
      AXLR_HTTP_TOKEN_FILE: daemon.tokenFile,
    };
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: daemon.root, env });
    return stdout;
  }

  test("of the socket", async () => {
    assert.match(await run(0), /^hello\n\ntotal .*hello\.txt\nexit code 0\nnot_found\n$/s);
  });

  test("of the bridge", async () => {
    assert.equal(await run(1), "0 Linux\n\none\n\ntwo\n\nexit code 0\ntoo late\n");
  });
});
