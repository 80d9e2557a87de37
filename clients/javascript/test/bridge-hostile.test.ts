// The bridge's client against answers that are cut, wrong or refused.
import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { Bridge, type BridgeError, ForbiddenError, HttpError, UnauthorizedError, UnavailableError } from "axlr/bridge";

import { FakeBridge, chunk, exit } from "./support/fake-bridge.js";

interface Told {
  stdout: string;
  error: string | undefined;
  exits: (number | null)[];
}

/** What a spawn tells when the stream consists of these parts, each in a write of its own. */
async function told(parts: (string | Uint8Array)[], { isCut = false } = {}): Promise<Told> {
  await using fake = await FakeBridge.start(async (response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    for (const part of parts) {
      response.write(part);
      await new Promise((resume) => setTimeout(resume, 5));
    }
    if (isCut) response.destroy();
    else response.end();
  });
  const child = new Bridge({ url: fake.url, token: "t" }).spawn("x");
  const all: Told = { stdout: "", error: undefined, exits: [] };
  child.stdout.on("data", (text) => (all.stdout += text));
  child.on("exit", (code) => all.exits.push(code));
  child.on("error", (error) => (all.error = [all.error, (error as BridgeError).name].filter(Boolean).join(", ")));
  await child.exited.catch((error: BridgeError) => assert.equal(error.name, all.error));
  return all;
}

suite("streams", { timeout: 30_000 }, () => {
  const whole = chunk("out", "é");
  const rows: [string, (string | Uint8Array)[], Told][] = [
    ["whole", [whole, exit(0)], { stdout: "é", error: undefined, exits: [0] }],
    [
      "a character split over chunks",
      [chunk("out", [0xc3]), chunk("err", "x"), chunk("out", [0xa9]), exit(0)],
      { stdout: "é", error: undefined, exits: [0] },
    ],
    ["a line split over writes", [...(whole + exit(5))], { stdout: "é", error: undefined, exits: [5] }],
    [
      "empty lines, CR, unknown kinds and members",
      ['\n{"t":"new"}\r\n{"t":"out","b":"YQ==","z":1}\n', exit(0)],
      { stdout: "a", error: undefined, exits: [0] },
    ],
    ["no exit line", [whole], { stdout: "é", error: "IncompleteError", exits: [] }],
    ["nothing", [], { stdout: "", error: "IncompleteError", exits: [] }],
    ["half of an exit line", [whole, '{"t":"exit","code":0}'], { stdout: "é", error: "IncompleteError", exits: [] }],
    ["a line that is not JSON", [whole, "oops\n", exit(0)], { stdout: "é", error: "ProtocolError", exits: [] }],
    ["a line that is no object", ["1\n", exit(0)], { stdout: "", error: "ProtocolError", exits: [] }],
    [
      "bytes that are not base64",
      ['{"t":"out","b":"%"}\n', exit(0)],
      { stdout: "", error: "ProtocolError", exits: [] },
    ],
    ["a chunk without bytes", ['{"t":"out"}\n', exit(0)], { stdout: "", error: "ProtocolError", exits: [] }],
    ["an exit without a code", ['{"t":"exit","code":"0"}\n'], { stdout: "", error: "ProtocolError", exits: [] }],
    [
      "a stream that is not UTF-8",
      [Buffer.from([0xff, 10]), exit(0)],
      { stdout: "", error: "ProtocolError", exits: [] },
    ],
    ["a line without an end", ["x".repeat(1024 * 1024 + 1)], { stdout: "", error: "ProtocolError", exits: [] }],
    [
      "what follows the exit line",
      [whole, exit(0) + chunk("out", "late")],
      { stdout: "é", error: undefined, exits: [0] },
    ],
  ];
  for (const [what, parts, expected] of rows) {
    test(what, async () => assert.deepEqual(await told(parts), expected));
  }

  test("a connection that breaks is no success, whatever came before", async () => {
    assert.deepEqual(await told([whole], { isCut: true }), { stdout: "é", error: "IncompleteError", exits: [] });
    assert.deepEqual(await told([whole, exit(0)], { isCut: true }), { stdout: "é", error: undefined, exits: [0] });
  });

  test("a loop over a cut stream throws", async () => {
    await using fake = await FakeBridge.start((response) => response.end(whole));
    const child = new Bridge({ url: fake.url, token: "t" }).spawn("x");
    let text = "";
    const loop = (async () => {
      for await (const part of child.stdout) text += part;
    })();
    await assert.rejects(loop, { name: "IncompleteError" });
    assert.equal(text, "é");
  });

  test("a listener that throws does not keep the end from the others", async (context) => {
    await using fake = await FakeBridge.start((response) => response.end(whole + exit(0)));
    const thrown: unknown[] = [];
    const platform = globalThis as { reportError?: (error: unknown) => void };
    platform.reportError = (error) => thrown.push(error);
    context.after(() => delete platform.reportError);
    const child = new Bridge({ url: fake.url, token: "t" }).spawn("x");
    child.stdout.on("data", () => {
      throw new Error("mine");
    });
    assert.equal(await child.exited, 0);
    assert.equal((thrown[0] as Error).message, "mine");
  });
});

