// The page that `--http-console` serves. `AXLR_UPDATE=1` takes the screenshots of the docs anew.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, suite, test } from "node:test";

import { Client } from "axlr";
import type { Browser, Page } from "playwright-core";

import { BridgeDaemon } from "../test/support/bridge.js";
import { isAlive, until } from "../test/support/daemon.js";
import { launch } from "./chromium.js";

const DOCS = resolve("../../docs");
const IS_UPDATE = process.env["AXLR_UPDATE"] === "1";
/** So many seconds of latency are drawn before a screenshot is taken. */
const DRAWN_SECONDS = 12;

suite("the console", { timeout: 180_000 }, () => {
  let daemon: BridgeDaemon;
  let browser: Browser;

  before(async () => {
    daemon = await BridgeDaemon.start({ flags: ["--http-console", "--env-pass", "PATH"] });
    browser = await launch("nobody.example");
  });

  after(async () => {
    await browser?.close();
    await daemon?.[Symbol.asyncDispose]();
  });

  /** Opens it without a token. `said` collects what a page should not say, `asked` whom it asks. */
  async function open(colorScheme: "light" | "dark"): Promise<{ page: Page; said: string[]; asked: Set<string> }> {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1000, height: 1120 } });
    const page = await context.newPage();
    const said: string[] = [];
    const asked = new Set<string>();
    page.on("pageerror", (error) => said.push(error.message));
    page.on("console", (message) => said.push(message.text()));
    page.on("request", (request) => asked.add(new URL(request.url()).origin));
    await page.goto(daemon.url);
    return { page, said, asked };
  }

  async function enterToken(page: Page, token: string): Promise<void> {
    await page.fill("#token", token);
    await page.press("#token", "Enter");
  }

  /** Runs a command with the keyboard alone, and waits for how it ended. */
  async function run(page: Page, cmd: string): Promise<string> {
    await page.fill("#cmd", cmd);
    await page.press("#cmd", "Enter");
    await page.waitForFunction(() => /Exit code|Killed/.test(document.querySelector("#outcome")?.textContent ?? ""));
    return (await page.textContent("#outcome")) ?? "";
  }

  for (const scheme of ["light", "dark"] as const) {
    test(`runs a command and draws what the daemon does, ${scheme}`, async () => {
      const { page, said, asked } = await open(scheme);
      await enterToken(page, daemon.token);
      assert.match(
        await run(page, "printf 'a\\303'; sleep 0.2; printf '\\251b\\n'; sleep 0.2; echo oops >&2; exit 3"),
        /^Exit code 3/,
      );
      assert.equal(await page.textContent("#output"), "aéb\noops\n");
      // A line of two points at least; a level one has no height, which is no visibility to the driver.
      await page.waitForSelector("#chart path[d*=L]", { state: "attached" });
      await page.waitForFunction(() => document.querySelector("#tools th")?.textContent === "exec");
      if (IS_UPDATE) await show(page, scheme);
      assert.deepEqual(said, []);
      assert.deepEqual([...asked], [daemon.url]);
      await page.context().close();
    });
  }

  test("asks for the token again when it is wrong, and once a tab", async () => {
    const { page } = await open("light");
    await enterToken(page, "wrong");
    await page.waitForFunction(() => document.querySelector("#token-fault")?.textContent);
    await enterToken(page, daemon.token);
    await page.waitForFunction(() => document.querySelector("#daemon")?.textContent?.startsWith("axlrd"));
    await page.reload();
    await page.waitForFunction(() => document.querySelector("#daemon")?.textContent?.startsWith("axlrd"));
    assert.equal(await page.isVisible("#token"), false);
    await page.context().close();
  });

  test("asks again for what can be no token", async () => {
    const { page } = await open("light");
    // White space that stays, and no header's text.
    for (const token of ["   ", `${daemon.token}\u200b`, "\u2026"]) {
      await page.$eval("#token-fault", (fault) => fault.replaceChildren());
      await enterToken(page, token);
      await page.waitForFunction(() => document.querySelector("#token-fault")?.textContent);
      assert.equal(await page.isVisible("#token"), true);
    }
    await page.reload();
    assert.equal(await page.isVisible("#token"), true);
    await page.context().close();
  });

  test("shows output as it comes and kills the command", async () => {
    const { page } = await open("light");
    await enterToken(page, daemon.token);
    await page.fill("#cmd", "sleep 600 & echo $! $$; wait");
    await page.click("#run");
    await page.waitForFunction(() => document.querySelector("#output")?.textContent?.includes("\n"));
    const pids = ((await page.textContent("#output")) ?? "").trim().split(" ").map(Number);
    assert.ok(pids.length === 2 && pids.every(isAlive));
    await page.click("#kill");
    await until(() => !pids.some(isAlive));
    await page.waitForFunction(() => document.querySelector("#outcome")?.textContent?.startsWith("Killed"));
    await page.context().close();
  });

  test("every field has a label", async () => {
    const { page } = await open("dark");
    const unlabelled = await page.$$eval("input, textarea, select", (fields) =>
      fields.filter((field) => !(field as HTMLInputElement).labels?.length).map(({ id }) => id),
    );
    assert.deepEqual(unlabelled, []);
    await page.context().close();
  });

  /** Takes a picture of the page after some seconds of work. */
  async function show(page: Page, scheme: string): Promise<void> {
    await mkdir(join(daemon.root, "src"), { recursive: true });
    await writeFile(join(daemon.root, "src", "main.rs"), 'fn main() {\n    println!("hello");\n}\n');
    await using client = await Client.connect({ socket: daemon.socket });
    const end = performance.now() + DRAWN_SECONDS * 1000;
    for (let turn = 0; performance.now() < end; turn += 1) {
      await client.call("read", { path: "src/main.rs" });
      await client.call("search", { pattern: "fn \\w+" });
      await client.call("write", { path: `note-${turn % 5}`, content: `${turn}\n`, mode: "replace", overwrite: true });
      if (turn % 20 === 0) await client.call("exec", { program: "true" });
    }
    await run(page, "ls -l src; grep -n hello src/main.rs; grep hello no-such-file");
    await page.screenshot({ path: join(DOCS, `console-${scheme}.png`), fullPage: true, animations: "disabled" });
  }
});
