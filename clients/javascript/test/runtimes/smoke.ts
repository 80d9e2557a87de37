// Run by each runtime: a few calls through the bridge and through the socket. Prints "ok" when all is well.
import assert from "node:assert/strict";
import process from "node:process";

const [url = "", token = "", socket = "", dist = ""] = process.argv.slice(2);

const { Bridge } = (await import(`${dist}/bridge/index.js`)) as typeof import("axlr/bridge");
const bridge = new Bridge({ url, token });
assert.deepEqual(await bridge.exec("echo 日本; exit 3"), { errno: 3, stdout: "日本\n", stderr: "" });
await assert.rejects(bridge.exec("sleep 600", { signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
const child = bridge.spawn("printf", ["a\\303\\251"]);
let text = "";
for await (const part of child.stdout) text += part;
assert.deepEqual([text, await child.exited], ["aé", 0]);
const sleeper = bridge.spawn("echo up; sleep 600");
sleeper.stdout.on("data", () => sleeper.kill());
assert.equal(await sleeper.exited, null);

const { Client } = (await import(`${dist}/node/index.js`)) as typeof import("axlr");
for (const encoding of ["msgpack", "json"] as const) {
  const client = await Client.connect({ socket, encoding });
  const running = await client.stream("exec", { program: "sh", args: ["-c", "echo one; echo two"] });
  let output = "";
  for await (const event of running) if (event.event === "stdout") output += new TextDecoder().decode(event.data);
  assert.deepEqual([output, (await running.output()).exit_code], ["one\ntwo\n", 0]);
  const sleep = client.call("exec", { program: "sleep", args: ["600"] }, { signal: AbortSignal.timeout(100) });
  await assert.rejects(sleep, { name: "TimeoutError" });
  client.close();
}
console.log("ok");
