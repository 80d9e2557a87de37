// The bridge's client against the real daemon.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";

import {
  Bridge,
  type ChildProcess,
  type CommandOptions,
  HttpError,
  StartError,
  CommandTimeoutError,
  UnauthorizedError,
  UnreachableError,
  configure,
  exec,
  spawn,
} from "axlr/bridge";

import { BridgeDaemon } from "./support/bridge.js";
import { isAlive, until } from "./support/daemon.js";

interface Heard {
  stdout: string;
  stderr: string;
  errors: unknown[];
  exits: (number | null)[];
}

/** What listeners hear, up to the end. */
async function heard(child: ChildProcess): Promise<Heard> {
  const all: Heard = { stdout: "", stderr: "", errors: [], exits: [] };
  child.stdout.on("data", (text) => (all.stdout += text));
  child.stderr.on("data", (text) => (all.stderr += text));
  child.on("error", (error) => all.errors.push(error));
  child.on("exit", (code) => all.exits.push(code));
  await child.exited.catch(() => {});
  return all;
}

suite("the bridge", { timeout: 60_000 }, () => {
  let daemon: BridgeDaemon;

  before(async () => {
    daemon = await BridgeDaemon.start();
    configure({ url: daemon.url, token: daemon.token });
  });

  after(() => daemon[Symbol.asyncDispose]());

  test("is up", async () => {
    assert.equal(await new Bridge({ url: daemon.url, token: "" }).health(), true);
  });

  test("exec returns errno, stdout and stderr", async () => {
    assert.deepEqual(await exec("echo hi; echo oops >&2; exit 3"), { errno: 3, stdout: "hi\n", stderr: "oops\n" });
    assert.deepEqual(await exec("kill -9 $$"), { errno: 137, stdout: "", stderr: "" });
    assert.equal((await exec("printf '\\346\\227\\245é'")).stdout, "日é");
  });

  test("exec and spawn take cwd and env", async () => {
    await mkdir(join(daemon.root, "sub"));
    const options = { cwd: join(daemon.root, "sub"), env: { A: "x y", B: "$A" } };
    const result = { errno: 0, stdout: `${options.cwd} x y $A\n`, stderr: "" };
    assert.deepEqual(await exec('echo "$PWD $A $B"', options), result);
    assert.equal((await heard(spawn('echo "$PWD $A $B"', options))).stdout, result.stdout);
    assert.equal((await exec("pwd", { cwd: "sub" })).stdout, `${options.cwd}\n`);
    assert.equal((await exec("pwd", { cwd: "/no/such/folder" })).errno, -1);
  });

  test("spawn with arguments needs no shell, and without them is a shell's", async () => {
    const injected = await heard(spawn("echo", ["a; echo injected", "$HOME"]));
    assert.deepEqual(injected, { stdout: "a; echo injected $HOME\n", stderr: "", errors: [], exits: [0] });
    const shell = await heard(spawn("echo out; echo err >&2; exit 3"));
    assert.deepEqual(shell, { stdout: "out\n", stderr: "err\n", errors: [], exits: [3] });
    assert.deepEqual((await heard(spawn("echo", undefined, {}))).stdout, "\n");
    assert.deepEqual((await heard(spawn("pwd", [], { cwd: "/" }))).stdout, "/\n");
  });

  test("spawn tells of output before the process ends", async () => {
    const child = spawn("echo one; sleep 0.3; echo two");
    const times: number[] = [];
    child.stdout.on("data", () => times.push(performance.now()));
    assert.equal(await child.exited, 0);
    const [first = 0, second = 0] = times;
    assert.ok(second - first > 150, `${second - first} ms between the chunks`);
  });

  test("a character that is split over chunks arrives whole", async () => {
    const child = spawn("printf 'a\\303'; sleep 0.1; printf '\\251b\\360\\237'; sleep 0.1; printf '\\230\\200\\303'");
    const texts: string[] = [];
    const bytes: number[] = [];
    child.stdout.on("data", (text) => texts.push(text));
    child.stdout.on("bytes", (chunk) => bytes.push(...chunk));
    await child.exited;
    assert.deepEqual(texts, ["a", "éb", "😀", "\ufffd"]);
    assert.deepEqual(Buffer.from(bytes), Buffer.concat([Buffer.from("aéb😀"), Buffer.from([0xc3])]));
  });

  test("output can be iterated over, as text and as bytes", async () => {
    const child = spawn("sh", ["-c", "head -c 3000000 /dev/zero; printf end >&2"]);
    const bytes = child.stdout.bytes();
    let text = "";
    const stderr = (async () => {
      for await (const part of child.stderr) text += part;
    })();
    let length = 0;
    for await (const chunk of bytes) {
      length += chunk.length;
      await new Promise((resume) => setTimeout(resume, 1));
    }
    await stderr;
    assert.deepEqual([length, text, await child.exited], [3_000_000, "end", 0]);
  });

  test("a loop that is slow, or left, is no obstacle to the end", async () => {
    const child = spawn("yes | head -c 2000000; echo done >&2");
    for await (const _ of child.stdout) break;
    assert.equal(await child.exited, 0);
    const slow = spawn("yes");
    for await (const _ of slow.stdout) {
      await new Promise((resume) => setTimeout(resume, 100));
      slow.kill();
    }
    assert.equal(await slow.exited, null);
  });

  test("kill kills everything that was started", async () => {
    const child = spawn("sleep 600 & echo $! $$; wait");
    const line = (await child.stdout[Symbol.asyncIterator]().next()).value as string;
    const pids = line.trim().split(" ").map(Number);
    assert.ok(pids.every(isAlive));
    const exits: unknown[] = [];
    child.on("exit", (code) => exits.push(code));
    child.kill();
    assert.equal(await child.exited, null);
    assert.deepEqual(exits, [null]);
    await until(() => !pids.some(isAlive));
  });

  test("an aborted signal kills, and its reason is the error", async () => {
    const pidFile = join(daemon.root, "pid");
    const running = exec(`echo $$ > ${pidFile}; exec sleep 600`, { signal: AbortSignal.timeout(400) });
    await assert.rejects(running, { name: "TimeoutError", constructor: DOMException });
    const { stdout } = await exec(`cat ${pidFile}`);
    await until(() => !isAlive(Number(stdout)));

    const controller = new AbortController();
    const child = spawn("sleep 600", { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 50);
    const all = await heard(child);
    assert.deepEqual([all.exits, all.errors], [[], [controller.signal.reason]]);
    assert.deepEqual((await heard(spawn("true", { signal: AbortSignal.abort("no") }))).errors, ["no"]);
    await assert.rejects(exec("true", { signal: AbortSignal.abort() }), { name: "AbortError" });
  });

  test("a deadline is a typed error that holds the output", async () => {
    await assert.rejects(exec("echo so far; echo oops >&2; sleep 600", { timeout: 0.2 }), (error: unknown) => {
      assert.ok(error instanceof CommandTimeoutError);
      const { errno, timeout, stdout, stderr } = error;
      assert.deepEqual(
        { errno, timeout, stdout, stderr },
        { errno: 124, timeout: 0.2, stdout: "so far\n", stderr: "oops\n" },
      );
      return true;
    });
    const all = await heard(spawn("echo so far; sleep 600", { timeout: 0.2 }));
    assert.equal(all.stdout, "so far\n");
    assert.match(all.stderr, /\[timeout after/);
    assert.ok(all.errors[0] instanceof CommandTimeoutError);
    assert.deepEqual([all.errors.length, all.exits], [1, [124]]);
  });

  test("a command may exit with 124 itself", async () => {
    assert.equal((await exec("exit 124", { timeout: 5 })).errno, 124);
    const all = await heard(spawn("exit 124"));
    assert.deepEqual([all.errors, all.exits], [[], [124]]);
  });

  test("what can't be started is an error of spawn", async () => {
    const all = await heard(spawn("/no/such/program", ["x"]));
    assert.ok(all.errors[0] instanceof StartError);
    assert.deepEqual([all.errors.length, all.exits], [1, [-1]]);
  });

  test("a wrong token and a bad request are typed errors", async () => {
    const stranger = new Bridge({ url: daemon.url, token: async () => "wrong" });
    await assert.rejects(stranger.exec("true"), (error: unknown) => {
      assert.ok(error instanceof UnauthorizedError && error.status === 401);
      return true;
    });
    const all = await heard(stranger.spawn("true"));
    assert.ok(all.errors[0] instanceof UnauthorizedError);
    assert.deepEqual([all.errors.length, all.exits], [1, []]);
    const bad: [string, CommandOptions][] = [
      ["", {}],
      ["true", { timeout: 121 }],
      ["true", { env: { "A=B": "" } }],
    ];
    for (const [cmd, options] of bad) {
      await assert.rejects(exec(cmd, options), (error: unknown) => {
        assert.ok(error instanceof HttpError && error.status === 400 && error.reason !== "");
        return true;
      });
    }
  });

  test("many at once, all of them whole", async () => {
    const results = await Promise.all(Array.from({ length: 40 }, (_, n) => exec(`echo ${n}`)));
    assert.deepEqual(
      results.map(({ stdout }) => Number(stdout)),
      Array.from({ length: 40 }, (_, n) => n),
    );
  });

  test("a bridge that is not there is unreachable", async () => {
    await using gone = await BridgeDaemon.start();
    const bridge = new Bridge({ url: gone.url, token: gone.token });
    const child = bridge.spawn("echo up; sleep 600");
    await child.stdout[Symbol.asyncIterator]().next();
    await gone[Symbol.asyncDispose]();
    await assert.rejects(child.exited, { name: "IncompleteError" });
    await assert.rejects(bridge.exec("true"), UnreachableError);
    await assert.rejects(bridge.health(), UnreachableError);
  });
});
