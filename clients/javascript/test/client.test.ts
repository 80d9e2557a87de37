// The client against the real daemon, in both encodings.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";

import { Client, type Encoding, type Events, RefusedError, type Running, UnsendableError, type Workspace } from "axlr";
import { DEPTH_MAX, PROTOCOL_VERSION, REQUEST_MAX_BYTES } from "#node/limits.js";

import { Daemon, isAlive, until } from "./support/daemon.js";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

async function collect(running: Running<"exec">): Promise<{ pid: number; stdout: string; stderr: string }> {
  const all = { pid: 0, stdout: "", stderr: "" };
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  for await (const event of running) {
    if (event.event === "started") all.pid = event.pid;
    else all[event.event] += decoders[event.event].decode(event.data, { stream: true });
  }
  return all;
}

for (const encoding of ["msgpack", "json"] satisfies Encoding[]) {
  suite(`the daemon, ${encoding}`, { timeout: 60_000 }, () => {
    let daemon: Daemon;
    let client: Client;
    let project: Workspace;

    before(async () => {
      daemon = await Daemon.start();
      client = await Client.connect({ socket: daemon.socket, encoding });
      project = await client.open(daemon.root);
    });

    after(async () => {
      client.close();
      await daemon[Symbol.asyncDispose]();
    });

    test("describes itself", async () => {
      await client.ping();
      const info = await client.info();
      assert.equal(info.name, "axlrd");
      assert.ok(info.protocol_versions.includes(PROTOCOL_VERSION));
      assert.ok(["stream", "cancel", "json", "msgpack"].every((name) => info.capabilities.includes(name)));
      assert.equal(info.limits["request_max_bytes"], REQUEST_MAX_BYTES);
      assert.equal(info.limits["depth_max"], DEPTH_MAX);
      const stats = await client.stats();
      assert.equal(stats.tools["server.ping"]?.completed, 1);
      assert.equal(stats.connections, 1);
    });

    test("writes, reads and edits files", async () => {
      const content = "tab\té 😀\r\n";
      const digest = sha256(content);
      const written = await project.write({ path: "a/b.txt", content, mode: "create", parents: true });
      assert.deepEqual(written, { written_bytes: Buffer.byteLength(content), content_sha256: digest });
      assert.equal((await project.read({ path: "a/b.txt" })).content, content);
      const edited = await project.edit({ path: "a/b.txt", old_text: "😀", new_text: "x", expected_sha256: digest });
      assert.equal(edited.content_sha256, sha256("tab\té x\r\n"));
      assert.equal(await readFile(join(daemon.root, "a/b.txt"), "utf8"), "tab\té x\r\n");
    });

    test("reads bytes", async () => {
      const bytes = Buffer.from([0, 255, 128, 10]);
      await project.write({ path: "bytes", content: bytes.toString("base64"), encoding: "base64", mode: "create" });
      const { content } = await project.read({ path: "bytes", encoding: "base64" });
      assert.deepEqual(Buffer.from(content, "base64"), bytes);
    });

    test("takes integers of 64 bits as they are", async () => {
      await writeFile(join(daemon.root, "small"), "x");
      const beyond = { status: "rejected", code: "invalid_offset", message: /9223372036854775807/ };
      await assert.rejects(project.read({ path: "small", offset_bytes: 2n ** 63n - 1n }), beyond);
      await assert.rejects(project.read({ path: "small", offset_bytes: 2 ** 40 }), { code: "invalid_offset" });
      await assert.rejects(project.read({ path: "small", offset_bytes: 2 ** 53 }), { code: "invalid_request" });
    });

    test("lists and searches, at once and as it goes", async () => {
      await mkdir(join(daemon.root, "tree"), { recursive: true });
      for (const name of ["one", "two"]) await writeFile(join(daemon.root, "tree", name), `first\nneedle ${name}\n`);
      const { entries } = await project.list({ path: "tree" });
      assert.deepEqual(
        entries.map(({ path, type, size }) => ({ path, type, size })),
        ["one", "two"].map((name) => ({ path: `tree/${name}`, type: "file", size: 17 })),
      );
      const { matches } = await project.search({ path: "tree", pattern: "^needle", context_lines: 1 });
      assert.deepEqual(matches[0], { path: "tree/one", line: 2, column: 1, text: "needle one", before: ["first"] });

      const found: unknown[] = [];
      const search = await project.stream("search", { path: "tree", pattern: "^needle", context_lines: 1 });
      for await (const event of search) if (event.event === "matches") found.push(...event.matches);
      assert.deepEqual(found, matches);
      assert.deepEqual((await search.output()).matches, []);

      const listed: unknown[] = [];
      const list = await project.stream("list", { path: "tree" });
      for await (const event of list) if (event.event === "entries") listed.push(...event.entries);
      assert.deepEqual(listed, entries);
    });

    test("runs programs, at once and as they go", async () => {
      const program = { program: "sh", args: ["-c", "printf out; printf err >&2; exit 3"] };
      const output = await project.exec(program);
      assert.deepEqual([output.exit_code, output.stdout, output.stderr], [3, "out", "err"]);

      const running = await project.stream("exec", program);
      const all = await collect(running);
      assert.ok(all.pid > 0);
      assert.deepEqual([all.stdout, all.stderr], ["out", "err"]);
      const end = await running.output();
      assert.deepEqual([end.exit_code, end.stdout, end.captured_bytes], [3, "", 6]);
    });

    test("the first chunk of a program is there before the program ends", async () => {
      const running = await project.stream("exec", {
        program: "sh",
        args: ["-c", "echo one; read -r _; echo two"],
        stdin_open: true,
      });
      const seen: string[] = [];
      for await (const event of running) {
        if (event.event !== "stdout") continue;
        seen.push(Buffer.from(event.data).toString());
        if (seen.length === 1) await running.write("go\n");
      }
      assert.deepEqual(seen, ["one\n", "two\n"]);
    });

    test("a program's stdin takes text, bytes and an end", async () => {
      const running = await project.stream("exec", { program: "cat", stdin_open: true });
      const big = Buffer.alloc(3 * 1024 * 1024, "x");
      const writing = (async () => {
        await running.write("é");
        await running.write(Buffer.from([0xc3]));
        await running.write(Buffer.from([0xa9]));
        await running.write(big);
        await running.end();
      })();
      const [{ stdout }] = await Promise.all([collect(running), writing]);
      assert.equal(stdout, "éé" + "x".repeat(big.length));
      await assert.rejects(running.write("late"), { name: "RefusedError", code: "not_running" });
    });

    test("a program is signalled", async () => {
      const running = await project.stream("exec", {
        program: "sh",
        args: ["-c", "trap 'echo caught; exit 7' INT; echo up; while :; do sleep 0.01; done"],
      });
      let text = "";
      for await (const event of running) {
        if (event.event !== "stdout") continue;
        text += Buffer.from(event.data).toString();
        if (text === "up\n") await running.signal("INT");
      }
      assert.equal(text, "up\ncaught\n");
      assert.equal((await running.output()).exit_code, 7);
    });

    test("output that nobody iterates over does not hold the answer up", async () => {
      const running = await project.stream("exec", { program: "head", args: ["-c", "20000000", "/dev/zero"] });
      assert.equal((await running.output()).captured_bytes, 20_000_000);
      await client.ping();
    });

    test("an aborted signal cancels the request, and kills what it started", async () => {
      const controller = new AbortController();
      const running = await project.stream("exec", { program: "sleep", args: ["600"] }, { signal: controller.signal });
      const first = await running[Symbol.asyncIterator]().next();
      const { pid } = first.value as Events["exec"] & { event: "started" };
      assert.ok(isAlive(pid));
      controller.abort(new Error("enough"));
      await assert.rejects(running.output(), { message: "enough" });
      assert.equal((await running.response()).status, "cancelled");
      await until(() => !isAlive(pid));

      const call = project.exec({ program: "sleep", args: ["600"] }, { signal: AbortSignal.timeout(50) });
      await assert.rejects(call, { name: "TimeoutError" });
      await assert.rejects(project.exec({ program: "true" }, { signal: AbortSignal.abort() }), { name: "AbortError" });
      const answer = await client.request(
        "exec",
        { program: "sleep", args: ["600"] },
        { signal: AbortSignal.timeout(50) },
      );
      assert.deepEqual([answer.status, answer.error?.code], ["cancelled", "cancelled"]);
    });

    test("what won the race against its cancellation is returned", async () => {
      const controller = new AbortController();
      const call = project.write({ path: "race", content: "x", mode: "create" }, { signal: controller.signal });
      await until(() => existsSync(join(daemon.root, "race")));
      controller.abort();
      assert.equal((await call).written_bytes, 1);
    });

    test("leaving the loop cancels the request", async () => {
      const running = await project.stream("exec", { program: "yes" });
      let pid = 0;
      for await (const event of running) {
        if (event.event === "started") pid = event.pid;
        else break;
      }
      assert.equal((await running.response()).status, "cancelled");
      await until(() => !isAlive(pid));
      await assert.rejects(async () => {
        for await (const _ of running);
      }, /taken once/);
    });

    test("a refusal is an error with its status, its code and the answer", async () => {
      await assert.rejects(project.read({ path: "absent" }), (error: unknown) => {
        assert.ok(error instanceof RefusedError);
        assert.deepEqual([error.status, error.code], ["failed", "not_found"]);
        assert.match(error.message, /^read: .*absent.* \(not_found\)$/);
        assert.equal(error.response.tool, "read");
        return true;
      });
      const answer = await client.request("read", { path: "../x" }, { workspace: project });
      assert.deepEqual([answer.status, answer.error?.code], ["rejected", "invalid_request"]);
      await assert.rejects(client.open("relative"), { code: "invalid_request" });
      await assert.rejects(client.call("list", {}, { workspace: "nope" }), { code: "unknown_workspace" });
    });

    test("what can't be sent is refused here, and the connection goes on", async () => {
      const content = "x".repeat(5 * 1024 * 1024);
      await assert.rejects(project.write({ path: "big", content, mode: "create" }), UnsendableError);
      await assert.rejects(project.read({ path: "\ud800" }), UnsendableError);
      await client.ping();
    });

    test("hundreds of calls at once each get their own answer", async () => {
      const numbers = Array.from({ length: 400 }, (_, number) => number);
      await Promise.all(numbers.map((n) => project.write({ path: `many-${n}`, content: `${n}`, mode: "create" })));
      const pages = await Promise.all(numbers.map((n) => project.read({ path: `many-${n}` })));
      assert.deepEqual(
        pages.map(({ content }) => Number(content)),
        numbers,
      );
    });

    test("mutations arrive in the order of the calls", async () => {
      await project.write({ path: "order", content: "0", mode: "create" });
      const steps = Array.from({ length: 50 }, (_, n) =>
        project.edit({ path: "order", old_text: `${n}`, new_text: `${n + 1}` }),
      );
      await Promise.all(steps);
      assert.equal((await project.read({ path: "order" })).content, "50");
    });

    test("workspaces are opened with their own settings and closed", async () => {
      const other = await client.open({
        root: daemon.root,
        name: "other",
        env: { PATH: "/usr/bin:/bin", MARK: "here" },
      });
      assert.notEqual(other.id, project.id);
      assert.equal(other.root, daemon.root);
      assert.equal((await other.exec({ program: "printenv", args: ["MARK"] })).stdout, "here\n");
      assert.ok((await client.workspaces()).some(({ name, handles }) => name === "other" && handles === 1));
      await other.close();
      assert.ok((await client.workspaces()).every(({ name }) => name !== "other"));
      await other.close();
      await assert.rejects(other.list(), UnsendableError);
    });

    test("a workspace opened as the default is where calls go, until it is closed", async () => {
      await mkdir(join(daemon.folder, `default-${encoding}`));
      const fallback = await client.open({ root: join(daemon.folder, `default-${encoding}`), default: true });
      assert.deepEqual((await client.call("list", {})).entries, []);
      await fallback.close();
    });
  });
}
