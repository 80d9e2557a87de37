import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

test("the generated types are what the schemas say", async () => {
  const script = pathToFileURL(resolve("scripts/generate.js")).href;
  const { generate } = (await import(script)) as { generate(): string };
  const current = await readFile("src/node/generated.ts", "utf8");
  assert.equal(current, generate(), "run `npm run generate`");
});