suite("answers", { timeout: 30_000 }, () => {
  const refusals: [number, string, string, new (...rest: never[]) => HttpError][] = [
    [400, '{"error":"cmd must not be empty"}', "cmd must not be empty", HttpError],
    [401, '{"error":"unauthorized"}', "unauthorized", UnauthorizedError],
    [403, '{"error":"origin"}', "origin", ForbiddenError],
    [405, "", "Method Not Allowed", HttpError],
    [413, '{"error":7}', '{"error":7}', HttpError],
    [500, "<h1>broken</h1>", "<h1>broken</h1>", HttpError],
    [503, '{"error":"overloaded"}', "overloaded", UnavailableError],
    [503, '{"error":"shutting_down"}', "shutting_down", UnavailableError],
    [204, "", "No Content", HttpError],
  ];
  for (const [status, body, reason, kind] of refusals) {
    test(`${status} ${body}`, async () => {
      await using fake = await FakeBridge.start((response) => response.writeHead(status).end(body));
      const bridge = new Bridge({ url: fake.url, token: "t" });
      for (const answer of [bridge.exec("x"), bridge.spawn("x").exited]) {
        await assert.rejects(answer, (error: unknown) => {
          assert.ok(error instanceof kind);
          assert.deepEqual([error.status, error.reason], [status, reason]);
          return true;
        });
      }
    });
  }

  test("an answer to exec that is cut, or no result, is an error", async () => {
    const rows: [string, string][] = [
      ['{"errno":0,"stdout":', "IncompleteError"],
      ["nonsense", "ProtocolError"],
      ['{"errno":"0","stdout":"","stderr":""}', "ProtocolError"],
      ["null", "ProtocolError"],
    ];
    for (const [body, name] of rows) {
      await using fake = await FakeBridge.start((response) => {
        if (name === "ProtocolError") response.end(body);
        else response.writeHead(200, { "Content-Length": 1000 }).write(body, () => response.destroy());
      });
      await assert.rejects(new Bridge({ url: fake.url, token: "t" }).exec("x"), { name });
    }
  });

  test("a request is as the protocol wants it", async () => {
    const seen: unknown[] = [];
    await using fake = await FakeBridge.start((response, request, body) => {
      const { authorization, "content-type": type } = request.headers;
      seen.push([request.method, request.url, authorization, type, JSON.parse(body)]);
      response.end(request.url === "/exec" ? '{"errno":0,"stdout":"","stderr":""}' : exit(0));
    });
    const bridge = new Bridge({ url: fake.url, token: () => "secret" });
    await bridge.exec("a b");
    await bridge.spawn("a", ["b"], { cwd: "/", env: { C: "d" }, timeout: 1.5 }).exited;
    const head = ["Bearer secret", "application/json"];
    assert.deepEqual(seen, [
      ["POST", "/exec", ...head, { cmd: "a b" }],
      ["POST", "/spawn", ...head, { cmd: "a", args: ["b"], cwd: "/", env: { C: "d" }, timeout: 1.5 }],
    ]);
  });

  test("a connection serves one spawn after the other", async () => {
    const ports = new Set<number | undefined>();
    await using fake = await FakeBridge.start((response, request) => {
      ports.add(request.socket.remotePort);
      response.write(chunk("out", "x"));
      setTimeout(() => response.end(exit(0)), 5);
    });
    const bridge = new Bridge({ url: fake.url, token: "t" });
    for (let turn = 0; turn < 3; turn += 1) {
      await bridge.spawn("x").exited;
      await new Promise((resume) => setTimeout(resume, 20));
    }
    assert.equal(ports.size, 1);
  });
});

test("without a configured bridge the error says what to do", async () => {
  const { spawn } = await import("axlr/bridge");
  assert.throws(() => spawn("true"), { name: "TypeError", message: /configure/ });
});
