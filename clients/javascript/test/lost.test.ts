// What becomes of calls when the connection, or the daemon, goes away; and a daemon that is none.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, rm, rmdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Duplex } from "node:stream";
import { suite, test } from "node:test";

import { Client, ConnectError, ConnectionLostError } from "axlr";

import { Daemon, isAlive, until } from "./support/daemon.js";
import { FakeDaemon, pong } from "./support/fake-daemon.js";

const lost = { name: "ConnectionLostError", effects: "unknown" };

suite("a lost daemon", { timeout: 60_000 }, () => {
  test("fails what is in flight, and is found again with its workspaces", async () => {
    await using daemon = await Daemon.start();
    await using client = await Client.connect({ socket: daemon.socket });
    const seen: string[] = [];
    client.on("disconnected", () => seen.push("disconnected")).on("reconnected", () => seen.push("reconnected"));
    await mkdir(join(daemon.folder, "one"));
    await mkdir(join(daemon.folder, "two"));
    const one = await client.open({ root: join(daemon.folder, "one"), env: { PATH: "/usr/bin:/bin", MARK: "1" } });
    const two = await client.open({ root: join(daemon.folder, "two"), default: true });
    await two.write({ path: "kept", content: "x", mode: "create" });

    const running = await one.stream("exec", { program: "sleep", args: ["600"] });
    const calls = [one.exec({ program: "sleep", args: ["600"] }), running.output()];
    const failures = calls.map((call) => assert.rejects(call, lost));
    await until(async () => (await client.stats()).children === 2);
    await daemon.kill();
    await Promise.all(failures);
    assert.equal(client.isConnected, false);
    assert.deepEqual(seen, ["disconnected"]);

    // Called while nobody listens: it waits until somebody does.
    const mark = one.exec({ program: "printenv", args: ["MARK"] });
    await daemon.restart();
    assert.equal((await mark).stdout, "1\n");
    assert.deepEqual(seen, ["disconnected", "reconnected"]);
    assert.deepEqual(
      (await client.call("list", {})).entries.map(({ path }) => path),
      ["kept"],
    );
    await assert.rejects(running.write("x"), { name: "ConnectionLostError", effects: "none" });
  });

  test("a loop over events ends with the error", async () => {
    await using daemon = await Daemon.start();
    await using client = await Client.connect({ socket: daemon.socket });
    const running = await client.stream("exec", { program: "sleep", args: ["600"] });
    const loop = (async () => {
      for await (const event of running) if (event.event === "started") await daemon.kill();
    })();
    await assert.rejects(loop, lost);
  });

  test("a default workspace that can't be opened anew is not another one", async () => {
    await using daemon = await Daemon.start();
    await using client = await Client.connect({ socket: daemon.socket });
    const folder = join(daemon.folder, "default");
    await mkdir(folder);
    await client.open({ root: folder, default: true });
    await daemon.kill();
    await rmdir(folder);
    await daemon.restart();
    await assert.rejects(client.call("list", {}), { code: "not_found" });
    await mkdir(folder);
    assert.deepEqual((await client.call("list", {})).entries, []);
  });

  test("is given up after a while, and looked for again by the next call", async () => {
    await using daemon = await Daemon.start();
    await using client = await Client.connect({ socket: daemon.socket });
    await daemon.kill();
    await until(() => !client.isConnected);
    await assert.rejects(client.ping({ signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    await assert.rejects(client.ping(), ConnectError);
    await daemon.restart();
    await client.ping();
  });

  test("is not looked for when that is not wished, or the client was closed", async () => {
    await using daemon = await Daemon.start();
    const client = await Client.connect({ socket: daemon.socket, reconnect: false });
    const closing = await Client.connect({ socket: daemon.socket });
    const call = closing.call("exec", { program: "sleep", args: ["600"] });
    const failure = assert.rejects(call, lost);
    await until(async () => (await client.stats()).children === 1);
    closing.close();
    await failure;
    await until(async () => (await client.stats()).children === 0);
    await assert.rejects(closing.ping(), { effects: "none" });
    await daemon.kill();
    await until(() => !client.isConnected);
    await assert.rejects(client.ping(), { effects: "none" });
  });
});

suite("another transport", { timeout: 60_000 }, () => {
  test("the pipes of axlrd --stdio carry the same calls", async () => {
    const folder = resolve("build", `stdio-${process.pid}`);
    await mkdir(folder, { recursive: true });
    let pid = 0;
    const transport = (): Duplex => {
      const axlrd = resolve(process.env["AXLR_BIN"] ?? "../../target/debug", "axlrd");
      const child = spawn(axlrd, ["--stdio", "--root", folder], { stdio: ["pipe", "pipe", "ignore"] });
      pid = child.pid ?? 0;
      return Duplex.from({ readable: child.stdout, writable: child.stdin });
    };
    const client = await Client.connect({ transport, encoding: "json" });
    assert.deepEqual((await client.call("list", {})).entries, []);
    client.close();
    await until(() => !isAlive(pid));
    await rm(folder, { recursive: true });
  });

  test("one that fails is a failure to connect", async () => {
    const transport = (): never => {
      throw new Error("no way");
    };
    await assert.rejects(Client.connect({ transport }), { name: "ConnectError", message: "the transport: no way" });
  });
});

suite("a daemon that is none", { timeout: 60_000 }, () => {
  const answers: [string, string | Buffer, RegExp][] = [
    ["ends at once", "", /axlrd ended it/],
    ["ends in the middle of a message", '{"request_id":"1"', /in the middle of a message/],
    ["sends what is not JSON", "nonsense\n", /what is no message/],
    ["sends another encoding", Buffer.from([0, 0, 0, 1, 0x80, 10]), /what is no message/],
    ["answers a request that it could not read", pong(""), /could not read a request/],
  ];
  for (const [what, bytes, reason] of answers) {
    test(`which ${what}`, async () => {
      await using fake = await FakeDaemon.start((connection) => connection.end(bytes));
      await using client = await Client.connect({ socket: fake.socket, encoding: "json" });
      await assert.rejects(client.ping(), (error: unknown) => {
        assert.ok(error instanceof ConnectionLostError);
        assert.match(error.message, reason);
        return true;
      });
    });
  }

  test("what a later daemon says beside the answers is passed over", async () => {
    const extra = `{"protocol_version":1,"request_id":"1","event":"news","seq":0}\n${pong("99")}`;
    const answer = pong("1").replace('"duration_ms"', '"new_member":[1],"duration_ms"');
    await using fake = await FakeDaemon.start((connection) => connection.write(extra + answer));
    await using client = await Client.connect({ socket: fake.socket, encoding: "json" });
    await client.ping();
  });

  test("one that does not read stops calls from piling up", async () => {
    await using fake = await FakeDaemon.start((connection) => connection.pause());
    await using client = await Client.connect({ socket: fake.socket, encoding: "json" });
    const content = "x".repeat(1024 * 1024);
    const signal = AbortSignal.timeout(300);
    const calls = Array.from({ length: 64 }, () =>
      client.call("write", { path: "a", content, mode: "create" }, { signal }).catch((error: unknown) => error),
    );
    await new Promise((resume) => signal.addEventListener("abort", resume));
    const before = process.memoryUsage().arrayBuffers;
    assert.ok(before < 24 * 1024 * 1024, `${before} bytes wait`);
    // Those that were not sent fail with the signal's reason; those that were wait for an answer.
    const unsent = await Promise.all(calls.slice(-32));
    assert.ok(unsent.every((error) => error instanceof DOMException && error.name === "TimeoutError"));
  });
});

suite("a slow reader", { timeout: 60_000 }, () => {
  test("slows the program down, keeps little, and gets every byte", async () => {
    const total = 200_000_000;
    await using daemon = await Daemon.start();
    await using client = await Client.connect({ socket: daemon.socket });
    await using other = await Client.connect({ socket: daemon.socket });
    const running = await client.stream("exec", { program: "head", args: ["-c", `${total}`, "/dev/zero"] });
    const events = running[Symbol.asyncIterator]();
    await events.next();
    const buffers = process.memoryUsage().arrayBuffers;
    await new Promise((resume) => setTimeout(resume, 500));
    // The program has not ended, because nobody took its output.
    assert.equal((await other.stats()).children, 1);
    const grown = process.memoryUsage().arrayBuffers - buffers;
    assert.ok(grown < 16 * 1024 * 1024, `${grown} bytes wait`);
    let bytes = 0;
    for (;;) {
      const { done, value } = await events.next();
      if (done) break;
      if (value.event === "stdout") bytes += value.data.length;
    }
    assert.equal(bytes, total);
    assert.equal((await running.output()).captured_bytes, total);
  });
});
