// What the compiler must refuse, and what it must know. Nothing here runs but the assertion that it compiled.
import { test } from "node:test";

import type { Client, Int64, Workspace } from "axlr";
import type { Bridge } from "axlr/bridge";

export async function theTypes(client: Client, workspace: Workspace, bridge: Bridge): Promise<void> {
  // @ts-expect-error: no such tool
  await client.call("no.such.tool", {});
  // @ts-expect-error: `path` is missing
  await client.call("read", {});
  // @ts-expect-error: a wrong type
  await workspace.read({ path: 1 });
  // @ts-expect-error: an unknown member
  await workspace.read({ path: "a", offset: 1 });
  // @ts-expect-error: not a signal
  await (await workspace.stream("exec", { program: "x" })).signal("SIGINT");
  // @ts-expect-error: read sends no events
  await client.stream("read", { path: "a" });
  // @ts-expect-error: seconds, not text
  await bridge.exec("true", { timeout: "1" });

  const { next_offset_bytes } = await workspace.read({ path: "a", offset_bytes: 1n });
  const offset: Int64 = next_offset_bytes;
  await workspace.read({ path: "a", offset_bytes: offset });
  const { matches } = await workspace.search({ pattern: "x" });
  const lines: number[] = matches.map(({ line }) => line + 1);
  for await (const event of await workspace.stream("search", { pattern: "x" })) {
    if (event.event === "matches") lines.push(event.matches.length);
    else lines.push(event.files_scanned);
  }
  for await (const event of await workspace.stream("exec", { program: "x" })) {
    if (event.event === "started") lines.push(event.pid);
    else lines.push(event.data.length);
  }
  const stop: void = await client.stop({ drain_ms: 0 });
  return stop;
}

test("the types of both clients hold what they promise", () => {});
